"""A type checker sees what a reader sees: field types stay, and mistakes are errors where they are made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

mypy = pytest.importorskip("mypy.api", reason="needs mypy: pip install 'refimpl[lint]'")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = re.compile(r"#\s*(error|note):\s*(.+?)\s*$")
SAID = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): (?P<kind>error|note): (?P<words>.*?)(?:  \[[\w-]+\])?$")


def expected(source: Path) -> dict[tuple[int, str], str]:
    """The comments `# error: words` and `# note: words`, by line and kind."""
    lines = enumerate(source.read_text("utf-8").splitlines(), start=1)
    return {(number, mark[1]): mark[2] for number, line in lines if (mark := MARK.search(line))}


@pytest.mark.parametrize("source", sorted(HERE.glob("cases_*.py")), ids=lambda file: file.stem)
def test_the_checker_says_exactly_what_the_comments_say(source: Path) -> None:
    output, trouble, _ = mypy.run(
        [
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--no-error-summary",
            "--show-error-codes",
            str(source),
        ]
    )
    said = [found for line in output.splitlines() if (found := SAID.match(line))]
    here = [found for found in said if Path(found["file"]).name == source.name]
    answers = {(int(found["line"]), found["kind"]): found["words"] for found in here}
    wanted = expected(source)

    assert trouble == ""
    assert wanted, "a file of cases without a case"
    assert {place: words for place, words in answers.items() if place not in wanted} == {}
    assert {place: words for place, words in wanted.items() if words not in answers.get(place, "")} == {}
