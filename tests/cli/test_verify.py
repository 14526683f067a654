"""`refimpl verify`: exit codes, text that no terminal obeys, and JSON with exact names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refimpl.burnpack.api import burnpack_bytes, write_burnpack
from refimpl.cli.main import main
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import descriptor, one, pack

HOSTILE = "\x1b[31m</script>\u202e\n\0=1+1[red]"


def test_a_sound_file_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_burnpack(tmp_path / "m", [("w", TensorData(DType.U8, [1], b"x"), None)])

    assert main(["verify", str(tmp_path / "m")]) == 0
    assert capsys.readouterr().out == "sound: 1 tensors, 257 bytes, 0 findings\n"


def test_what_burn_accepts_and_would_not_write_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.bpk").write_bytes(burnpack_bytes([]) + b"tail")

    assert main(["verify", str(tmp_path / "m.bpk")]) == 1
    assert capsys.readouterr().out == (
        "byte 256        Burn accepts: 4 bytes after the last tensor  [BPK-21]\n"
        "odd: 0 tensors, 260 bytes, 1 findings\n"
    )


def test_what_is_refused_is_exit_code_2_and_told_one_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.bpk").write_bytes(pack({"tensors": {HOSTILE: descriptor(shape=[9])}}, bytes(8)))

    assert main(["verify", str(tmp_path / "m.bpk")]) == 2
    out = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in out)
    assert [line.split()[:4] for line in out.splitlines()] == [
        ["byte", "20", "Burn", "refuses:"],
        ["byte", "20", "Burn", "accepts:"],
        ["broken:", "1", "tensors,", "264"],
    ]


def test_json_keeps_the_exact_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.bpk").write_bytes(pack({"tensors": {HOSTILE: descriptor(shape=[9])}}, bytes(8)))

    assert main(["verify", "--json", str(tmp_path / "m.bpk")]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["size"], found["tensors"], found["left_out"]) == ("broken", 264, 1, 0)
    assert [f["tensor"] for f in found["findings"]] == [HOSTILE, HOSTILE]
    assert found["findings"][0]["burn"] == "refuses"


def test_what_panics_when_it_is_loaded_says_when(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scheme = {"value": "Q8S", "store": "Native", "mode": "Symmetric"}
    (tmp_path / "m.bpk").write_bytes(one(dtype={"QFloat": scheme}))
    main(["verify", str(tmp_path / "m.bpk")])

    assert "Burn panics when it is loaded: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["none.bpk", "."])
def test_what_cannot_be_opened_is_exit_code_2_and_a_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: I/O error: ")


def test_more_than_is_told_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refimpl.burnpack.verify.MOST", 1)
    (tmp_path / "m.bpk").write_bytes(pack({"tensors": {n: descriptor(shape=[9]) for n in "abc"}}, bytes(8)))
    main(["verify", str(tmp_path / "m.bpk")])

    assert "more\n" in capsys.readouterr().out
