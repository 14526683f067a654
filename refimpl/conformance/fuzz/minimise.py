"""Making a trace small: a step, a node or a dimension less, and values nearer to 0, as long as it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..case import Step

#: Words without which a step is no step.
_KEPT = frozenset(("do", "observe", "on", "as"))
_VALUES = (0, 1, -1)


def minimise(
    steps: Sequence[Step], fails: Callable[[tuple[Step, ...]], bool], *, seconds: float = 30.0
) -> tuple[Step, ...]:
    """The smallest trace that was found by changes that each leave it failing.

    Steps go first, from the end; then parts of steps. Each change makes the text of the trace shorter or a
    number nearer to 0, so it ends; after `seconds` it ends anyway, with what it has.
    """
    deadline = time.monotonic() + seconds
    best = tuple(steps)
    while time.monotonic() < deadline:
        for candidate in _smaller_traces(best):
            if time.monotonic() >= deadline:
                break
            if fails(candidate):
                best = candidate
                break
        else:
            break
    return best


def _smaller_traces(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    width = len(steps) // 2
    while width >= 1:
        for start in range(len(steps) - width, -1, -1):
            if width < len(steps):
                yield steps[:start] + steps[start + width :]
        width //= 2
    for index, step in enumerate(steps):
        size = _size(step)
        for part in _smaller(step):
            if _size(part) < size:
                yield (*steps[:index], part, *steps[index + 1 :])


def _size(value: Any) -> tuple[int, float]:
    """What must fall: the length of the text, then the sum of the numbers, a negative one a little larger."""
    return len(json.dumps(value)), _sum(value)


def _sum(value: Any) -> float:
    if isinstance(value, dict):
        return sum(map(_sum, value.values()))
    if isinstance(value, list):
        return sum(map(_sum, value))
    if isinstance(value, bool):
        return float(value)
    return abs(value) + (value < 0) / 2 if isinstance(value, int | float) else 0.0


def _smaller(value: Any) -> Iterator[Any]:
    """Values like this one, each with one thing less."""
    if isinstance(value, dict):
        yield from _smaller_object(value)
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, item in enumerate(value):
            for part in _smaller(item):
                yield [*value[:index], part, *value[index + 1 :]]
    elif isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int | float):
        yield from (number for number in _VALUES if _sum(number) < _sum(value))


def _smaller_object(value: dict[str, Any]) -> Iterator[Any]:
    yield from _nodes(value)
    for key in value:
        if key not in _KEPT:
            yield {other: part for other, part in value.items() if other != key}
    for key, item in value.items():
        for part in _smaller(item):
            yield {**value, key: part}


def _nodes(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The children of a node of a tree: one of them may stand in its place."""
    for kind in ("some", "payload"):
        if isinstance(value.get(kind), dict):
            yield value[kind]
    for kind in ("vec", "array", "tuple"):
        if isinstance(value.get(kind), list):
            yield from (item for item in value[kind] if isinstance(item, dict))
    if "struct" in value and isinstance(value.get("fields"), list):
        fields = value["fields"]
        yield from (field[1] for field in fields if isinstance(field, list) and len(field) == 2)
