"""A second look at a failure: it may be the trace of another case, or chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ..errors import SubjectError
from .result import Result
from .subject import Subject
from .variants import Variant
from .verdict import BLEED, FAIL, FLAKY, PASS

#: So many failures of a run are looked at again; each look costs a start of the subject or more.
LOOKS = 20

Ask = Callable[[Subject, Variant], Result]


def second_look(
    subject: Subject, variant: Variant, first: Result, before: Iterable[Variant], ask: Ask
) -> Result:
    """The failure `first` again when it repeats in a fresh process; else what it was instead.

    `bleed` when the case passes alone, and fails after the cases `before` it each time; `flaky` when a fresh
    process answers now this, now that. The subject must be restarted before the run goes on.
    """
    earlier = list(before)

    def alone(*first_asked: Variant) -> Result:
        subject.restart()
        for other in first_asked:
            ask(subject, other)
        return ask(subject, variant)

    try:
        once = alone()
        if once.signature == first.signature:
            return first
        again = alone()
        if once.signature != again.signature:
            return _told(first, FLAKY, f"asked alone, once {once.signature!r}, once {again.signature!r}")
        if once.verdict == FAIL:
            return once
        replayed = [alone(*earlier) for _ in range(2)] if earlier else []
        if once.verdict != PASS or not replayed or any(r.verdict == PASS for r in replayed):
            return _told(first, FLAKY, f"in the run {first.signature!r}, then {once.signature!r}")
        blamed = earlier[-1].label
        if alone(earlier[-1]).verdict == PASS:
            blamed = f"one of the {len(earlier)} cases before it, the last of them {blamed}"
        return _told(first, BLEED, f"passes alone; after {blamed}: {first.difference}")
    except SubjectError as error:
        return _told(first, FLAKY, f"in the run {first.signature!r}, then {error}")


def _told(result: Result, verdict: str, message: str) -> Result:
    return msgspec.structs.replace(result, verdict=verdict, message=message, difference=None)
