from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.variants import variants
from tests.mutants import scope
from tests.mutants.mutate import functions_of, mutants_of
from tests.mutants.report import Report


def report() -> Report:
    place = "parallel.memory:fill"
    mutants = list(mutants_of(place, dict(functions_of("parallel.memory"))[place]))
    cases = load_cases(prefix="plc.even")
    made = Report(cases)
    made.caught = [(mutant, next(variants(cases[0]))) for mutant in mutants[2:]]
    made.survivors, made.unreached = mutants[:1], mutants[1:2]
    made.idle = cases[1:]
    return made


def test_a_mutant_that_no_case_reaches_counts_against_the_score() -> None:
    made = report()

    assert made.count == len(made.caught) + 2
    assert made.score == len(made.caught) / made.count
    assert not made.passes


def test_a_list_that_says_more_than_is_so_fails_the_run() -> None:
    made = report()
    made.survivors, made.unreached = [], []
    assert made.passes

    made.faults.append("equivalent.toml: `x` is noticed by `y`")
    assert not made.passes


def test_the_report_names_survivors_clauses_and_idle_cases() -> None:
    made = report()
    text = made.markdown()

    assert made.survivors[0].before in text
    assert f"| {made.cases[0].clauses[0]} | {len(made.caught)} |" in text
    assert f"- `{made.cases[1].id}`" in text
    assert all(clause not in made.idle_clauses() for clause in made.cases[0].clauses)


def test_every_module_of_the_reference_is_on_trial_and_no_tool() -> None:
    found = scope.modules()

    assert {"param.matcher", "burnpack.stream", "tensor.core", "rust_text", "layers.linear"} <= set(found)
    assert not any(name.startswith(("cli.", "conformance.", "testing.")) for name in found)


def test_what_is_set_aside_is_there_and_has_a_reason_of_its_own() -> None:
    aside = scope.unasked()
    places = {place for module in scope.modules() for place, _ in functions_of(module)}

    assert all(any(scope.covering(place, {name: ""}) for place in places) for name in aside)
    assert scope.covering("layers.linear:Linear.forward", aside) == "layers.linear:"
    assert scope.covering("param.matcher:from_serde", aside) is None


def test_an_entry_without_a_reason_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "equivalent.toml").write_text('[[equivalent]]\nnames = ["a"]\nreason = "none"\n')
    monkeypatch.setattr(scope, "HERE", tmp_path)
    with pytest.raises(SystemExit, match="has no reason"):
        scope.equivalent()
