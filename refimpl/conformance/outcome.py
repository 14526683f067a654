"""What a step came to."""

from __future__ import annotations

from typing import Any

import msgspec

from .kinds import ErrorKind, PanicKind


class Fault(msgspec.Struct, frozen=True):
    """The kind of an error or panic, and its text for people."""

    kind: str
    text: str = ""


class Error(Fault, frozen=True):
    """A returned error."""

    kind: ErrorKind


class Panic(Fault, frozen=True):
    """A broken contract."""

    kind: PanicKind


class Missing(msgspec.Struct, frozen=True):
    """What a subject lacks to take a step."""

    capability: str
    text: str = ""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a step came to: one of `ok`, `error`, `panic`, `unsupported`; in a case also `one_of`."""

    ok: Any = msgspec.UNSET
    error: Error | msgspec.UnsetType = msgspec.UNSET
    panic: Panic | msgspec.UnsetType = msgspec.UNSET
    unsupported: Missing | msgspec.UnsetType = msgspec.UNSET
    one_of: tuple[Outcome, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        forms = (self.ok, self.error, self.panic, self.unsupported, self.one_of)
        if sum(form is not msgspec.UNSET for form in forms) != 1:
            raise ValueError("an outcome is exactly one of ok, error, panic, unsupported")
