from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from refimpl.burnpack.api import write_burnpack
from refimpl.cli.inspect import command
from refimpl.cli.main import main
from refimpl.interchange.quantize_file import quantize_file
from refimpl.module.quantizer import Quantizer
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.data import TensorData
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue

NAME = "weight<\x1b[2J&"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    dense, packed = tmp_path / "dense.bpk", tmp_path / "packed.bpk"
    values = np.array([[127.0, 0.4, -1.0, 0.0]], np.float32)
    write_burnpack(
        dense, [(NAME, TensorData.from_array(values), 1), ("n", TensorData.from_array(np.arange(3)), 2)]
    )
    scheme = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE)
    quantize_file(dense, packed, Quantizer(Calibration.MIN_MAX, scheme))
    return str(dense), str(packed)


def asked(*words: str) -> str:
    done = CliRunner().invoke(command, words, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.mark.clause("QNT-21", "QNT-28")
def test_the_numbers_of_a_quantised_tensor_are_those_of_plain_arithmetic(files: tuple[str, str]) -> None:
    dense, packed = files
    numbers = json.loads(asked(packed, NAME, "--json", "--against", dense))

    assert (numbers["values"], numbers["zeros"], numbers["scales"], numbers["codes_used"]) == (4, 2, 1, 3)
    assert numbers["max_error"] == pytest.approx(0.4)
    assert numbers["mean_error"] == pytest.approx(0.1)
    assert numbers["bits_per_value"] == 8 * (4 + 4) / 4


def test_the_text_moves_no_cursor(files: tuple[str, str]) -> None:
    assert "\x1b" not in asked(files[1], NAME)
    assert "least" in asked(files[0], "n")


def test_the_picture_is_inert_and_shows_values_codes_and_errors(
    files: tuple[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "out.svg"
    asked(files[1], NAME, "--against", files[0], "--plot", str(target))
    text = target.read_text("utf-8")
    drawn = ET.fromstring(text)
    captions = ["".join(t.itertext()) for t in drawn.iter("{http://www.w3.org/2000/svg}text")]

    assert [c.split(":")[0] for c in captions if ": 4" in c] == ["values", "codes", "errors"]
    assert "\x1b" not in text


def test_a_tensor_that_is_not_there_and_a_picture_without_a_tensor_are_refused(
    files: tuple[str, str],
) -> None:
    with pytest.raises(Exception, match="Tensor not found"):
        asked(files[0], "nothing")
    with pytest.raises(Exception, match="name it after the file"):
        asked(files[0], "--plot", "x.svg")
    with pytest.raises(Exception, match="cannot write"):
        asked(files[0], "n", "--plot", "/nowhere/x.svg")


def test_a_name_that_is_nearly_there_is_named(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", files[0], "wieght<"]) == 2
    assert "hint: there is weight<" in capsys.readouterr().err
    assert main(["inspect", files[0], "zzz"]) == 2
    assert "lists all tensors" in capsys.readouterr().err


ODD = {
    "one value past 2^53": np.array([2**64 - 1], np.uint64),
    "two neighbours": np.array([1.0, np.nextafter(1.0, 2.0)]),
    "the whole range": np.array([-1.7e308, 1.7e308, 0.0]),
    "the greatest alone": np.array([np.finfo(np.float64).max]),
    "the smallest": np.array([0.0, 5e-324]),
    "nothing": np.zeros((0, 3), np.float32),
    "nothing finite": np.array([np.nan, np.inf], np.float32),
    "a scalar": np.array(3.5, np.float32),
    "truths": np.array([True, False]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_any_values_are_described_and_drawn(name: str, tmp_path: Path) -> None:
    write_burnpack(tmp_path / "odd.bpk", [("w", TensorData.from_array(ODD[name]), None)])
    target = tmp_path / "out.svg"
    numbers = json.loads(asked(str(tmp_path / "odd.bpk"), "w", "--json", "--plot", str(target)))

    bars = [e for e in ET.parse(target).iter() if e.get("class") == "bar"]
    counted = sum(int(str(bar[0].text).split()[0]) for bar in bars)
    assert counted == numbers["values"] - numbers["not_finite"]
    assert not {"nan", "inf"} & {str(number) for number in numbers.values()}


def test_integers_are_described_exactly(tmp_path: Path) -> None:
    write_burnpack(tmp_path / "ints.bpk", [("w", TensorData.from_array(np.array([2**62 + 1, -5])), None)])
    numbers = json.loads(asked(str(tmp_path / "ints.bpk"), "w", "--json"))

    assert (numbers["least"], numbers["greatest"]) == (-5, 2**62 + 1)


def test_the_mean_of_large_values_is_theirs(tmp_path: Path) -> None:
    values = np.array([1e308, 1e308, 1e308])
    write_burnpack(tmp_path / "large.bpk", [("w", TensorData.from_array(values), None)])

    assert json.loads(asked(str(tmp_path / "large.bpk"), "w", "--json"))["mean"] == pytest.approx(1e308)
