from __future__ import annotations

import pytest

from refimpl.conformance.case import load_cases, variants
from refimpl.conformance.planted.planting import exchanged
from refimpl.conformance.subject import open_subject
from tests.mutants import __main__ as run
from tests.mutants.mutate import functions_of, mutants_of


def share(count: int, names: list[str]) -> int:
    """The share of each name."""
    if count < 0:
        raise ValueError("a count of -1")
    return count // len(names) if names else 0


def test_each_mutant_changes_one_thing_and_words_of_errors_are_left_alone() -> None:
    changes = [(mutant.before, mutant.after) for mutant in mutants_of("share", share)]

    assert ("count < 0", "count <= 0") in changes
    assert ("count // len(names)", "count * len(names)") in changes
    assert ("0", "1") in changes
    assert not any("-1" in before and "raise" not in before for before, _ in changes)


def test_a_mutant_is_there_while_its_block_runs() -> None:
    (mutant,) = (one for one in mutants_of("share", share) if one.after == "count * len(names)")
    with exchanged(mutant.function, mutant.code):
        assert share(6, ["a", "b"]) == 12

    assert share(6, ["a", "b"]) == 3


def test_the_functions_of_a_module_are_those_that_it_defines() -> None:
    places = [place for place, _ in functions_of("parallel.memory")]

    assert "parallel.memory:fill" in places
    assert "parallel.memory:_Layers.fits" in places
    assert not any("accumulate" in place for place in places)


def test_the_cases_catch_every_mutant_of_the_limit_of_a_device() -> None:
    place = "parallel.memory:_limits"
    asked = [variant for case in load_cases(prefix="plc") for variant in variants(case)]
    function = dict(functions_of("parallel.memory"))[place]
    with open_subject("refimpl") as subject:
        caught = {mutant.name: run.judge(mutant, subject, asked) for mutant in mutants_of(place, function)}

    assert caught
    assert None not in caught.values()


def for_ever() -> None:
    with run.limited():
        while True:
            pass


def test_a_mutant_that_runs_for_ever_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SECONDS", 0.05)
    with pytest.raises(run.TooLongError):
        for_ever()
