from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from refimpl.cli.learn import command
from refimpl.conformance.planted.catalogue import CATALOGUE


def learn(said: str, *words: str) -> str:
    made = CliRunner().invoke(command, ["--bug", "remainder-last", *words], input=said, standalone_mode=False)
    assert made.exception is None
    return made.output


def test_the_right_clause_ends_the_lesson_and_shows_the_bug() -> None:
    shown = learn("plc-3\nhint\n")

    assert "Yes, after 1 try." in shown
    assert "believes" not in shown
    assert "right  each + (i < one_more)" in shown
    assert "wrong  each + (i >= len(used) - one_more)" in shown


def test_a_wrong_clause_is_said_to_hold_and_the_lesson_goes_on() -> None:
    shown = learn("PLC-4\nXYZ-1\nPLC-3\n")

    assert "No: PLC-4, `devices` and `stages`, holds." in shown
    assert "There is no clause XYZ-1." in shown
    assert "Yes, after 3 tries." in shown


def test_hints_go_from_the_difference_to_the_place() -> None:
    shown = learn("hint\n\nhint\nhint\nhint\nhint\ngive up\n")
    order = [
        "The smallest difference, in plc.",
        "The case, which catches this: ",
        "  PLC-3: `even(devices, n)`: use the first k",
        "The code is in refimpl/parallel/placement.py.",
        "It is LayerPlacement.even, and whoever wrote it believes: Layers that do not divide",
        "There are no more hints",
        "Planted in refimpl/parallel/placement.py",
    ]

    places = [shown.find(words) for words in order]
    assert -1 not in places
    assert places == sorted(places)


def test_a_case_can_be_asked() -> None:
    shown = learn("ask plc.even.grid\nask mod\nwhat\ngive up\n")

    assert " fail: plc.even.grid" in shown
    assert "No case 'mod' asks the broken clause." in shown
    assert shown.count("give up                    show it") == 2


def test_the_end_of_the_input_is_giving_up() -> None:
    assert "Planted in" in learn("")


def test_a_seed_plants_the_same_bug_again() -> None:
    first, again = (
        CliRunner().invoke(command, ["--seed", "7"], input="give up\n", standalone_mode=False).output
        for _ in "ab"
    )

    assert first == again
    assert any(bug.belief in first for bug in CATALOGUE)


@pytest.mark.parametrize("name", [bug.name for bug in CATALOGUE[::8]])
def test_every_bug_can_be_learnt(name: str) -> None:
    made = CliRunner().invoke(command, ["--bug", name], input="hint\nhint\nhint\n", standalone_mode=False)

    assert made.exception is None


def test_json_has_the_hints_and_the_bug() -> None:
    made = json.loads(learn("", "--json"))

    assert made["bug"]["clause"] == "PLC-3"
    assert len(made["hints"]) == 5
