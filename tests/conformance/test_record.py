from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refimpl.conformance import record
from refimpl.conformance.record import main

from .folder import DUMMY, case_of, write_case

ECHO = "py:tests.conformance.broken:Echo"
NEW = {"provenance": {"source": "none"}, "expect": []}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record, "cases_folder", lambda: tmp_path)
    return tmp_path


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def test_an_answer_is_written_with_its_provenance(root: Path) -> None:
    path = write_case(root, case_of(**NEW))

    assert main(["--subject", ECHO]) == 0
    assert read(path)["expect"] == [{"ok": 1}]
    assert read(path)["provenance"] == {"source": "burn", "version": ""}


def test_each_variant_has_its_answer(root: Path) -> None:
    path = write_case(root, case_of(**NEW, axes={"n": [1, 2]}, steps=[{"do": "echo", "value": "$n"}]))

    assert main(["--subject", ECHO, "plc"]) == 0
    assert read(path)["expect"] == {"n=1": [{"ok": 1}], "n=2": [{"ok": 2}]}


def test_a_second_time_nothing_changes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_case(root, case_of(**NEW))
    main(["--subject", ECHO])
    main(["--subject", ECHO, "--show"])

    assert "0 recorded, 1 unchanged" in capsys.readouterr().out


def test_what_needs_another_device_is_left_to_a_subject_that_has_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_case(root, case_of(**NEW, requires=["d1"]))

    assert main(["--subject", ECHO]) == 0
    assert read(path)["expect"] == []
    assert "0 recorded, 0 unchanged, 1 left to others" in capsys.readouterr().out


@pytest.mark.parametrize("fields", [{"truth": "ours"}, {}])
def test_what_is_ours_or_made_by_hand_is_left_alone(root: Path, fields: dict[str, Any]) -> None:
    path = write_case(root, case_of(**fields, expect=[{"ok": "by hand"}]))
    main(["--subject", ECHO])

    assert read(path)["expect"] == [{"ok": "by hand"}]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"do": "flip"}, "two runs differ at steps [0]"),
        ({"do": "x", "say": {"error": {"kind": "Protocol", "text": "what?"}}}, "Protocol: what?"),
        ({"do": "x", "say": {"panic": {"kind": "Capture"}}}, "Capture"),
        ({"do": "x", "say": {"unsupported": {"capability": "lora"}}}, "unsupported"),
    ],
)
def test_an_answer_that_cannot_be_kept_is_refused(
    root: Path, capsys: pytest.CaptureFixture[str], step: dict[str, Any], words: str
) -> None:
    path = write_case(root, case_of(**NEW, steps=[step]))

    assert main(["--subject", ECHO]) == 3
    assert words in capsys.readouterr().err
    assert read(path)["provenance"] == {"source": "none"}


def test_a_subject_that_crashes_is_refused_case_by_case(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(root, case_of(**NEW))

    assert main(["--subject", f"cmd:{sys.executable} {DUMMY} crasher"]) == 3
    assert "I give up" in capsys.readouterr().err


def test_only_new_cases_are_asked_when_that_is_asked(root: Path) -> None:
    path = write_case(root, case_of(provenance={"source": "burn"}, expect=[{"ok": "old"}]))
    main(["--subject", ECHO, "--new"])

    assert read(path)["expect"] == [{"ok": "old"}]


def test_a_subject_that_is_not_there_is_exit_code_2(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--subject", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err
