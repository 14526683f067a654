"""The clauses of the specification, read from its chapters."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec

from ..errors import CaseError

#: The thirteen families, in the order in which a reader meets them.
FAMILIES = ("DEV", "MOD", "PAR", "GRP", "FLG", "DSP", "REC", "BPK", "PLC", "DLM", "QNT", "REP", "LRA")

TRUTHS = ("contract", "pinned", "ours")

CLAUSE_ID = re.compile(r"[A-Z]{3}-[1-9]\d*")

_HEADING = re.compile(r"### ([A-Z]{3}-[1-9]\d*): (.+)")
_TRUTH = re.compile(r"^- Truth: (\w+), (\w+)$", re.MULTILINE)
_BURN = re.compile(r"^- Burn: (.+)$", re.MULTILINE)
_ROW = re.compile(r"\| *([A-Z]{3}-[1-9]\d*) *\| *(.+?) *\|")


class Clause(msgspec.Struct, frozen=True):
    """One numbered rule: its sentence, how binding it is, and the item of Burn that it follows."""

    id: str
    title: str
    text: str
    truth: str
    found: str
    burn: str
    chapter: str
    line: int

    @property
    def family(self) -> str:
        """The three letters before the number."""
        return self.id[:3]

    @property
    def sentence(self) -> str:
        """The first paragraph on one line, for the foot of a report."""
        return " ".join(self.text.split("\n\n")[0].split())


def asked_truths(subject: str) -> tuple[str, ...]:
    """The truths whose cases a subject is asked: real Burn does not know what this project decided."""
    return TRUTHS[:2] if subject == "burn" else TRUTHS


@cache
def spec_folder() -> Path:
    """The folder `spec/`: inside the installed package, or beside it in a clone."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_spec", package.parent / "spec"):
        if (folder / "README.md").is_file():
            return folder
    raise CaseError(
        f"the specification is not installed: neither {package / '_spec'} nor {package.parent / 'spec'}",
        hint="reinstall refimpl from a wheel or from a full clone",
    )


@cache
def load_clauses(folder: Path | None = None) -> dict[str, Clause]:
    """Every clause by its id, in the order of the chapters.

    Raises:
        CaseError: A section has no truth, or an id stands twice.
    """
    root = spec_folder() if folder is None else folder
    found: dict[str, Clause] = {}
    for family in FAMILIES:
        chapter = root / f"{family.lower()}.md"
        for clause in read_chapter(chapter):
            if clause.id in found or clause.family != family:
                raise CaseError(
                    f"{chapter.name}, line {clause.line}: {clause.id} stands here a second time, or misplaced"
                )
            found[clause.id] = clause
    return found


def read_chapter(path: Path) -> list[Clause]:
    """The clauses of one chapter: a `###` heading, the text, then the lines Truth and Burn."""
    lines = path.read_text(encoding="utf-8").split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(("## ", "### "))]
    clauses: list[Clause] = []
    for start, end in pairwise([*starts, len(lines)]):
        heading = _HEADING.fullmatch(lines[start])
        if heading is not None:
            clauses.append(_clause(path.name, start + 1, heading, "\n".join(lines[start + 1 : end])))
    return clauses


def _clause(chapter: str, line: int, heading: re.Match[str], section: str) -> Clause:
    truth = _TRUTH.search(section)
    burn = _BURN.search(section)
    if truth is None or truth[1] not in TRUTHS:
        raise CaseError(
            f"{chapter}, line {line}: {heading[1]} does not end with `- Truth: ...`",
            hint="write `- Truth: contract, observed`: one of contract, pinned, ours",
        )
    text = section[: truth.start()].strip()
    item = burn[1] if burn is not None else ""
    return Clause(heading[1], heading[2], text, truth[1], truth[2], item, chapter, line)


def not_applicable(folder: Path | None = None) -> dict[str, str]:
    """The clauses that no case can ask, each with its reason."""
    root = spec_folder() if folder is None else folder
    rows = (_ROW.match(line) for line in (root / "not-applicable.md").read_text(encoding="utf-8").split("\n"))
    return {row[1]: row[2] for row in rows if row is not None}
