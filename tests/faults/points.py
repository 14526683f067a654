"""The ledger of fault points: what was tried, with which fault, and what came of it."""

from __future__ import annotations

import errno as numbers
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Points:
    """Counts the points of a run by operation and fault; a check that fails is kept, and raised at the end.

    Args:
        full: The large run of `make faults`; otherwise the one inside `make test`.
    """

    full: bool = False
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.tried.total()

    def add(self, operation: str, fault: str | int, count: int = 1) -> None:
        """Count points; a number is an errno."""
        self.tried[operation, numbers.errorcode.get(fault, "-") if isinstance(fault, int) else fault] += count

    def find(self, what: str) -> None:
        """Something is wrong, and the run goes on."""
        self.found.append(what)

    def settle(self, least: int = 0) -> None:
        """Raise what was found, and make sure that as much was tried as the caller says."""
        assert self.found == [], "\n".join(self.found[:20])
        assert self.total >= least, f"{self.total} points, of at least {least}"
