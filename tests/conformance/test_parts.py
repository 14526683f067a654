"""Every part of an expected value counts: over all cases each is changed in turn, and must be noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from refimpl.conformance.case import Case, Match
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.floats import FLOAT_BITS, is_nan
from refimpl.conformance.matcher import compare
from refimpl.conformance.outcome import Outcome
from refimpl.conformance.variants import variants

#: A value of more parts than this is changed at about so many places, evenly spread.
FEW = 60


def changed(value: Any, match: Match) -> Iterator[Any]:
    """The value with one part changed, for each part that counts."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in match.ignore:
                continue
            without = {name: kept for name, kept in value.items() if name != key}
            yield without
            if key == "hex" and value.get("dtype") in FLOAT_BITS:
                parts: Iterator[Any] = changed_floats(part, value["dtype"], match)
            else:
                parts = changed(part, match)
            yield from ({**value, key: other} for other in parts)
        yield {**value, "of nobody": 1}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield value[:index] + value[index + 1 :]
            yield from ([*value[:index], other, *value[index + 1 :]] for other in changed(part, match))
        yield [*value, None]
    elif isinstance(value, bool):
        yield from (not value, int(value), None)
    elif isinstance(value, (int, float)):
        yield from (value + 1 if abs(value) < 1e15 else -value, str(value), None)
    elif isinstance(value, str):
        yield from (value + "0", value[:-1] if value else "0", None)
    else:
        yield from (0, "", False)


def changed_floats(digits: str, dtype: str, match: Match) -> Iterator[Any]:
    """Elements of floats with one changed by more than is allowed."""
    yield from (digits + "00", digits[:-2] if digits else "00", None)
    width = FLOAT_BITS[dtype] // 4
    for at in range(0, min(len(digits), 4 * width), width):
        bits = int.from_bytes(bytes.fromhex(digits[at : at + width]), "little") ^ 1 << (4 * width - 2)
        old = int.from_bytes(bytes.fromhex(digits[at : at + width]), "little")
        if not (is_nan(dtype, old) and is_nan(dtype, bits)):
            yield digits[:at] + bits.to_bytes(width // 2, "little").hex() + digits[at + width :]


def outcomes(case: Case) -> Iterator[tuple[Outcome, Match]]:
    for variant in variants(case):
        yield from zip(variant.expect or (), variant.matches, strict=True)


@pytest.mark.parametrize("chapter", sorted({case.chapter for case in load_cases()}))
def test_a_change_of_any_part_of_an_expected_value_is_a_difference(chapter: str) -> None:
    missed, asked = [], 0
    for case in load_cases(prefix=chapter):
        for expected, match in outcomes(case):
            if expected.ok is msgspec.UNSET:
                continue
            every = list(changed(expected.ok, match))
            for other in every[:: 1 + len(every) // FEW]:
                asked += 1
                if compare(expected, Outcome(ok=other), match, text=False) is None:
                    missed.append((case.id, expected.ok, other))

    assert asked > 1000
    assert missed[:3] == []
