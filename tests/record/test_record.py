"""Records: taken, kept, saved, loaded into modules on any device."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refimpl.burnpack.api import open_burnpack, write_burnpack
from refimpl.errors import (
    ArgumentTypeError,
    PanicError,
    RecordError,
    RecordIoError,
    RecordValidationError,
)
from refimpl.module.module import Module
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.record.policy import DTypePolicy
from refimpl.record.record import ModuleRecord
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import Tensor
from tests.burnpack.containers import descriptor, pack
from tests.faults.system import Faults, descriptors, fails, folder
from tests.golden.recorded import CPU, float_param

from .situations import F32, OnlyBias, Tiny, bools, ints, tiny, wide

SIM = tuple(Device("sim", i) for i in range(3))


def values(module: Tiny) -> list[list[float]]:
    return [module.weight.val().to_numpy().ravel().tolist(), module.bias.val().to_numpy().tolist()]


def lazy(shape: tuple[int, ...], device: Device, calls: list[str], fill: float = 0.0) -> Param[Tensor]:
    def init(device: Device, require_grad: bool) -> Tensor:
        calls.append("init")
        return Tensor.full(shape, fill, device).set_require_grad(require_grad)

    return Param.uninitialized(ParamId.new(), init, device, True, shape)


class Lazy(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]


def lazy_module(calls: list[str], device: Device = CPU) -> Lazy:
    return Lazy(weight=lazy((2, 2), device, calls), bias=lazy((2,), device, calls))


@pytest.mark.clause("REC-1")
def test_a_record_is_not_made_by_calling_the_class() -> None:
    with pytest.raises(ArgumentTypeError, match="not made by calling the class"):
        ModuleRecord()


@pytest.mark.clause("REC-1")
def test_an_option_gives_another_record_of_the_same_entries() -> None:
    record = tiny(10).into_record()
    partial = record.allow_partial(True)

    assert partial is not record
    assert partial.entries is record.entries
    assert "allow_partial: false" in repr(record)
    assert record.cast_to_module_dtype().dtype_policy is DTypePolicy.CAST_TO_MODULE
    assert record.dtype_policy is DTypePolicy.FROM_RECORD
    assert bool(record)
    assert bool(ModuleRecord.from_bytes(pack({"tensors": {}})))
    with pytest.raises(ArgumentTypeError, match="a dtype policy is a DTypePolicy"):
        record.with_dtype_policy("CastToModule")  # type: ignore[arg-type]


@pytest.mark.clause("REC-2")
def test_floats_ints_and_bools_are_recorded_in_order_and_flags_are_not() -> None:
    from .situations import flagged

    assert [e.path for e in flagged(True, 1).into_record().entries] == ["weight", "bias"]
    assert [repr(e.data.dtype) for e in ints(1, DType.I16).into_record().entries] == ["F32", "I16"]
    assert [repr(e.data.dtype) for e in bools(1, DType.BOOL_NATIVE).into_record().entries] == [
        "F32",
        "Bool(Native)",
    ]


@pytest.mark.clause("REC-5", "REC-6")
def test_collecting_initialises_what_it_takes_and_nothing_else() -> None:
    calls: list[str] = []
    module = lazy_module(calls)
    record = module.into_record_group(ParamGroup.from_path("bias"))

    assert calls == ["init"]
    assert not module.weight.is_initialized()
    assert [e.path for e in record.entries] == ["bias"]
    module.into_record()
    assert calls == ["init", "init"]


@pytest.mark.clause("REC-19")
def test_loading_from_the_record_runs_no_initialiser_and_casting_runs_them() -> None:
    calls: list[str] = []
    loaded = lazy_module(calls).load_record(tiny(10).into_record())
    assert calls == []
    assert int(loaded.weight.id) == 10
    lazy_module(calls).load_record(tiny(10).into_record().cast_to_module_dtype())
    assert calls == ["init", "init"]


@pytest.mark.clause("REC-22")
def test_a_loaded_parameter_keeps_the_gradient_setting_of_the_target() -> None:
    target = tiny(20, F32, CPU.autodiff()).no_grad()
    loaded = target.load_record(tiny(10).into_record())
    trained = tiny(20, F32, CPU.autodiff()).load_record(tiny(10).into_record())

    assert not loaded.weight.is_require_grad()
    assert trained.weight.is_require_grad()
    assert trained.weight.val().is_autodiff


@pytest.mark.clause("REC-22")
@pytest.mark.report("BL-28")
def test_the_gradient_setting_of_the_target_wins_and_the_record_carries_none() -> None:
    autodiff, calls = CPU.autodiff(), list[str]()
    records = (tiny(10, F32, autodiff).into_record(), tiny(10, F32, autodiff).no_grad().into_record())
    for record in records:
        frozen = tiny(20, F32, autodiff).no_grad().load_record(record)
        trainable = tiny(20, F32, autodiff).load_record(record)
        part = tiny(20, F32, autodiff).set_require_grad_group(ParamGroup.from_path("bias"), False)
        mixed = part.load_record(record)
        lazily = lazy_module(calls, autodiff).no_grad().load_record(record)
        plain = tiny(20).no_grad().load_record(record).train()

        assert [m.weight.is_require_grad() for m in (frozen, trainable, mixed, lazily, plain)] == [
            False, True, True, False, False,
        ]  # fmt: skip
        assert [m.bias.is_require_grad() for m in (frozen, trainable, mixed)] == [False, True, False]
        assert tiny(20).load_record(record).train().weight.is_require_grad()
    assert records[0].into_bytes() == records[1].into_bytes()


@pytest.mark.clause("REC-9")
@pytest.mark.report("BL-19")
def test_two_parameters_of_one_path_are_refused_at_save(tmp_path: Path) -> None:
    record = ModuleRecord._make([*tiny(1).into_record().entries, *tiny(3).into_record().entries])
    for save in (record.into_bytes, lambda: record.save(tmp_path / "m")):
        with pytest.raises(RecordIoError) as caught:
            save()
        assert str(caught.value) == "Record I/O error: Validation error: Duplicate tensor name 'weight'"
    assert not list(tmp_path.iterdir())


@pytest.mark.clause("REC-15")
def test_of_two_entries_of_one_path_the_last_is_loaded() -> None:
    record = ModuleRecord._make([*tiny(1).into_record().entries, *tiny(3).into_record().entries])

    assert int(tiny(20).load_record(record).weight.id) == 3


@pytest.mark.clause("REC-10")
def test_a_record_that_was_read_has_its_entries_by_name() -> None:
    data = tiny(10).into_record().into_bytes()
    record = ModuleRecord.from_bytes(data)

    assert [e.path for e in record.entries] == ["bias", "weight"]
    # Written again the data lies in another order, and here even takes other room: 520 and 528 bytes.
    assert (len(data), len(record.into_bytes())) == (520, 528)


@pytest.mark.clause("REC-13", "REC-22")
@pytest.mark.report("BL-01")
def test_ids_survive_saving_and_loading_and_the_second_file_equals_the_first(tmp_path: Path) -> None:
    for number, module in enumerate((tiny(10), ints(30, DType.I64), bools(50, DType.BOOL_NATIVE))):
        first, second = tmp_path / f"{number}-first", tmp_path / f"{number}-second"
        module.save_file(first)
        fresh: Any = {
            10: lambda: tiny(70),
            30: lambda: ints(70, DType.I64),
            50: lambda: bools(70, DType.BOOL_NATIVE),
        }
        loaded = fresh[int(module.weight.id)]().load_file(first)
        loaded.save_file(second)

        assert (loaded.weight.id, loaded.bias.id) == (module.weight.id, module.bias.id)
        assert first.with_suffix(".bpk").read_bytes() == second.with_suffix(".bpk").read_bytes()


@pytest.mark.clause("REC-14")
@pytest.mark.parametrize("n", [4, 100_000])
def test_a_loaded_module_no_longer_depends_on_its_file(n: int, tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"

    def of(value: float) -> OnlyBias:
        return OnlyBias(bias=float_param(1, [value] * n, (n,), F32, CPU))

    of(1.0).save_file(path)
    before = descriptors()
    loaded = of(0.0).load_file(path)
    assert descriptors() == before
    of(2.0).save_file(path)
    assert set(loaded.bias.val().to_numpy().tolist()) == {1.0}
    path.write_bytes(b"x")
    loaded.save_file(path)
    path.unlink()
    assert set(loaded.bias.val().to_numpy().tolist()) == {1.0}


@pytest.mark.clause("REC-14")
def test_a_record_keeps_the_file_that_it_opened_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"
    tiny(10).save_file(path)
    with ModuleRecord.load(path) as record:
        wide().save_file(path)
        assert values(tiny(20).load_record(record)) == values(tiny(10))
        record.save(path)  # onto the name it was read from
        assert path.read_bytes() == record.into_bytes()
    with pytest.raises(RecordIoError, match="the container is closed"):
        tiny(20).try_load_record(record)
    tiny(10).into_record().close()


@pytest.mark.clause("REC-14")
def test_a_file_that_is_cut_while_it_is_loaded_names_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"
    tiny(10).save_file(path)
    with ModuleRecord.load(path) as record:
        os.truncate(path, 300)
        with pytest.raises(RecordIoError) as caught:
            tiny(20).try_load_record(record)
    assert (caught.value.tensor, caught.value.path) == ("weight", str(path))
    assert str(caught.value) == (
        f"Record I/O error: I/O error: '{path}' was changed while tensor 'weight' was to be read"
    )


@pytest.mark.clause("REC-14")
def test_each_matched_entry_is_read_once_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.bpk"
    big = TensorData(F32, [2000], bytes(8000))
    write_burnpack(path, [("bias", big, 1), ("other", big, 2)])
    module = OnlyBias(bias=float_param(9, [0.0] * 2000, (2000,), F32, CPU))
    reads: list[int] = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: reads.append(n) or real(fd, n, at))
    with ModuleRecord.load(path) as record:
        opened = len(reads)
        module.load_record(record.allow_unused(True))
    assert reads[opened:] == [8000]


@pytest.mark.clause("REC-14")
def test_what_is_loaded_from_bytes_does_not_change_with_them() -> None:
    data = bytearray(tiny(10).into_record().into_bytes())
    loaded = tiny(20).load_record(ModuleRecord.from_bytes(data))
    data[:] = bytes(len(data))

    assert values(loaded) == values(tiny(10))


@pytest.mark.clause("REC-14")
def test_entries_that_overlap_so_often_that_they_fill_the_memory_are_refused(tmp_path: Path) -> None:
    tensors = {f"t{i}": descriptor("U8", [4000], [0, 4000]) for i in range(40)}
    (tmp_path / "m.bpk").write_bytes(pack({"tensors": tensors}, bytes(4000)))
    with ModuleRecord.load(tmp_path / "m") as record, pytest.raises(RecordIoError) as caught:
        record.apply(tiny(1))

    size = (tmp_path / "m.bpk").stat().st_size
    assert f"the entries claim 160000 bytes together, the container has {size}" in str(caught.value)


@pytest.mark.clause("REC-12")
@pytest.mark.report("BL-05")
def test_a_quantised_entry_without_a_layout_panics_at_load_and_gives_the_file_back(tmp_path: Path) -> None:
    size = {"storage": [2, 4, 1, 1, 1], "len": 2}
    scheme = {"value": "Q8S", "store": "Native", "mode": "Symmetric", "block": {"size": size, "dtype": "F32"}}
    (tmp_path / "m.bpk").write_bytes(
        pack({"tensors": {"w": descriptor({"QFloat": scheme}, [8], [0, 8])}}, bytes(8))
    )
    before = descriptors()
    with pytest.raises(PanicError) as caught:
        ModuleRecord.load(tmp_path / "m.bpk")

    assert str(caught.value) == (
        "Quantized layout for shape [8] and dtype QFloat(QuantScheme { value: Q8S, store: Native, "
        "mode: Symmetric, tensor: None, block: Some(BlockScale { size: BlockSize([2, 4]), dtype: F32 }) }) "
        "is invalid"
    )
    assert descriptors() == before


@pytest.mark.clause("REC-8")
def test_a_running_state_takes_the_value_keeps_its_id_and_changes_its_clones() -> None:
    class Norm(Module):
        mean: RunningState

    def norm(value: float) -> Norm:
        return Norm(mean=RunningState.new(Tensor.from_data([value], CPU)))

    source, target = norm(3.0), norm(0.0)
    id_before, clone = target.mean.id, target.clone()
    loaded = target.load_record(source.into_record())

    assert loaded.mean.id == id_before
    assert [m.mean.value().to_numpy().tolist() for m in (loaded, target, clone)] == [[3.0]] * 3
    assert [e.path for e in source.into_record().entries] == ["mean"]


@pytest.mark.clause("REC-17", "REC-18")
@pytest.mark.report("BL-37")
def test_a_parameter_stored_in_another_shape_survives_rounds_while_it_is_lazy() -> None:
    class Col(Module):
        weight: Param[Tensor]

    def col(numbers: Any) -> Col:
        array = np.asarray(numbers, np.float32)
        param = Param.uninitialized(
            ParamId.new(), lambda device, _: Tensor.from_data(array, device), CPU, True, array.shape
        )
        turn = Tensor.transpose
        return Col(weight=param.init_mapper(turn).save_mapper(turn).load_mapper(turn))

    for numbers in (np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)):
        module = col(numbers)
        for _ in range(3):
            data = module.into_record().into_bytes()
            held = open_burnpack(data)["weight"].data.to_numpy()
            assert np.array_equal(held, numbers)
            module = col(np.zeros_like(numbers)).load_record(ModuleRecord.from_bytes(data))
            assert np.array_equal(module.weight.val().to_numpy(), numbers.T)
    rectangular = col(np.arange(6.0).reshape(3, 2))
    record = rectangular.into_record()
    with pytest.raises(RecordValidationError) as caught:
        rectangular.try_load_record(record)
    assert str(caught.value) == (
        'Record validation error: Apply errors: ["weight: shape mismatch, expected Shape { dims: [2, 3] } '
        'but record has Shape { dims: [3, 2] }"]'
    )


@pytest.mark.report("BL-37")
def test_a_parameter_stored_scaled_comes_back_as_it_was() -> None:
    class Scaled(Module):
        weight: Param[Tensor]

    def scaled(value: float) -> Scaled:
        param = Param.from_data([value], CPU)
        return Scaled(weight=param.save_mapper(lambda t: t * 2.0).load_mapper(lambda t: t * 0.5))

    module = scaled(3.0)
    for _ in range(3):
        record = module.into_record()
        assert record.entries[0].data.to_numpy().tolist() == [6.0]
        module = scaled(0.0).load_record(record)
        assert module.weight.val().to_numpy().tolist() == [3.0]


@pytest.mark.clause("REC-22")
@pytest.mark.report("BL-11")
@pytest.mark.parametrize("split", [(0, 0), (2, 1), (0, 2)])
@pytest.mark.parametrize("is_lazy", [False, True])
def test_a_loaded_tensor_is_on_the_device_of_its_parameter(
    split: tuple[int, int], is_lazy: bool, tmp_path: Path
) -> None:
    source = Tiny(
        weight=float_param(1, [1.0, 2.0, 3.0, 4.0], (2, 2), F32, SIM[0]),
        bias=float_param(2, [5.0, 6.0], (2,), F32, SIM[1]),
    )
    source.save_file(tmp_path / "m")
    calls: list[str] = []
    weight, bias = (SIM[i] for i in split)
    if is_lazy:
        target: Any = Lazy(weight=lazy((2, 2), weight, calls), bias=lazy((2,), bias, calls))
    else:
        target = Tiny(
            weight=float_param(3, [0.0] * 4, (2, 2), F32, weight),
            bias=float_param(4, [0.0] * 2, (2,), F32, bias),
        )
    loaded = target.load_file(tmp_path / "m")

    assert (loaded.weight.val().device, loaded.bias.val().device) == (weight, bias)
    assert loaded.weight.val().to_numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert calls == []
    assert (tmp_path / "m.bpk").read_bytes() == source.to_device(CPU).into_record().into_bytes()


@pytest.mark.clause("REC-3", "REC-16")
@pytest.mark.report("BL-19")
def test_a_part_that_is_missing_or_left_over_is_named_and_allowed_only_when_asked() -> None:
    class Linear(Module):
        weight: Param[Tensor]
        bias: Param[Tensor] | None

    class Stack(Module):
        t: tuple[Linear, Linear]
        layers: tuple[Linear, ...]
        nested: tuple[tuple[Param[Tensor], ...], ...]

    def linear(*, bias: bool) -> Linear:
        return Linear(weight=Param.from_data([1.0], CPU), bias=Param.from_data([2.0], CPU) if bias else None)

    stack = Stack(
        t=(linear(bias=True), linear(bias=False)),
        layers=tuple(linear(bias=True) for _ in range(11)),
        nested=((), (Param.from_data([3.0], CPU), Param.from_data([4.0], CPU))),
    )
    paths = [e.path for e in stack.into_record().entries]
    assert len(set(paths)) == len(paths)
    assert {"t.0.weight", "t.1.weight", "layers.10.bias", "nested.1.1"} <= set(paths)
    assert "t.1.bias" not in paths

    with_bias, without = linear(bias=True).into_record(), linear(bias=False).into_record()
    with pytest.raises(RecordValidationError) as caught:
        linear(bias=True).try_load_record(without)
    assert caught.value.detail == 'Missing tensors: ["bias"]'
    with pytest.raises(RecordValidationError) as caught:
        linear(bias=False).try_load_record(with_bias)
    assert caught.value.detail == 'Unused tensors: ["bias"]'
    assert linear(bias=True).load_record(without.allow_partial(True)).weight.id == without.entries[0].param_id
    assert linear(bias=False).load_record(with_bias.allow_unused(True)).bias is None


@pytest.mark.clause("REC-13")
@pytest.mark.report("BL-17")
def test_a_save_that_fails_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.bpk"
    tiny(10).save_file(path)
    before = folder(tmp_path)
    Faults(monkeypatch, 0, fails(errno.ENOSPC), ("write",))
    with pytest.raises(RecordIoError) as caught:
        wide().save_file(path)

    assert (caught.value.errno, caught.value.path) == (errno.ENOSPC, str(path))
    assert str(caught.value).startswith("Record I/O error: I/O error: cannot write to ")
    assert folder(tmp_path) == before


@pytest.mark.parametrize("data", ["text", None, 3, Path("m.bpk")])
def test_bytes_are_bytes(data: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a record is made from bytes"):
        ModuleRecord.from_bytes(data)


@pytest.mark.parametrize("path", [b"m.bpk", None, 3])
def test_a_path_is_a_path(path: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="a path is text or a path object"):
        ModuleRecord.load(path)
    with pytest.raises(ArgumentTypeError):
        tiny(1).into_record().save(path)


@pytest.mark.clause("REC-27")
def test_a_bool_byte_that_is_neither_0_nor_1_is_no_reason_to_refuse_the_file() -> None:
    data = pack({"tensors": {"w": descriptor({"Bool": "Native"}, [2], [0, 2])}}, b"\x02\x01")

    assert len(ModuleRecord.from_bytes(data)) == 1


@pytest.mark.clause("BPK-22", "REC-26")
def test_the_default_limits_hold_for_records(tmp_path: Path) -> None:
    huge = 10 * 2**30 + 1
    path = tmp_path / "m.bpk"
    path.write_bytes(pack({"tensors": {"w": descriptor("U8", [huge], [0, huge])}}))
    os.truncate(path, 256 + huge)
    with pytest.raises(RecordError, match="Tensor 'w' size 10737418241 exceeds"):
        ModuleRecord.load(path)
