"""One trace put to the reference and to a subject, and how the two answers differ."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from ...errors import SubjectError
from ..case import Step
from ..matcher import Difference, compare
from ..outcome import Outcome
from ..process import SubjectCrashError, SubjectTimeoutError
from ..subject import Subject
from ..variants import bare, match_of

#: More kills than this while one fault is made small are not worth the wait.
MAX_KILLS = 8

#: The reference itself has no answer: our own fault.
OURS = "the reference raised"
TIMEOUT, CRASH, NONSENSE = "timeout", "crash", "adapter fault"
FAULTS = (TIMEOUT, CRASH, NONSENSE)


class Trace(msgspec.Struct, frozen=True):
    """Steps, and the clauses that they are about."""

    steps: tuple[Step, ...]
    clauses: tuple[str, ...]
    #: What the subject must claim to be asked.
    requires: tuple[str, ...] = ()
    #: How many questions of its kind it asks: of small placements several travel together.
    questions: int = 1


class Disagreement(msgspec.Struct, frozen=True):
    """How a subject's answer to a trace is not the reference's."""

    #: What kind of fault it is: two of one kind are taken for one fault.
    kind: str
    step: int | None = None
    difference: Difference | None = None
    message: str = ""


class Comparison:
    """The reference and a subject, asked the same trace.

    `put` asks many of them: the reference answers while the subject is still at those before, and what is
    found is told when it is known. `ask` waits for one.
    """

    def __init__(
        self,
        reference: Subject,
        subject: Subject,
        tell: Callable[[Trace, Disagreement], None] = lambda *_: None,
    ) -> None:
        self.reference = reference
        self.subject = subject
        self.tell = tell
        #: Traces that only one of the two can take to the end.
        self.unasked = 0
        self.kills = 0
        self._waiting: deque[tuple[Trace, tuple[Outcome, ...]]] = deque()

    def put(self, trace: Trace) -> None:
        """Ask one more trace; some of those before may be told of now."""
        expected = self._expected(trace.steps)
        if isinstance(expected, Disagreement):
            self.tell(trace, expected)
            return
        self._waiting.append((trace, expected))
        self._send(trace.steps)
        if len(self._waiting) >= self.subject.in_flight:
            self.settle(self.subject.in_flight // 2)

    def settle(self, left: int = 0) -> None:
        """Wait for answers until so many traces are under way."""
        while len(self._waiting) > left:
            trace, expected = self._waiting.popleft()
            found = self._judged(trace.steps, expected)
            if found is not None and found.kind in FAULTS:
                # The new process knows nothing of what the old one had not answered.
                for waiting, _ in self._waiting:
                    self._send(waiting.steps)
            if found is not None:
                self.tell(trace, found)

    def ask(self, steps: Sequence[Step]) -> Disagreement | None:
        """The first step at which the two differ, or None; texts are not compared. Nothing is under way."""
        expected = self._expected(steps)
        if isinstance(expected, Disagreement):
            return expected
        self._send(steps)
        return self._judged(steps, expected)

    def steady(self, steps: Sequence[Step]) -> bool:
        """Whether the reference answers the same again: what is drawn at random proves nothing."""
        return self._expected(steps) == self._expected(steps)

    def _expected(self, steps: Sequence[Step]) -> tuple[Outcome, ...] | Disagreement:
        try:
            return self.reference.case("fuzz", bare(steps), 1)
        except SubjectError as error:
            return Disagreement(OURS, message=str(error))

    def _send(self, steps: Sequence[Step]) -> None:
        self.subject.send("fuzz", bare(steps), 1)

    def _judged(self, steps: Sequence[Step], expected: tuple[Outcome, ...]) -> Disagreement | None:
        try:
            got = self.subject.receive()
        except SubjectError as error:
            return self._fault(error)
        for index, (wanted, value) in enumerate(zip(expected, got, strict=True)):
            if stops(wanted) or stops(value):
                self.unasked += stops(wanted) is not stops(value)
                return None
            found = compare(wanted, value, match_of(steps[index]), text=False)
            if found is not None:
                kind = f"{name_of(steps[index])}: {form_of(wanted)}, not {form_of(value)}"
                return Disagreement(kind, index, found)
        return None

    def _fault(self, error: SubjectError) -> Disagreement:
        self.kills += 1
        message = f"{error} {self.subject.stderr()[-400:]}".strip()
        self.subject.restart()
        if isinstance(error, SubjectTimeoutError):
            return Disagreement(TIMEOUT, message=message)
        return Disagreement(CRASH if isinstance(error, SubjectCrashError) else NONSENSE, message=message)


def name_of(step: Step) -> str:
    """The name of a step or of an observation."""
    return str(step["do"]) if "do" in step else f"observe {step.get('observe')}"


def form_of(outcome: Outcome) -> str:
    """`ok`, or the kind of the error or panic."""
    for fault in (outcome.error, outcome.panic):
        if fault is not msgspec.UNSET:
            return fault.kind
    return "ok"


def stops(outcome: Outcome) -> bool:
    """Whether an outcome says that the trace cannot be compared further: it is wrong, or not supported."""
    if outcome.unsupported is not msgspec.UNSET:
        return True
    faults = (outcome.error, outcome.panic)
    return any(fault is not msgspec.UNSET and fault.kind in ("Protocol", "Capture") for fault in faults)
