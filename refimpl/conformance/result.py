"""What a run tells, event by event: a result a variant, a restart, a finding about the run as a whole."""

from __future__ import annotations

import msgspec

from .case import Case
from .matcher import Difference
from .verdict import FAIL, PASS


class Result(msgspec.Struct, frozen=True):
    """What became of one variant of a case."""

    case: Case
    label: str
    verdict: str
    step: int | None = None
    difference: Difference | None = None
    message: str = ""
    #: How long the answer took; 0 when the subject was not asked.
    seconds: float = 0.0
    #: The reason in the expectations file, where an entry of it explains this result.
    expected: str = ""

    @property
    def signature(self) -> str:
        """One line that identifies the difference: what an expectations file is bound to."""
        if self.verdict == PASS:
            return PASS
        where = "" if self.step is None else f"step {self.step}: "
        told = str(self.difference) if self.difference is not None else self.message
        kind = "" if self.verdict == FAIL else f"{self.verdict}: "
        return f"{kind}{where}{told}".split("\n", 1)[0].rstrip(": ")


class Restart(msgspec.Struct, frozen=True):
    """The subject was killed and started again."""

    #: Counts from 1.
    number: int
    label: str
    why: str


class Finding(msgspec.Struct, frozen=True):
    """What shows only in the run as a whole: a claim, or an expectation, that is not so."""

    verdict: str
    #: The capability, or the pattern of the expectation.
    about: str
    message: str
    #: Labels of cases that show it.
    cases: tuple[str, ...] = ()


Event = Result | Restart | Finding
