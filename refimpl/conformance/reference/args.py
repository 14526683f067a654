"""Reading a step's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .faults import StepError

Args = dict[str, Any]


def text(args: Args, key: str) -> str:
    """A string."""
    found = args.get(key)
    if not isinstance(found, str):
        raise StepError(f"`{key}` must be a string")
    return found


def items(args: Args, key: str) -> Sequence[Any]:
    """A list."""
    found = args.get(key)
    if not isinstance(found, (list, tuple)):
        raise StepError(f"`{key}` must be a list")
    return found


def flag(args: Args, key: str, default: bool | None = None) -> bool:
    """A boolean; an absent one is `default`, if that is given."""
    found = args.get(key)
    if found is None and default is not None:
        return default
    if not isinstance(found, bool):
        raise StepError(f"`{key}` must be true or false")
    return found


def whole(value: Any) -> int:
    """An unsigned integer, as a number or as decimal text."""
    found = signed(value)
    if found < 0:
        raise StepError(f"{value!r} must be an unsigned integer")
    return found


def signed(value: Any) -> int:
    """An integer, as a number or as decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value) if isinstance(value, str) else _refuse(value)
    except ValueError:
        return _refuse(value)


def wholes(args: Args, key: str) -> list[int]:
    """A list of unsigned integers."""
    return [whole(value) for value in items(args, key)]


def integers(args: Args, key: str) -> list[int]:
    """A list of integers."""
    return [signed(value) for value in items(args, key)]


def number(value: Any) -> float:
    """A float, as a number or as one of the strings for what JSON cannot write."""
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except ValueError:
            pass
    raise StepError(f"{value!r} must be a number")


def only(spec: Any, what: str) -> tuple[str, Any]:
    """Key and value of an object that has one key."""
    if not isinstance(spec, dict) or len(spec) != 1:
        raise StepError(f"{spec!r} is no {what}")
    return next(iter(spec.items()))


def _refuse(value: Any) -> int:
    raise StepError(f"{value!r} must be an integer")
