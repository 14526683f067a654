from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import load_clauses, not_applicable, spec_folder

#: The families that have cases; the others come with the quantisation and the adapters.
ASKED = ("DEV", "MOD", "PAR", "GRP", "FLG", "DSP", "REC", "BPK", "PLC", "DLM")
REPOSITORY = Path(__file__).resolve().parents[2]


@cache
def all_cases() -> list[Case]:
    return load_cases()


@pytest.mark.parametrize("family", ASKED)
def test_a_family_has_at_least_twenty_cases(family: str) -> None:
    assert sum(case.chapter == family.lower() for case in all_cases()) >= 20


def test_there_are_six_hundred_cases_of_which_two_hundred_are_on_dynamic_trees() -> None:
    dynamic = [case for case in all_cases() if "dynamic/1" in case.requires and ".tree." in case.id]

    assert len(all_cases()) >= 600
    assert len(dynamic) >= 200


def test_every_clause_of_the_asked_families_has_a_case_or_a_reason() -> None:
    named = {clause for case in all_cases() for clause in case.clauses}
    excused = not_applicable()
    missing = [
        i
        for i, clause in load_clauses().items()
        if clause.family in ASKED and i not in named | excused.keys()
    ]

    assert missing == []


def test_no_clause_has_both_a_case_and_an_excuse() -> None:
    named = {clause for case in all_cases() for clause in case.clauses}

    assert sorted(named & set(not_applicable())) == []


def test_every_case_names_clauses_that_exist() -> None:
    known = load_clauses()

    assert [(case.id, name) for case in all_cases() for name in case.clauses if name not in known] == []


def test_every_case_has_an_answer_and_says_where_from() -> None:
    sources = Counter(case.provenance.source for case in all_cases())

    assert set(sources) <= {"burn", "hand", "shrunk"}
    assert sources["burn"] > 0.9 * len(all_cases())


def test_an_answer_by_hand_is_for_a_decision_of_ours() -> None:
    assert [
        case.id for case in all_cases() if case.provenance.source == "hand" and case.truth != "ours"
    ] == []


def test_no_two_cases_ask_the_same() -> None:
    seen: dict[str, str] = {}
    twice = [
        (case.id, seen[key])
        for case in all_cases()
        if (key := repr((case.steps, case.axes))) in seen or seen.setdefault(key, case.id) != case.id
    ]

    assert twice == []


def test_every_deviation_names_clauses_that_exist_and_a_test_that_holds_it() -> None:
    text = (spec_folder() / "deviations.md").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.startswith("| ")]
    rows = [line.split("|")[1:-1] for line in lines if not line.startswith(("| what |", "| --- |"))]

    assert rows
    for what, _, _, clauses, held in rows:
        named = re.findall(r"[A-Z]{3}-\d+", clauses)
        assert named, what
        assert set(named) <= set(load_clauses()), what
        places = re.findall(r"`([^`]+)`", held)
        assert places, what
        for place in places:
            assert _exists(place), f"{what}: {place}"


def _exists(place: str) -> bool:
    """Whether a test `file::name`, or a case by its id, is there."""
    file, _, name = place.partition("::")
    if not name:
        return any(case.id == place for case in all_cases())
    path = REPOSITORY / "tests" / file
    return path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8")
