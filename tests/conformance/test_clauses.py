from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.conformance.clauses import FAMILIES, load_clauses, not_applicable, read_chapter, spec_folder
from refimpl.errors import CaseError

SECTION = "### PLC-{n}: A title\n\nThe rule.\n\nMore.\n\n- Truth: {truth}\n- Burn: an item\n\n"


def _chapter(folder: Path, text: str, name: str = "plc.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_family_has_its_chapter_with_numbers_without_a_gap() -> None:
    clauses = load_clauses()
    sizes = {family: [int(i[4:]) for i in clauses if i.startswith(family)] for family in FAMILIES}

    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in sizes.values())
    assert {family: len(numbers) for family, numbers in sizes.items()} == {
        "DEV": 16, "MOD": 56, "PAR": 82, "GRP": 16, "FLG": 11, "DSP": 28, "REC": 28,
        "BPK": 33, "PLC": 15, "DLM": 12, "QNT": 41, "REP": 29, "LRA": 11,
    }  # fmt: skip


def test_every_clause_has_a_text_and_the_item_of_burn_that_it_follows() -> None:
    assert [clause.id for clause in load_clauses().values() if not clause.text or not clause.burn] == []


def test_a_clause_is_its_heading_its_text_and_its_last_lines(tmp_path: Path) -> None:
    path = _chapter(
        tmp_path, "# PLC\n\n## Part\n\n" + SECTION.format(n=1, truth="pinned, read") + "## Other\ntext\n"
    )
    (clause,) = read_chapter(path)

    assert (clause.id, clause.title, clause.truth, clause.found) == ("PLC-1", "A title", "pinned", "read")
    assert (clause.text, clause.sentence, clause.burn) == ("The rule.\n\nMore.", "The rule.", "an item")
    assert (clause.family, clause.chapter, clause.line) == ("PLC", "plc.md", 5)


@pytest.mark.parametrize("truth", ["maybe, observed", "contract"])
def test_a_clause_without_a_kind_of_truth_is_refused_with_its_line(tmp_path: Path, truth: str) -> None:
    path = _chapter(tmp_path, SECTION.format(n=1, truth=truth))

    with pytest.raises(CaseError, match=r"plc\.md, line 1: PLC-1"):
        read_chapter(path)


def test_an_id_may_not_stand_twice(tmp_path: Path) -> None:
    for family in FAMILIES:
        _chapter(tmp_path, "", f"{family.lower()}.md")
    _chapter(tmp_path, 2 * SECTION.format(n=1, truth="ours, read"))

    with pytest.raises(CaseError, match="line 10: PLC-1 stands here a second time"):
        load_clauses(tmp_path)


def test_the_specification_is_beside_or_inside_the_package() -> None:
    assert (spec_folder() / "README.md").is_file()


def test_a_clause_that_no_case_asks_has_a_reason() -> None:
    reasons = not_applicable()

    assert all(len(reason) > 10 for reason in reasons.values())
    assert set(reasons) <= set(load_clauses())
