"""`make matrix`, as far as it needs no other subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.conformance.events import Exchanged, read_log
from tests.matrix.__main__ import hand_over, log, run, table
from tests.matrix.subjects import Known, built, found

REFIMPL = Known("refimpl", "refimpl")


def test_the_table_counts_the_files_that_are_read_as_they_were_written() -> None:
    told = [
        Exchanged("a", "b", "one", "pass"),
        Exchanged("a", "b", "two", "fail", "$.ok"),
        Exchanged("a", "b", "three", "unsupported"),
        Exchanged("b", "a", "one", "pass"),
        Exchanged("b", "b", "one", "unsupported"),
    ]

    assert table(["a", "b"], told).splitlines()[2:] == ["| a | - | 1/2 |", "| b | 1/1 | - |"]


def test_the_files_are_told_at_the_end_of_the_first_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(REFIMPL, tmp_path, "--case", "plc.even.grid") == 0
    assert hand_over([REFIMPL], tmp_path) == 0

    [told] = read_log(log("refimpl", tmp_path))
    assert {(one.format, one.verdict) for one in told.exchanges} == {
        ("burnpack", "pass"),
        ("safetensors", "unsupported"),
    }
    shown = capsys.readouterr().out
    assert "burnpack:" in shown
    assert "| refimpl | 11/11 |" in shown
    assert "safetensors:" in shown
    assert "| refimpl | - |" in shown


def test_the_adapters_of_the_documentation_are_subjects(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    here, missing = found()

    template = next(one for one in here if one.name == "template")
    assert run(template, tmp_path, "--case", "plc.even.grid") == 0
    assert missing["javascript"] == "there is no node"
    assert missing["burn"] == "there is no cargo"


def test_a_subject_that_cannot_be_built_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert built(tmp_path, "none") == (None, "there is no cargo")


def test_a_subject_without_a_list_of_differences_has_no_file() -> None:
    assert Known("nobody", "cmd:nobody").expectations is None
