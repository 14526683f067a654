"""The variants of a case: one for each choice on its axes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from .case import Case, Match, Step
from .outcome import Outcome

#: A double holds every integer up to this one.
_EXACT = 1 << 53
#: As many digits as that has.
_LONG = re.compile(rb"\d{16}")
_PLAIN = Match()


class Variant(msgspec.Struct, frozen=True):
    """A case with one value chosen on each axis."""

    case: Case
    name: str
    steps: tuple[Step, ...]
    matches: tuple[Match, ...]
    expect: tuple[Outcome, ...] | None

    @property
    def label(self) -> str:
        """The case's id, with the variant in brackets when there is more than one."""
        return f"{self.case.id}[{self.name}]" if self.name else self.case.id


def chosen(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each choice on the axes, with the name that it has in `expect`."""
    for indices in itertools.product(*(range(len(values)) for values in case.axes.values())):
        values = {axis: case.axes[axis][index] for axis, index in zip(case.axes, indices, strict=True)}
        words = (f"{axis}={_word(values[axis], index)}" for axis, index in zip(values, indices, strict=True))
        yield ",".join(words), values


def _word(value: Any, index: int) -> str:
    """A value as part of a name: itself when it is short and plain, else its place on the axis."""
    word = value if isinstance(value, str) else json.dumps(value)
    plain = isinstance(value, bool | int | float | str | None) and len(word) <= 24
    return word if plain and not set(word) & set(",=[]") else f"#{index}"


def match_of(step: Step) -> Match:
    """How the outcome of a step is compared."""
    return msgspec.convert(step["match"], Match) if "match" in step else _PLAIN


def bare(steps: Sequence[Step]) -> list[Step]:
    """The steps as a subject gets them: how they are judged is for the runner alone."""
    return [
        {key: value for key, value in step.items() if key != "match"} if "match" in step else step
        for step in steps
    ]


def variants(case: Case) -> Iterator[Variant]:
    """The case with each choice on its axes filled in: `"$axis"` as a whole text stands for the value."""
    matches = tuple(map(match_of, case.steps))
    asked = tuple(map(_told, bare(case.steps)))
    known = case.provenance.source != "none"
    if not case.axes:
        yield Variant(case, "", asked, matches, tuple(case.expect) if known else None)  # type: ignore[arg-type]
        return
    varying: set[int] = set()
    _varying(list(asked), varying)
    for name, values in chosen(case):
        expect = case.expect.get(name) if known and isinstance(case.expect, dict) else None
        exact = {axis: _exact(value) for axis, value in values.items()}
        steps = tuple(_fill(step, exact, varying) for step in asked)
        yield Variant(case, name, steps, matches, tuple(expect) if expect is not None else None)


def _told(step: Step) -> Step:
    """The step as it is told to a subject: itself, unless an integer in it may be too long."""
    exact: Step = _exact(step) if _LONG.search(msgspec.json.encode(step)) else step
    return exact


def _exact(value: Any) -> Any:
    """The value with each integer past 2^53 as a decimal text, so that every language can read it.

    What stands under `serde` is somebody else's format, and is left as it is.
    """
    if isinstance(value, int):
        return str(value) if abs(value) > _EXACT else value
    if isinstance(value, dict):
        return {key: part if key == "serde" else _exact(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return value


def _varying(value: Any, found: set[int]) -> bool:
    """Whether a text in it may stand for a value of an axis; `found` takes the ids of all that hold one."""
    if isinstance(value, str):
        return value.startswith("$")
    if not isinstance(value, (dict, list)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    holding = [part for part in parts if _varying(part, found)]  # all of them, not up to the first
    if holding:
        found.add(id(value))
    return bool(holding)


def _fill(value: Any, values: dict[str, Any], varying: set[int]) -> Any:
    if isinstance(value, str):
        return values.get(value[1:], value) if value.startswith("$") else value
    if id(value) not in varying:
        return value
    if isinstance(value, dict):
        return {key: _fill(part, values, varying) for key, part in value.items()}
    return [_fill(part, values, varying) for part in value]
