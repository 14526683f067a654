"""The counts of each run, and the verdict on each clause: as JSON and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..clauses import FAMILIES, Clause
from ..events import QUIET, Judged, Run, worst
from ..printable import plain
from ..verdict import UNSUPPORTED

#: More failures than this are counted in Markdown, not shown.
SHOWN = 50


def by_clause(run: Run) -> dict[str, list[Judged]]:
    """The results under each clause that their case names."""
    found: dict[str, list[Judged]] = {}
    for result in run.results:
        for clause in result.clauses:
            found.setdefault(clause, []).append(result)
    return found


def by_chapter(run: Run) -> dict[str, Counter[str]]:
    """How often each verdict came in each chapter, the chapters in the order of the families."""
    known = {family: Counter[str]() for family in FAMILIES}
    for result in run.results:
        known.setdefault(result.case.partition(".")[0].upper(), Counter())[result.verdict] += 1
    return {chapter: counts for chapter, counts in known.items() if counts}


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """All runs as plain values: counts, the verdict of each clause, and what failed."""
    return {"runs": [_run(run) for run in runs]}


def _run(run: Run) -> dict[str, Any]:
    verdicts = {
        clause: worst([result.verdict for result in found]) for clause, found in by_clause(run).items()
    }
    return {
        "subject": run.start.subject,
        "impl": msgspec.to_builtins(run.start.impl),
        "exit_code": None if run.end is None else run.end.exit_code,
        "seconds": None if run.end is None else run.end.seconds,
        "counts": dict(Counter(result.verdict for result in run.results)),
        "chapters": {chapter: dict(counts) for chapter, counts in by_chapter(run).items()},
        "clauses": verdicts,
        "restarts": run.restarts,
        "findings": [msgspec.to_builtins(finding) for finding in run.findings],
        "failures": [msgspec.to_builtins(result) for result in run.failures],
    }


def markdown(runs: Sequence[Run], clauses: Mapping[str, Clause]) -> str:
    """A page for a pull request: a table a subject, and below it each failure with its sentence.

    Control characters are made visible: some people read such a page in a terminal.
    """
    return plain("\n".join(line for run in runs for line in _page(run, clauses))) + "\n"


def _page(run: Run, clauses: Mapping[str, Clause]) -> list[str]:
    chapters = by_chapter(run)
    names = sorted(
        {verdict for counts in chapters.values() for verdict in counts},
        key=lambda verdict: (verdict not in QUIET, verdict),
    )
    page = [f"## {_inert(run.name)}", ""]
    if run.end is None:
        page += ["This run did not end: the log stops in the middle.", ""]
    page += [f"| chapter | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    for chapter, counts in chapters.items():
        page.append(f"| {_inert(chapter)} | {' | '.join(str(counts[name] or '') for name in names)} |")
    for finding in run.findings:
        said = f"{finding.verdict}: {finding.about}: {finding.message}"
        page += ["", f"- {_inert(said)}"]
    failures = sorted(run.failures, key=lambda failure: failure.verdict == UNSUPPORTED)
    for failure in failures[:SHOWN]:
        page += _failure(failure, clauses)
    if len(failures) > SHOWN:
        page += ["", f"... and {len(failures) - SHOWN} more."]
    return [*page, ""]


def _failure(failure: Judged, clauses: Mapping[str, Clause]) -> list[str]:
    where = "" if failure.step is None else f", step {failure.step}"
    said = failure.said
    lines = ["", f"### {_inert(failure.verdict)}: {_inert(failure.label)}{where}", ""]
    sentences = {name: clauses[name].sentence for name in failure.clauses if name in clauses}
    lines += [f"> **{name}**: {_inert(sentence)}" for name, sentence in sentences.items()]
    fence = "`" * max(3, _longest_run(said + failure.repeat) + 1)
    return [*lines, "", fence, said, failure.repeat, fence]


def _inert(text: str) -> str:
    """Text of strangers in Markdown: nothing in it is markup, and it stays on its line."""
    safe = "".join(f"\\{sign}" if sign in "\\`*_[]<>|#!~&" else sign for sign in text)
    return " ".join(safe.split())


def _longest_run(text: str) -> int:
    longest = here = 0
    for sign in text:
        here = here + 1 if sign == "`" else 0
        longest = max(longest, here)
    return longest
