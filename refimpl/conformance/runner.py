"""One run: every case put to a subject, every outcome judged."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from ..errors import SubjectError
from .case import Case
from .claims import Claims
from .matcher import Difference, compare
from .outcome import Outcome
from .process import FrameLimitError, SubjectCrashError, SubjectTimeoutError
from .protocol import Caps
from .result import Event, Restart, Result
from .subject import Subject
from .suspicion import LOOKS, second_look
from .variants import Variant, variants
from .verdict import (
    ADAPTER_FAULT,
    CRASH,
    FAIL,
    OVERCLAIM,
    PASS,
    SET_ASIDE,
    SKIP,
    SUBJECT_FAULTS,
    TIMEOUT,
    UNRECORDED,
    UNSUPPORTED,
)

#: After so many restarts what the case needs is set aside, not the run.
MAX_RESTARTS = 10
#: After so many without one answer between them the rest is set aside.
MAX_IN_A_ROW = 3 * MAX_RESTARTS
#: So many of the cases before a failure are asked again when it is looked at a second time.
_HISTORY = 32


class _Asked:
    """A variant on its way: not asked at all when it has a result already."""

    __slots__ = ("probe", "result", "variant")

    def __init__(self, variant: Variant, result: Result | None, probe: str | None) -> None:
        self.variant = variant
        self.result = result
        self.probe = probe


def run(
    subject: Subject,
    cases: Iterable[Case],
    skip: Callable[[Variant], str | None] = lambda _: None,
    *,
    whole: bool = True,
    wanted: Callable[[Variant], bool] = lambda _: True,
) -> Iterator[Event]:
    """The events of a run: one result a variant, in the order of the cases; findings at the end.

    A subject that crashes, hangs or answers nonsense is started again; what has cost `MAX_RESTARTS` is set
    aside, and the run goes on. So many requests are under way at once as the subject says it takes.

    Args:
        subject: Who is asked.
        cases: What is asked, in this order.
        skip: Gives the reason why a variant is not asked, or None.
        whole: Whether these are all cases, so that what the subject claims can be judged.
        wanted: Whether a variant belongs to the run.
    """
    asked = (variant for case in cases for variant in variants(case) if wanted(variant))
    return Runner(subject, skip, whole=whole).events(asked)


class Runner:
    """Asks a subject and judges; what it has seen so far (restarts, claims, the last cases) it keeps."""

    def __init__(
        self, subject: Subject, skip: Callable[[Variant], str | None], *, whole: bool = False
    ) -> None:
        self.subject = subject
        self.skip = skip
        self.whole = whole
        self.claims = Claims(subject.greeting.caps)
        self.restarts: Counter[tuple[str, ...]] = Counter()
        self.restarted = 0
        #: Faults since the last answer: a subject that answers nothing is not asked for ever.
        self.in_a_row = 0
        self.gone = ""
        self.looks = 0
        self.waiting: deque[_Asked] = deque()
        self.history: deque[Variant] = deque(maxlen=_HISTORY)

    def events(self, source: Iterator[Variant]) -> Iterator[Event]:
        """One result a variant, in this order, and a restart before the result that made it necessary."""
        more = True
        while True:
            # Half of the window at a time, so that one write carries several requests.
            room = self.subject.in_flight if len(self.waiting) <= self.subject.in_flight // 2 else 0
            while more and len(self.waiting) < room:
                variant = next(source, None)
                if variant is None:
                    more = False
                    break
                asked = self._prepare(variant)
                self.waiting.append(asked)
                if asked.result is None:
                    self._send(asked)
            if not self.waiting:
                break
            yield from self._finish(self.waiting.popleft())
        if self.whole:
            yield from self.claims.findings()

    def _prepare(self, variant: Variant) -> _Asked:
        """What can be said of a variant without asking."""
        case, label = variant.case, variant.label
        reason = self.skip(variant)
        if reason is not None:
            return _Asked(variant, Result(case, label, SKIP, message=reason, expected=reason), None)
        if variant.expect is None:
            return _Asked(variant, Result(case, label, UNRECORDED, message=_unrecorded(case)), None)
        aside = self._set_aside(case)
        if aside:
            return _Asked(variant, Result(case, label, SET_ASIDE, message=aside), None)
        lacking = self.claims.caps.lacks(case.requires)
        if lacking is None:
            return _Asked(variant, None, None)
        probe = self.claims.probe(case) if self.whole else None
        result = Result(case, label, UNSUPPORTED, message=f"does not claim {lacking!r}")
        return _Asked(variant, None if probe is not None else result, probe)

    def _set_aside(self, case: Case) -> str:
        if self.gone:
            return self.gone
        if self.in_a_row >= MAX_IN_A_ROW:
            return f"{MAX_IN_A_ROW} restarts, and no answer between them"
        if self.restarts[_need(case)] >= MAX_RESTARTS:
            return f"{MAX_RESTARTS} restarts in {' '.join(_need(case))}"
        return ""

    def _send(self, asked: _Asked) -> None:
        variant = asked.variant
        self.subject.send(variant.label, variant.steps, variant.case.cost)

    def _finish(self, asked: _Asked) -> Iterator[Event]:
        result = asked.result
        if result is None:
            aside = self._set_aside(asked.variant.case)
            if aside:
                result = Result(asked.variant.case, asked.variant.label, SET_ASIDE, message=aside)
        if result is not None:
            yield result
            return
        result = receive(self.subject, asked.variant, self.claims.caps)
        # A fault in one step is an answer all the same: the process goes on.
        fault = result.verdict in SUBJECT_FAULTS and result.step is None
        if fault and asked.probe is None:
            self.restarts[_need(result.case)] += 1
            self.in_a_row += 1
        if not fault:
            self.in_a_row = 0
        if asked.probe is not None:
            self.claims.probed(asked.probe, result)
            message = f"does not claim {asked.probe!r}"
            told = Result(result.case, result.label, UNSUPPORTED, message=message, seconds=result.seconds)
        elif result.verdict == FAIL and self.looks < LOOKS:
            self.looks += 1
            told = second_look(self.subject, asked.variant, result, self.history, ask)
            fault = True
        else:
            told = result
        self.history.append(asked.variant)
        if fault:
            yield from self._restart(told)
        if asked.probe is None:
            self.claims.answered(told)
        yield told

    def _restart(self, result: Result) -> Iterator[Event]:
        """A new process, which is sent again what the old one had not answered.

        A failure that was looked at a second time has left a process that has just been started.
        """
        self.history.clear()
        if result.verdict != FAIL:
            try:
                self.subject.restart()
            except SubjectError as error:
                self.gone = f"the subject does not start again: {error}"
                return
        if result.verdict in SUBJECT_FAULTS:
            self.restarted += 1
            yield Restart(self.restarted, result.label, f"{result.verdict}: {result.message}")
        for asked in self.waiting:
            if asked.result is None and not self._set_aside(asked.variant.case):
                self._send(asked)


def _unrecorded(case: Case) -> str:
    """Why nothing is expected, and what to write."""
    if case.expect:
        return (
            "`expect` counts for nothing while `provenance.source` is missing or `none`: where it was worked"
            ' out by hand, write `"provenance": {"source": "hand"}`'
        )
    return (
        "no expected outcome: run `make record`, which asks real Burn, or write `expect` by hand, and"
        ' `"provenance": {"source": "hand"}`'
    )


def _need(case: Case) -> tuple[str, ...]:
    """What is set aside together: a chapter, and what its case requires."""
    return (case.chapter, *case.requires)


def ask(subject: Subject, variant: Variant) -> Result:
    """Put one variant to the subject and judge the answer."""
    subject.send(variant.label, variant.steps, variant.case.cost)
    return receive(subject, variant, subject.greeting.caps)


def receive(subject: Subject, variant: Variant, caps: Caps) -> Result:
    """Wait for the answer to the oldest request, which was `variant`, and judge it."""
    case, label = variant.case, variant.label
    started = time.monotonic()
    try:
        outcomes = subject.receive()
    except SubjectError as error:
        verdict, message = ADAPTER_FAULT, str(error)
        if isinstance(error, FrameLimitError):
            verdict = UNSUPPORTED
        elif isinstance(error, SubjectTimeoutError):
            verdict = TIMEOUT
        elif isinstance(error, SubjectCrashError):
            verdict = CRASH
            tail = subject.stderr()[-400:].strip()
            message += f": {tail}" if tail else ""
        return Result(case, label, verdict, message=message, seconds=time.monotonic() - started)
    return judge(variant, outcomes, caps, time.monotonic() - started)


def judge(variant: Variant, outcomes: tuple[Outcome, ...], caps: Caps, seconds: float = 0.0) -> Result:
    """The verdict on a case's outcomes: the first step that is not as expected decides.

    A difference also says where later steps differ, so that a list of known differences hides none of them.
    `Protocol` is never a verdict on the rules: the case has been answered by others, so the adapter is wrong.
    """
    case, label, expect = variant.case, variant.label, variant.expect or ()
    differ: list[tuple[int, Difference]] = []
    for index, (wanted, got, match) in enumerate(zip(expect, outcomes, variant.matches, strict=True)):
        if not differ and got.error is not msgspec.UNSET and got.error.kind == "Protocol":
            message = f"Protocol: {got.error.text}"
            return Result(case, label, ADAPTER_FAULT, index, message=message, seconds=seconds)
        if not differ and got.unsupported is not msgspec.UNSET and wanted.unsupported is msgspec.UNSET:
            word = got.unsupported.capability
            verdict = OVERCLAIM if caps.lacks((word,)) is None else UNSUPPORTED
            message = f"{word}: {got.unsupported.text}"
            return Result(case, label, verdict, index, message=message, seconds=seconds)
        found = compare(wanted, got, match, case.text)
        if found is not None:
            differ.append((index, found))
    if not differ:
        return Result(case, label, PASS, seconds=seconds)
    (step, first), *others = differ
    later = ", ".join(f"step {index}: {found.where}" for index, found in others)
    difference = msgspec.structs.replace(first, later=later)
    return Result(case, label, FAIL, step, difference, seconds=seconds)
