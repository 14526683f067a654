"""Cases that are drawn by seeds or by families are drawn again as they are committed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

import pytest

from refimpl.conformance import generate_adapt, generate_quant
from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases

COMMITTED = {case.id: case for case in load_cases()}


@pytest.mark.parametrize(
    "drawn",
    [
        generate_quant.generate,
        lambda: generate_adapt.generate("lra.drawn"),
        lambda: generate_adapt.generate("rep.drawn"),
    ],
    ids=["quantised", "lora", "reparameterizations"],
)
def test_the_committed_cases_are_drawn_again(drawn: Callable[[], Iterator[Case]]) -> None:
    cases = list(drawn())

    assert [case.id for case in cases if case.id not in COMMITTED] == []
    assert [case.id for case in cases if case.steps != COMMITTED[case.id].steps] == []
    assert [case.id for case in cases if case.clauses != COMMITTED[case.id].clauses] == []


def test_no_two_drawn_cases_ask_the_same() -> None:
    asked = [str((case.steps, case.axes)) for case in generate_quant.generate()]

    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("value", generate_quant.VALUES)
def test_the_ties_of_a_value_kind_are_scaled_by_one(value: str) -> None:
    bits = {"8": 255.0, "4": 15.0, "2": 3.0}
    widths = {"E4M3": 896.0, "E5M2": 114688.0, "E2M1": 12.0}
    whole = bits.get(value[1], 0.0) - (1.0 if value.endswith("S") else 0.0)
    ties = generate_quant.inputs("ties", 16, Random(0), value)

    assert max(map(abs, ties)) * 2 / widths.get(value, whole) == 1.0


def test_the_inputs_of_a_family_hold_what_it_is_named_for() -> None:
    rng = Random(0)

    assert any(map(math.isnan, generate_quant.inputs("nan", 8, rng)))
    assert {math.copysign(1, x) for x in generate_quant.inputs("negative_zero", 8, rng)} == {-1.0}
    assert all(0 < abs(x) < 2.0**-126 for x in generate_quant.inputs("subnormal", 8, rng))
