"""The adapters in `docs/how-to/` are right, and agree in what they support."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from refimpl.cli.main import main
from refimpl.conformance.adapter_check import check_adapter
from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.expectations import read_entries
from refimpl.conformance.result import Result
from refimpl.conformance.runner import run
from refimpl.conformance.subject import open_subject

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PYTHON = f"{sys.executable} {FOLDER / 'adapter.py'}"
PAGE = (FOLDER / "write-an-adapter.md").read_text("utf-8")

#: A placement of devices with tags is for who claims `autodiff`.
EVEN = {"placement.even": {"pass", "unsupported"}}


def node() -> str:
    program = shutil.which("node")
    if program is None:
        pytest.skip("the adapter in JavaScript needs Node: https://nodejs.org")
    return f"{program} {FOLDER / 'adapter.mjs'}"


def cases(*prefixes: str) -> list[Case]:
    return [case for prefix in prefixes for case in load_cases(prefix=prefix)]


def verdicts(subject: str, asked: list[Case]) -> dict[str, set[str]]:
    """The verdicts of the cases, by the name of the first step."""
    found: dict[str, set[str]] = {}
    with open_subject(subject) as opened:
        for event in run(opened, asked, whole=False):
            if isinstance(event, Result):
                found.setdefault(str(event.case.steps[0].get("do")), set()).add(event.verdict)
    return found


def test_the_template_is_right_as_the_page_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--check-adapter", PYTHON]) == 0
    shown = capsys.readouterr().out.replace(PYTHON, "python adapter.py")

    assert shown in PAGE


def test_the_template_has_at_most_150_lines() -> None:
    assert len((FOLDER / "adapter.py").read_text("utf-8").split("\n")) <= 150


def test_the_template_passes_what_it_supports() -> None:
    assert verdicts(f"cmd:{PYTHON}", cases("plc.even")) == EVEN


def test_the_template_is_a_subject_in_process_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert verdicts("py:adapter:Port", cases("plc.even")) == EVEN


def test_the_adapter_in_javascript_is_right() -> None:
    assert [answer for answer in check_adapter(node()) if answer.fault] == []


def test_the_adapter_in_javascript_passes_both_families() -> None:
    found = verdicts(f"cmd:{node()}", cases("plc", "par.id"))

    assert set().union(*found.values()) <= {"pass", "unsupported"}
    for step in ("new", "even", "by_memory", "make"):
        assert found[f"placement.{step}"] - {"unsupported"} == {"pass"}
    for step in ("format", "parse", "new", "compare"):
        assert found[f"param_id.{step}"] - {"unsupported"} == {"pass"}


def test_the_expectations_that_the_page_shows_can_be_read(tmp_path: Path) -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")

    assert [kind for kind, _, _ in read_entries(path)] == ["xfail", "flaky", "skip"]
