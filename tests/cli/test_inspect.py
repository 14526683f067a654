"""`refimpl inspect`: everything in a file, and nothing of it that a terminal would obey."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import write_burnpack
from refimpl.cli.main import main
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType

HOSTILE = "\x1b[31m</script>\u202e\n\0=1+1[red]"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    entries = [
        ("b.weight", TensorData(DType.F32, [2], bytes(range(8))), 7),
        ("b.0.bias", TensorData(DType.BOOL_U8, [], b"\1"), None),
        ("", TensorData(DType.U8, [0], b""), 2**64 - 1),
        (HOSTILE, TensorData(DType.U8, [1], b"x"), None),
    ]
    scalars: dict[str, Any] = {"n": -3, "nan": float("nan"), "x": 0.5, "yes": True}
    write_burnpack(tmp_path / "m", entries, {"made by": HOSTILE}, scalars)
    return tmp_path / "m.bpk"


def test_json_holds_everything_with_exact_names(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)

    assert [t["name"] for t in found["tensors"]] == sorted(["", HOSTILE, "b.0.bias", "b.weight"])
    assert found["tensors"][-1] == {
        "name": "b.weight",
        "dtype": "F32",
        "shape": [2],
        "param_id": 7,  # the number, as golden answers have it
        "nbytes": 8,
        "sha256": hashlib.sha256(bytes(range(8))).hexdigest(),
    }
    assert found["metadata"] == {"made by": HOSTILE}
    assert found["scalars"] == {
        "n": {"Int": -3},
        "nan": {"Float": "nan", "bits": "7ff8000000000000"},
        "x": {"Float": 0.5, "bits": "3fe0000000000000"},
        "yes": {"Bool": True},
    }


@pytest.mark.parametrize("options", [[], ["--tree"]])
def test_text_is_one_line_a_tensor_and_holds_no_control_character(
    options: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *options, str(path)]) == 0
    text = capsys.readouterr().out

    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\u{1b}[31m</script>\\u{202e}\\n\\0=1+1[red]" in text
    assert text.splitlines()[-1] == f"4 tensors, 10 bytes of data, {path.stat().st_size} in the file"


def test_the_table_says_what_each_tensor_is(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", str(path)])
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].split() == ["name", "bytes", "shape", "parameter", "id", "dtype"]
    assert lines[1].split() == ['""', "0", "[0]", "vvvvvvvvvvvvu", "U8"]
    assert lines[3].split() == ["b.0.bias", "1", "[]", "Bool(U8)"]
    assert lines[4].split() == ["b.weight", "8", "[2]", "0s00000000000", "F32"]
    assert "scalar    x = 0.5 (Float)" in lines


def test_the_tree_goes_by_the_dots(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "--tree", str(path)])
    lines = capsys.readouterr().out.splitlines()

    assert lines[-5:-1] == [
        "b",
        "  0",
        "    bias  1 bytes  []    Bool(U8)",
        "  weight  8 bytes  [2]  0s00000000000  F32",
    ]


def test_a_name_of_a_million_dots_is_shown_straight_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_burnpack(tmp_path / "m", [("." * 2000, TensorData(DType.U8, [1], b"x"), None)])
    main(["inspect", "--tree", str(tmp_path / "m.bpk")])

    assert max(map(len, capsys.readouterr().out.splitlines())) < 120


def test_a_wide_name_is_not_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "layer." * 60 + "weight"
    write_burnpack(tmp_path / "m", [(name, TensorData(DType.U8, [1], b"x"), None)])
    main(["inspect", str(tmp_path / "m.bpk")])

    assert name in capsys.readouterr().out


def test_an_empty_file_is_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_burnpack(tmp_path / "m", [])
    main(["inspect", str(tmp_path / "m")])

    assert capsys.readouterr().out == "0 tensors, 0 bytes of data, 256 in the file\n"


@pytest.mark.parametrize("content", [None, b"", b"NRUB", b"garbage" * 10])
def test_a_broken_file_is_exit_code_2_and_a_sentence(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.bpk"
    if content is not None:
        path.write_bytes(content)
    for options in ([], ["--json"], ["--tree"]):
        assert main(["inspect", *options, str(path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert "Traceback" not in captured.err


def test_a_closed_pipe_is_no_error(path: Path) -> None:
    command = f"{sys.executable} -m refimpl.cli.main inspect --json {path} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)

    assert (done.stdout.strip(), done.stderr) == ("0", "")


@pytest.mark.parametrize("other", ["b.weight", "--json"])
def test_a_tree_shows_the_whole_file(path: Path, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--tree", str(path), other]) == 4
    assert "--tree shows the names of a whole file" in " ".join(capsys.readouterr().err.split())


def test_a_picture_is_not_drawn_over_a_file_that_is_looked_at(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    monkeypatch.chdir(path.parent)

    assert main(["inspect", path.stem, "b.weight", "--plot", path.name]) == 4
    assert "FILE and --plot name one file" in capsys.readouterr().err
    assert main(["inspect", path.name, "b.weight", "--against", path.stem, "--plot", path.name]) == 4
    assert path.read_bytes() == before
