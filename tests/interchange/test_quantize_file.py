from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from refimpl.burnpack.api import open_burnpack, write_burnpack
from refimpl.errors import ArgumentTypeError, BurnpackError, TensorError
from refimpl.interchange.quantize_file import quantize_file
from refimpl.module.quantizer import Quantizer
from refimpl.param.group import ParamGroup
from refimpl.param.param_id import ParamId
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import Tensor

CPU = Device("cpu")
Q8S = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
Q4S_32 = QuantScheme(
    value=QuantValue.Q4S, store=QuantStore.packed_u32(0), per_block=(BlockSize([32]), ScaleDtype.F32)
)
VALUES = np.linspace(-3, 3, 64, dtype=np.float32).reshape(2, 32)


def source(folder: Path) -> Path:
    path = folder / "source.bpk"
    entries = [
        ("z.weight", TensorData.from_array(VALUES), 7),
        ("a.bias", TensorData.from_array(VALUES[0, :3]), None),
        ("steps", TensorData.from_array(np.arange(3)), 9),
    ]
    write_burnpack(path, entries, {"made": "by hand"}, {"epoch": 3})
    return path


def test_selected_floats_are_quantised_as_tensors_are_and_the_rest_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "target.bpk"
    quantize_file(
        source(tmp_path),
        target,
        Quantizer(Calibration.MIN_MAX, Q4S_32, ParamGroup.from_ids([ParamId.from_int(7)])),
    )

    with open_burnpack(target) as pack, open_burnpack(source(tmp_path)) as before:
        expected = Tensor.from_data(VALUES, CPU).quantize_dynamic(Q4S_32).to_data()
        assert pack["z.weight"].data == expected
        assert (pack["z.weight"].param_id, pack["a.bias"].param_id) == (7, None)
        assert pack["a.bias"].data == before["a.bias"].data
        assert pack["steps"].dtype is DType.I64
        assert dict(pack.metadata) == {"made": "by hand"}
        assert dict(pack.scalars) == dict(before.scalars)


def test_the_source_may_be_the_target(tmp_path: Path) -> None:
    path = source(tmp_path)
    quantize_file(path, path, Quantizer(Calibration.MIN_MAX, Q8S))

    assert open_burnpack(path)["z.weight"].dtype == DType.qfloat(Q8S)


def test_a_scheme_that_fits_one_tensor_not_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "target.bpk"
    with pytest.raises(TensorError, match="must be evenly divisible by block size"):
        quantize_file(source(tmp_path), target, Quantizer(Calibration.MIN_MAX, Q4S_32))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source.bpk"]


def test_a_source_that_is_not_there_and_a_quantizer_that_is_none_are_said(tmp_path: Path) -> None:
    with pytest.raises(BurnpackError, match="cannot open"):
        quantize_file(tmp_path / "none.bpk", tmp_path / "t.bpk", Quantizer(Calibration.MIN_MAX, Q8S))
    with pytest.raises(ArgumentTypeError):
        quantize_file(source(tmp_path), tmp_path / "t.bpk", Q8S)  # type: ignore[arg-type]


def test_progress_is_told_each_tensor_before_it_is_read(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    quantize_file(
        source(tmp_path),
        tmp_path / "t.bpk",
        Quantizer(Calibration.MIN_MAX, Q8S),
        progress=lambda name, nbytes: told.append((name, nbytes)),
    )
    assert told == [("z.weight", 256), ("a.bias", 12), ("steps", 24)]


CHILD = """
import resource, sys
from refimpl import *
from pathlib import Path
scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0), per_block=(BlockSize([32]), ScaleDtype.F32))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
quantize_file(sys.argv[1], sys.argv[2], Quantizer(Calibration.MIN_MAX, scheme))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_one_tensor_is_in_memory_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "source.bpk"
    one = TensorData.from_array(np.ones((1024, 8192), np.float32))
    write_burnpack(path, [(f"layer{i}", one, i) for i in range(6)])
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(tmp_path / "target.bpk")],
        capture_output=True,
        text=True,
        check=True,
    )
    grown = int(child.stdout) * 1024

    assert grown < 3 * one.nbytes


def test_a_progress_that_cannot_be_called_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    quantizer = Quantizer(Calibration.MIN_MAX, QuantScheme())
    with pytest.raises(ArgumentTypeError, match="progress"):
        quantize_file(tmp_path / "none", tmp_path / "new", quantizer, progress=3)  # type: ignore[arg-type]


BLOCKED = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=(BlockSize([4]), ScaleDtype.F32))


@pytest.mark.parametrize("scheme", [Q8S, BLOCKED], ids=["whole", "blocks"])
@pytest.mark.parametrize(("shape", "lacks"), [((0, 4), "elements"), ((4, 0), "elements"), ((), "axes")])
def test_a_selected_tensor_of_nothing_is_refused_before_any_is_read(
    tmp_path: Path, scheme: QuantScheme, shape: tuple[int, ...], lacks: str
) -> None:
    path, told = tmp_path / "source.bpk", []
    none = TensorData.from_array(np.ones(shape, np.float32))
    write_burnpack(path, [("full", TensorData.from_array(VALUES), 1), ("none", none, 2)])

    def convert(group: ParamGroup) -> None:
        quantizer = Quantizer(Calibration.MIN_MAX, scheme, group)
        quantize_file(path, tmp_path / "t.bpk", quantizer, progress=lambda name, _: told.append(name))

    with pytest.raises(TensorError, match=rf"tensor 'none' of shape .* it has no {lacks}"):
        convert(ParamGroup.all())
    assert told == []
    assert not (tmp_path / "t.bpk").exists()
    convert(ParamGroup.from_path("full"))
    with open_burnpack(path) as before, open_burnpack(tmp_path / "t.bpk") as pack:
        assert pack["none"].data == before["none"].data


def test_a_scheme_that_does_not_fit_names_the_tensor(tmp_path: Path) -> None:
    with pytest.raises(TensorError, match="divisible") as caught:
        quantize_file(source(tmp_path), tmp_path / "t.bpk", Quantizer(Calibration.MIN_MAX, BLOCKED))
    assert "tensor: 'a.bias' of shape [3]" in caught.value.__notes__


def test_bytes_are_no_path(tmp_path: Path) -> None:
    path, quantizer = source(tmp_path), Quantizer(Calibration.MIN_MAX, Q8S)
    for names in ((path.read_bytes(), tmp_path / "t"), (bytes(path), tmp_path / "t"), (path, b"t")):
        with pytest.raises(ArgumentTypeError, match="a path is text or a path object, got bytes"):
            quantize_file(*names, quantizer)  # type: ignore[arg-type]


def test_what_the_page_says_of_names_links_and_values_that_are_no_numbers(tmp_path: Path) -> None:
    odd = np.array([[np.nan, 1.0, -2.0, 0.0], [np.inf, 1.0, -2.0, 0.0], [1.0, 2.0, 3.0, 4.0]], np.float32)
    write_burnpack(tmp_path / "odd", [("w", TensorData.from_array(odd), 1)])
    (tmp_path / "elsewhere.bpk").write_bytes(b"old")
    (tmp_path / "link.bpk").symlink_to("elsewhere.bpk")
    quantize_file(tmp_path / "odd", tmp_path / "link", Quantizer(Calibration.MIN_MAX, BLOCKED))

    assert not (tmp_path / "link.bpk").is_symlink()
    assert (tmp_path / "elsewhere.bpk").read_bytes() == b"old"
    with open_burnpack(tmp_path / "link") as pack:
        codes = Tensor.from_record_data(pack["w"].data, CPU, DType.F32).codes()  # type: ignore[attr-defined]
    assert codes.tolist() == [[0, 127, -127, 0], [127, 127, -127, 0], [32, 64, 95, 127]]
