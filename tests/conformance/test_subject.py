from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from refimpl.conformance.runner import run
from refimpl.conformance.subject import InProcess, build_burn, open_subject
from refimpl.errors import SubjectError

from .broken import Echo, Raises, Short
from .folder import DUMMY, case_of, write_case

CARGO = """#!{python}
import json, sys
print(json.dumps({{"reason": "compiler-artifact", "executable": None}}))
print(json.dumps({{"reason": "compiler-artifact", "executable": {program!r}}}))
sys.stderr.write("does not compile")
sys.exit({code})
"""


def fake_cargo(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, code: int = 0) -> None:
    path = folder / "cargo"
    path.write_text(CARGO.format(python=sys.executable, program=program, code=code))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_burn_is_built_by_cargo_and_asked_as_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "adapter"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {DUMMY} good\n")
    program.chmod(0o755)
    fake_cargo(tmp_path, monkeypatch, str(program))
    from refimpl.conformance.case_file import load_cases

    write_case(tmp_path / "cases", case_of())
    with open_subject("burn") as subject:
        (result,) = run(subject, load_cases(tmp_path / "cases"))

    assert result.verdict == "pass"


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cargo(tmp_path, monkeypatch, None, code=101)

    with pytest.raises(SubjectError, match="code 101: does not compile"):
        build_burn()


def test_a_build_that_makes_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cargo(tmp_path, monkeypatch, None)

    with pytest.raises(SubjectError, match="no program"):
        build_burn()


def test_without_cargo_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SubjectError, match="cargo") as caught:
        build_burn()

    assert "rustup" in (caught.value.hint or "")


def test_a_subject_of_this_process_forgets_on_restart_and_has_no_standard_error() -> None:
    subject = InProcess(Short())
    subject.restart()
    subject.close()

    assert subject.stderr() == ""
    assert subject.greeting.impl.name == "short"


def test_a_greeting_of_nonsense_is_a_subject_error() -> None:
    class Rude(Raises):
        def hello(self) -> dict[str, object]:
            return json.loads("{}")

    with pytest.raises(SubjectError, match="greeting is broken"):
        InProcess(Rude())


def test_what_a_subject_writes_into_its_steps_changes_no_case() -> None:
    class Scribbles(Echo):
        def _answer(self, step: dict[str, object]) -> dict[str, object]:
            return {"ok": step.pop("value")}

    steps = [{"do": "say", "value": [1]}]
    subject = InProcess(Scribbles())

    first, second = (subject.case("a", steps, 1) for _ in range(2))

    assert first == second
    assert steps == [{"do": "say", "value": [1]}]
