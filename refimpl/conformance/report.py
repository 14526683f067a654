"""What a run showed: counts a chapter, coverage of the clauses, and each failure with what repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .case import Case
from .clauses import FAMILIES, Clause
from .result import Event, Finding, Result
from .verdict import CASE_FAULTS, PASS, SKIP, SUBJECT_FAULTS, UNSUPPORTED, exit_code

#: How a case counts, the better first: that of its variants which is the worst.
_COUNTS = ("agree", "skipped", "known", "unsupported", "differ", "faults")


def _count(result: Result) -> str:
    """How a result counts: what was not asked, or differs as is known, agrees with nothing."""
    if result.verdict == PASS:
        return "agree"
    if result.verdict == SKIP:
        return "skipped"
    if result.expected:
        return "known"
    if result.verdict == UNSUPPORTED:
        return "unsupported"
    return "faults" if result.verdict in SUBJECT_FAULTS | CASE_FAULTS else "differ"


class Row(msgspec.Struct):
    """The counts of one chapter; the variants of a case count once."""

    chapter: str
    clauses: int = 0
    covered: int = 0
    cases: int = 0
    variants: int = 0
    agree: int = 0
    skipped: int = 0
    known: int = 0
    differ: int = 0
    unsupported: int = 0
    faults: int = 0


class Report:
    """Collects the results of one run. Memory stays flat: only what failed is kept."""

    def __init__(
        self,
        subject: str,
        clauses: Mapping[str, Clause],
        excused: Mapping[str, str],
        *,
        strict: bool,
    ) -> None:
        self.subject = subject
        self.clauses = clauses
        self.excused = excused
        #: Whether `unsupported` counts as a difference.
        self.strict = strict
        self.failures: list[Result] = []
        self.findings: list[Finding] = []
        self.variants = 0
        #: The exit code of a run that was interrupted.
        self.interrupted = 0
        self._worst: dict[str, int] = {}
        self._variants: dict[str, int] = {}
        self._named: set[str] = set()

    def add(self, result: Event) -> None:
        """Count one event of the run."""
        if isinstance(result, Finding):
            self.findings.append(result)
        if not isinstance(result, Result):
            return
        case = result.case
        rank = _COUNTS.index(_count(result))
        self._worst[case.id] = max(rank, self._worst.get(case.id, 0))
        self._variants[case.id] = self._variants.get(case.id, 0) + 1
        self._named.update(case.clauses)
        self.variants += 1
        if rank > _COUNTS.index("known"):
            self.failures.append(result)

    def rows(self) -> list[Row]:
        """One row a chapter that has cases or was asked for, in the order of the families."""
        rows = {family: Row(family) for family in FAMILIES}
        for clause in self.clauses.values():
            rows[clause.family].clauses += 1
            rows[clause.family].covered += clause.id in self._named or clause.id in self.excused
        for case_id, rank in self._worst.items():
            chapter = case_id.partition(".")[0].upper()
            row = rows.setdefault(chapter, Row(chapter))
            row.cases += 1
            row.variants += self._variants[case_id]
            setattr(row, _COUNTS[rank], getattr(row, _COUNTS[rank]) + 1)
        return [row for row in rows.values() if row.cases]

    def total(self) -> Row:
        """The sum of the rows."""
        total = Row("total")
        for row in self.rows():
            for name in ("clauses", "covered", "cases", "variants", *_COUNTS):
                setattr(total, name, getattr(total, name) + getattr(row, name))
        return total

    def uncovered(self) -> list[str]:
        """The clauses of the chapters that were run which no case asks and no reason excuses."""
        run = {row.chapter for row in self.rows()}
        return [
            clause.id
            for clause in self.clauses.values()
            if clause.family in run and clause.id not in self._named and clause.id not in self.excused
        ]

    def exit_code(self) -> int:
        """0 as expected, 1 differences, 2 the subject is broken, 3 cases are; or interrupted."""
        if self.interrupted:
            return self.interrupted
        verdicts = [failure.verdict for failure in self.failures] + [found.verdict for found in self.findings]
        return exit_code(verdicts, strict=self.strict)

    def repeat(self, failure: Result) -> str:
        """The command that asks the failed variant again."""
        return repeat(self.subject, failure.label)

    def sentences(self, case: Case) -> list[str]:
        """The clauses of a case, each with its first sentence."""
        known = (self.clauses.get(name) for name in case.clauses)
        return [f"{clause.id}: {clause.sentence}" for clause in known if clause is not None]

    def as_json(self) -> dict[str, Any]:
        """The whole report as plain values."""
        return {
            "subject": self.subject,
            "exit_code": self.exit_code(),
            "interrupted": bool(self.interrupted),
            "chapters": [msgspec.to_builtins(row) for row in self.rows()],
            "total": msgspec.to_builtins(self.total()),
            "uncovered": self.uncovered(),
            "failures": [self._failure(failure) for failure in self.failures],
            "findings": [msgspec.to_builtins(finding) for finding in self.findings],
        }

    def _failure(self, failure: Result) -> dict[str, Any]:
        difference = msgspec.to_builtins(failure.difference) if failure.difference is not None else None
        return {
            "case": failure.label,
            "verdict": failure.verdict,
            "clauses": list(failure.case.clauses),
            "step": failure.step,
            "difference": difference,
            "message": failure.message,
            "why": failure.case.why,
            "repeat": self.repeat(failure),
        }


def repeat(subject: str, label: str) -> str:
    """The command that asks a subject one variant again."""
    named = "" if subject == "refimpl" else f" --subject {shlex.quote(subject)}"
    return f"refimpl conform{named} --case {shlex.quote(label)}"


def unknown_clauses(cases: Iterable[Case], clauses: Mapping[str, Clause]) -> list[tuple[Case, str]]:
    """The clauses that a case names and no chapter has."""
    return [(case, name) for case in cases for name in case.clauses if name not in clauses]
