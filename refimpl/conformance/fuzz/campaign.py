"""One run of the fuzzer: small scopes, then drawn traces, then what was found made small and verified."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ...errors import SubjectError
from ..case import Case, Step
from ..subject import Subject
from ..variants import bare
from .comparison import FAULTS, MAX_KILLS, Comparison, Disagreement, Trace, name_of
from .finding import Finding, case_of, verify, write
from .minimise import minimise
from .placements import divisions, placements
from .relations import instances
from .traces import files, traces
from .trees import trees

#: Traces that Hypothesis draws before the clock is looked at and a new round begins.
ROUND = 200
#: How long the traces of one finding may be made smaller.
SHRINK_SECONDS = 20.0
#: The share of the time, or of the examples, that goes to the small scopes.
SMALL_SHARE = 0.3
SCOPES = ("small", "traces", "bytes", "relations")


class Budget:
    """How long a campaign may go on: so many seconds, or so many traces."""

    def __init__(self, seconds: float | None, examples: int | None) -> None:
        self.started = time.monotonic()
        self.seconds, self.examples = seconds, examples

    def spent(self, done: int, share: float = 1.0) -> bool:
        """Whether that share of it is used up."""
        if self.examples is not None and done >= self.examples * share:
            return True
        return self.seconds is not None and time.monotonic() - self.started >= self.seconds * share


class _SpentError(Exception):
    """The budget is used up in the middle of a round."""


class Campaign:
    """A subject under random questions; `findings` is right at any moment, so it may be interrupted."""

    def __init__(
        self,
        name: str,
        reference: Subject,
        subject: Subject,
        budget: Budget,
        number: int,
        *,
        progress: Callable[[Campaign], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.comparison = Comparison(reference, subject, self._found)
        self.budget = budget
        self.number = number
        self.progress = progress
        self.done = 0
        self.questions = 0
        self._last = budget.started
        self.operations: Counter[str] = Counter()
        self.findings: dict[str, Finding] = {}

    @property
    def rate(self) -> float:
        """Questions a second, from the start to the last one."""
        return self.questions / max(self._last - self.budget.started, 1e-9)

    def run(self, scopes: tuple[str, ...]) -> None:
        """The scopes in turn; the first is also the cheapest, and finds the smallest failures."""
        if "relations" in scopes:
            self.relations(1.0 if len(scopes) == 1 else 0.1)
        if "small" in scopes:
            self.small(1.0 if set(scopes) <= {"small", "relations"} else SMALL_SHARE)
        if "traces" in scopes or "bytes" in scopes:
            self.drawn(traces() if "traces" in scopes else None, files() if "bytes" in scopes else None)
        self.comparison.settle()

    def small(self, share: float) -> None:
        """Placements, trees and divisions by memory by turns, each in the order of size."""
        sources: list[Iterator[Trace]] = [placements(), trees(), divisions()]
        while sources and not self.budget.spent(self.done, share):
            for source in tuple(sources):
                trace = next(source, None)
                if trace is None:
                    sources.remove(source)
                    continue
                self._ask(trace)

    def relations(self, share: float) -> None:
        """Relations, which the reference does not take part in."""
        for relation, trace in instances(self.number):
            if self.budget.spent(self.done, share):
                return
            self._count(trace)
            try:
                outcomes = self.comparison.subject.case("fuzz", trace.steps, 1)
            except SubjectError:
                found = self.comparison.ask(trace.steps)
            else:
                found = relation.judge(outcomes)
            if found is not None:
                self._found(trace, found)

    def drawn(self, *sources: st.SearchStrategy[Trace] | None) -> None:
        """Rounds of Hypothesis, each with a seed of its own, until the budget is used up."""
        strategy = st.one_of(*(source for source in sources if source is not None))
        number = self.number * 1_000_003
        while not self.budget.spent(self.done):
            number += 1

            @seed(number)
            @settings(
                max_examples=ROUND,
                database=None,
                deadline=None,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )
            @given(strategy)
            def round_of(trace: Trace) -> None:
                if self.budget.spent(self.done):
                    raise _SpentError
                self._ask(trace)

            try:
                round_of()
            except _SpentError:
                return

    def _count(self, trace: Trace) -> None:
        self.done += 1
        self.questions += trace.questions
        self._last = time.monotonic()
        self.operations.update(map(name_of, trace.steps))
        self.progress(self)

    def _ask(self, trace: Trace) -> None:
        self._count(trace)
        if self.comparison.subject.greeting.caps.lacks(trace.requires) is None:
            self.comparison.put(trace)

    def _found(self, trace: Trace, found: Disagreement) -> None:
        """Keep the smallest trace of each kind."""
        known = self.findings.get(found.kind)
        if known is None or len(str(trace.steps)) < len(str(known.trace.steps)):
            self.findings[found.kind] = Finding(trace, found)

    def settle(self, folder: Path | None) -> list[Finding]:
        """Each finding made small, verified twice in fresh processes and, where it came again, written."""
        for kind, finding in self.findings.items():
            if kind.startswith("relation: "):
                finding.verified = 0
                continue
            fails = self._fails_as(kind, steady=self.comparison.steady(finding.trace.steps))
            small = minimise(finding.trace.steps, fails, seconds=SHRINK_SECONDS)
            again = self.comparison.ask(small)
            if again is not None and again.kind == kind:
                finding.trace = Trace(small, finding.trace.clauses, finding.trace.requires)
                finding.disagreement = again
            finding.verified = verify(self.name, finding)
            if folder is not None and finding.verified:
                finding.file = str(write(self._case(finding), folder))
        return list(self.findings.values())

    def _fails_as(self, kind: str, *, steady: bool) -> Callable[[tuple[Step, ...]], bool]:
        """Whether a trace shows that kind; if the first one draws nothing at random, no smaller one may."""
        limit = self.comparison.kills + MAX_KILLS

        def fails(steps: tuple[Step, ...]) -> bool:
            if kind in FAULTS and self.comparison.kills >= limit:
                return False
            found = self.comparison.ask(steps)
            if found is None or found.kind != kind:
                return False
            return not steady or self.comparison.steady(steps)

        return fails

    def _case(self, finding: Finding) -> Case:
        subject = self.comparison.subject
        outcomes = None
        if finding.disagreement.kind not in FAULTS:
            outcomes = subject.case("fuzz", bare(finding.trace.steps), 1)
        return case_of(finding, subject.greeting, outcomes)
