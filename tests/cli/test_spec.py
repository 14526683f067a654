from __future__ import annotations

import json
from typing import Any

import pytest

from refimpl.cli.main import main


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["spec", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_clause_is_shown_with_its_code_cases_and_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "plc-3"]) == 0
    shown = capsys.readouterr().out

    assert shown.startswith("PLC-3: `even` gives the first devices one layer more\n")
    assert "truth     contract: what Burn means; observed" in shown
    assert "burn      burn-core `module/parallel/placement.rs`" in shown
    assert "LayerPlacement.even" in shown
    assert "case      plc.even.grid: " in shown
    assert "burn 0.23.0-pre.1" in shown


@pytest.mark.parametrize("word", ["plc.even.grid", "plc.even.grid[devices=#1,n=3]"])
def test_a_case_is_said_to_be_one(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert main(["spec", word]) == 4
    said = capsys.readouterr().err
    assert "plc.even.grid is a case: spec/cases/plc/even.grid.json; its clauses are PLC-3; " in said
    assert "`refimpl conform --case plc.even.grid` asks it" in said
    assert main(["spec", "plc.even.nothing"]) == 4
    assert "no clause has all of: plc.even.nothing" in capsys.readouterr().err


def test_a_clause_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    (clause,) = answer(capsys, "PLC-12")

    assert clause["truth"] == "ours"
    assert clause["chapter"] == "plc.md"
    assert clause["evidence"]["hand"] >= 4
    assert "plc.memory.overflow.input" in clause["cases"]
    assert clause["not_applicable"] is None


def test_several_clauses_are_shown_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    main(["spec", "PLC-1", "DEV-13"])
    shown = capsys.readouterr().out

    assert shown.index("PLC-1:") < shown.index("DEV-13:")
    assert "evidence  Settings of a device are process-wide" in shown


def test_a_family_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [clause["id"] for clause in answer(capsys, "dlm")] == [f"DLM-{n}" for n in range(1, 13)]
    main(["spec", "DLM"])
    assert "DLM-8   contract  `to_device` and `fork` rewrite the placement" in capsys.readouterr().out


def test_words_are_searched_in_all_of_a_clause(capsys: pytest.CaptureFixture[str]) -> None:
    found = {clause["id"] for clause in answer(capsys, "first", "n%k")} | {
        clause["id"] for clause in answer(capsys, "Placement", "stages")
    }

    assert {"PLC-3", "PLC-2"} <= found


def test_words_that_no_clause_has_are_a_question_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "unfindableword"]) == 4
    assert "no clause has all of" in capsys.readouterr().err


def test_without_words_the_chapters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys)["PAR"] == 82
    main(["spec"])
    assert "PAR   82 clauses  spec/par.md" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["plc-3"], [" PLC-3 "], ["PLC-03"]])
def test_an_id_may_be_written_as_people_write_it(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["spec", *words]) == 0
    assert capsys.readouterr().out.startswith("PLC-3:")


def test_an_id_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "PLC-99"]) == 4
    assert "PLC has PLC-1 to PLC-15" in capsys.readouterr().err
    assert main(["spec", "XYZ-1"]) == 4
    assert "the chapters are DEV, MOD" in capsys.readouterr().err


def test_a_question_that_no_clause_answers_word_by_word_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["spec", "does", "`fork`", "keep", "a leaf?"]) == 4
    shown = capsys.readouterr().err
    assert "no clause has all of: does `fork` keep a leaf?" in shown
    assert "MOD-53" in shown.split("nearest:")[1]


def test_the_name_in_burn_is_searched_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "placement.rs", "stages"]) == 0
    assert "PLC-4" in capsys.readouterr().out
