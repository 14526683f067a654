"""A case: a trace of steps put to a subject, and the outcome that each step must have."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .outcome import Outcome
from .versions import within

#: A step of the trace, as `spec/protocol.md` defines it; `match` beside it is for the runner alone.
Step = dict[str, Any]


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a step's value is compared; without one, tensors by their bits with every NaN alike."""

    #: Compare the payload of a NaN too.
    bits: bool = False
    #: Floats may differ by so many units in the last place of their dtype.
    ulp: int = 0
    #: Lists are compared without their order.
    unordered: bool = False
    #: Keys left out of the comparison, at any depth.
    ignore: tuple[str, ...] = ()
    #: Whether the text of an error or panic is promised; the case's own answer when not said.
    text: bool | None = None


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the expected outcomes come from; none means: not yet recorded."""

    source: Literal["burn", "hand", "shrunk", "none"]
    version: str | None = None
    backend: str | None = None


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One case file, as `spec/cases/README.md` describes it."""

    id: str
    clauses: tuple[str, ...]
    truth: Literal["contract", "pinned", "ours"]
    level: Literal["must", "should", "may"] = "must"
    #: The first version of Burn for which the case holds, and the first for which it does no longer.
    since: str | None = None
    until: str | None = None
    requires: tuple[str, ...] = ()
    why: str
    cost: int = 1
    text: bool = False
    axes: dict[str, list[Any]] = {}
    provenance: Provenance = Provenance("none")
    steps: tuple[Step, ...]
    expect: list[Outcome] | dict[str, list[Outcome]] = []

    @property
    def chapter(self) -> str:
        """The first part of the id, which is the folder."""
        return self.id.partition(".")[0]

    def holds_for(self, burn: str) -> bool:
        """Whether the case is asked of what follows this version of Burn."""
        bounds = [f"{sign}{end}" for sign, end in ((">=", self.since), ("<", self.until)) if end is not None]
        return not bounds or within(burn, ",".join(bounds))
