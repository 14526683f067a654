"""How a step ends when it gives no value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class LackingError(Exception):
    """What PyTorch, or this adapter, does not have; the message names the step or the part of it."""


class EndedError(Exception):
    """An error or a panic of a kind that the protocol knows."""

    def __init__(self, form: str, kind: str, text: str) -> None:
        super().__init__(text)
        self.form = form
        self.kind = kind


def outcome_of(error: Exception) -> dict[str, Any]:
    """The outcome of a step that raised."""
    match error:
        case LackingError():
            return {"unsupported": {"capability": str(error), "text": "PyTorch has nothing like it"}}
        case EndedError():
            return {error.form: {"kind": error.kind, "text": str(error)}}
    raise error


@contextmanager
def refusing(form: str, kind: str) -> Iterator[None]:
    """What PyTorch refuses inside is an error or a panic of this kind, with PyTorch's own words."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise EndedError(form, kind, str(error)) from None
