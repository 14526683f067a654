"""A type checker sees what a reader sees: field types stay, and mistakes are errors where they are made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

mypy = pytest.importorskip("mypy.api", reason="needs mypy: pip install 'refimpl[lint]'")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = sorted(HERE.glob("cases_*.py"))
EXPECTED = re.compile(r"#\s*error:\s*(.+?)\s*$")
SAID = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<words>.*)$")


def test_the_checker_finds_exactly_the_mistakes_that_the_cases_mark() -> None:
    wanted = {
        (file.name, number): mark[1]
        for file in CASES
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if (mark := EXPECTED.search(line))
    }

    output, trouble, _ = mypy.run(["--config-file", str(ROOT / "pyproject.toml"), *map(str, CASES)])
    answers = {
        (Path(found["file"]).name, int(found["line"])): found["words"]
        for line in output.splitlines()
        if (found := SAID.match(line)) and Path(found["file"]).parent.name == HERE.name
    }

    assert trouble == ""
    assert {file for file, _ in wanted} == {file.name for file in CASES}, "a file of cases without a case"
    assert {place: words for place, words in answers.items() if place not in wanted} == {}
    assert {place: words for place, words in wanted.items() if words not in answers.get(place, "")} == {}
