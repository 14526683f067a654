"""One run: every case put to a subject, every outcome judged."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from ..errors import SubjectError
from .case import Case, Outcome, Variant, variants
from .matcher import Difference, compare
from .process import SubjectCrashError, SubjectTimeoutError
from .subject import Subject

#: After so many restarts a chapter is set aside, not the run.
MAX_RESTARTS = 10

AGREE, DIFFER, UNSUPPORTED = "agree", "differ", "unsupported"
#: The subject did not answer; these are faults of the subject, not differences.
TIMEOUT, CRASH, BROKEN, SET_ASIDE = "timeout", "crash", "broken", "set aside"
#: The case has no recorded answer yet, or is no case at all (`Protocol`): our own fault.
UNRECORDED, BAD_CASE = "unrecorded", "bad case"

SUBJECT_FAULTS = frozenset((TIMEOUT, CRASH, BROKEN, SET_ASIDE))
CASE_FAULTS = frozenset((UNRECORDED, BAD_CASE))


class Result(msgspec.Struct, frozen=True):
    """What became of one variant of a case."""

    case: Case
    label: str
    verdict: str
    step: int | None = None
    difference: Difference | None = None
    message: str = ""


def run(subject: Subject, cases: Iterable[Case]) -> Iterator[Result]:
    """The results, in the order of the cases; one a variant.

    A subject that crashes, hangs or answers nonsense is started again; a chapter in which that happens
    `MAX_RESTARTS` times is set aside, and the run goes on.
    """
    restarts: Counter[str] = Counter()
    for case in cases:
        for variant in variants(case):
            if restarts[case.chapter] >= MAX_RESTARTS:
                yield Result(
                    case, variant.label, SET_ASIDE, message=f"{MAX_RESTARTS} restarts in this chapter"
                )
                continue
            result = ask(subject, variant)
            if result.verdict in SUBJECT_FAULTS:
                restarts[case.chapter] += 1
                subject.restart()
            yield result


def ask(subject: Subject, variant: Variant) -> Result:
    """Put one variant to the subject and judge the answer."""
    case = variant.case
    if variant.expect is None:
        return Result(case, variant.label, UNRECORDED, message="no expected outcome: run `make record`")
    lacking = subject.greeting.caps.lacks(case.requires)
    if lacking is not None:
        return Result(case, variant.label, UNSUPPORTED, message=f"does not claim {lacking!r}")
    started = time.monotonic()
    try:
        outcomes = subject.case(variant.label, variant.steps, case.cost)
    except SubjectTimeoutError as error:
        return Result(case, variant.label, TIMEOUT, message=str(error))
    except SubjectCrashError as error:
        tail = subject.stderr()[-400:].strip()
        return Result(case, variant.label, CRASH, message=f"{error}{': ' if tail else ''}{tail}")
    except SubjectError as error:
        seconds = time.monotonic() - started
        return Result(case, variant.label, BROKEN, message=f"{error} (after {seconds:.1f} s)")
    return judge(variant, outcomes)


def judge(variant: Variant, outcomes: tuple[Outcome, ...]) -> Result:
    """The verdict on a case's outcomes: the first step that is not as expected decides."""
    case, expect = variant.case, variant.expect or ()
    for index, (wanted, got, match) in enumerate(zip(expect, outcomes, variant.matches, strict=True)):
        if got.error is not msgspec.UNSET and got.error.kind == "Protocol":
            return Result(case, variant.label, BAD_CASE, index, message=got.error.text)
        if got.unsupported is not msgspec.UNSET and wanted.unsupported is msgspec.UNSET:
            message = f"{got.unsupported.capability}: {got.unsupported.text}"
            return Result(case, variant.label, UNSUPPORTED, index, message=message)
        found = compare(wanted, got, match, case.text)
        if found is not None:
            return Result(case, variant.label, DIFFER, index, found)
    return Result(case, variant.label, AGREE)
