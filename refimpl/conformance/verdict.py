"""The verdicts, and the exit code that a set of them comes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PASS: Final = "pass"
FAIL: Final = "fail"
#: The subject says that it cannot do what the case asks.
UNSUPPORTED: Final = "unsupported"

#: What an expectations file explains: a known difference, a case that is not asked.
XFAIL: Final = "xfail"
SKIP: Final = "skip"
#: An entry of an expectations file that no longer says what is: it passes, or matches nothing.
STALE: Final = "stale"
#: Entries for other versions of the subject than the one that was asked: they explain nothing.
INERT: Final = "inert"

#: Now this, now that, asked the same in a fresh process.
FLAKY: Final = "flaky"
#: Right when asked alone, wrong after another case.
BLEED: Final = "bleed"
#: The subject claims what it answers with `unsupported`.
OVERCLAIM: Final = "overclaim"
#: The subject can do what it does not claim.
UNDERCLAIM: Final = "underclaim"

#: The subject did not answer, or not as the protocol asks: no difference, and no verdict on the rules.
TIMEOUT: Final = "timeout"
CRASH: Final = "crash"
ADAPTER_FAULT: Final = "adapter fault"
SET_ASIDE: Final = "set aside"

#: The case has no expected answer yet: a fault of whoever wrote it.
UNRECORDED: Final = "unrecorded"

GOOD: Final = frozenset((PASS, XFAIL, SKIP, INERT))
DIFFERENCES: Final = frozenset((FAIL, STALE, FLAKY, BLEED, OVERCLAIM, UNDERCLAIM))
SUBJECT_FAULTS: Final = frozenset((TIMEOUT, CRASH, ADAPTER_FAULT, SET_ASIDE))
CASE_FAULTS: Final = frozenset((UNRECORDED,))

ALL: Final = GOOD | DIFFERENCES | SUBJECT_FAULTS | CASE_FAULTS | {UNSUPPORTED}

#: Subjects of this project: to them, a step they do not support is a difference.
STRICT: Final = ("refimpl", "burn")

EXIT_AGREE, EXIT_DIFFER, EXIT_SUBJECT, EXIT_CASES = 0, 1, 2, 3


def exit_code(verdicts: Iterable[str], *, strict: bool = False) -> int:
    """0 as expected, 1 differences, 2 the subject is broken, 3 cases are; the gravest counts.

    Args:
        verdicts: Of a whole run; those that an expectations file explains are left out or among `GOOD`.
        strict: Whether `unsupported` counts as a difference.
    """
    found = set(verdicts)
    if found & CASE_FAULTS:
        return EXIT_CASES
    if found & SUBJECT_FAULTS:
        return EXIT_SUBJECT
    if found & DIFFERENCES or (strict and UNSUPPORTED in found):
        return EXIT_DIFFER
    return EXIT_AGREE
