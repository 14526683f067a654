"""`python -m tests.mutants [MODULE ...]`: mutants of the reference, judged by the cases alone.

A mutant is caught when a variant of a case that agrees with the reference no longer does. It is put to the
variants that run its line, to one of each case and then to more, until one notices or `--most` have not: the
score is a lower bound. `--cases` asks of each case whether it notices any mutant at all; one that does not
catches nothing. Leaves with 1 when less than 95 % are caught, or when `equivalent.toml` or `unasked.toml`
says more than is so.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from refimpl.conformance.subject import Subject, open_subject
from tests.mutants import scope
from tests.mutants.idle import noticing_nothing
from tests.mutants.mutate import functions_of, mutants_of
from tests.mutants.reach import Reach, agreeing
from tests.mutants.report import Report
from tests.mutants.trial import Trial, tried


def run(
    modules: Sequence[str], subject: Subject, reach: Reach, workers: int, most: int, console: Console
) -> Report:
    """Try every mutant of the modules that can be asked."""
    report = Report(list({id(v.case): v.case for v in reach.asked}.values()))
    listed = scope.equivalent()
    trials = _trials(modules, reach, most, report)
    reached = [trial for trial in trials if trial.asked]
    noticed: dict[str, int] = {}
    gc.collect()
    gc.freeze()  # so that the forked processes share what is there
    with _progress(console) as bar:
        task = bar.add_task("mutants", total=len(reached), caught=0)
        for place, number in tried(reached, subject, reach.asked, workers):
            if number is not None:
                noticed[reached[place].mutant.name] = number
            bar.update(task, advance=1, caught=len(noticed))
    for trial in trials:
        mutant = trial.mutant
        if mutant.name in noticed:
            by = reach.asked[noticed[mutant.name]]
            report.caught.append((mutant, by))
            if mutant.name in listed:
                report.faults.append(f"equivalent.toml: {mutant.name} is noticed by {by.label}")
        elif mutant.name in listed:
            report.excused.append(mutant)
        else:
            (report.survivors if trial.asked else report.unreached).append(mutant)
    known = {trial.mutant.name for trial in trials}
    report.faults += [
        f"equivalent.toml: there is no mutant {name}"
        for name in listed
        if name.partition(":")[0] in modules and name not in known
    ]
    return report


def _trials(modules: Iterable[str], reach: Reach, most: int, report: Report) -> list[Trial]:
    """A trial for each mutant of what is not set aside; what is set aside is checked and counted."""
    aside = scope.unasked()
    used: set[str] = set()
    trials: list[Trial] = []
    for module in modules:
        for place, function in functions_of(module):
            mutants = [Trial(m, reach.of(m.function, m.lines)[:most]) for m in mutants_of(place, function)]
            entry = scope.covering(place, aside)
            if entry is None:
                trials += mutants
                continue
            used.add(entry)
            report.aside[place] += len(mutants)
            by = next((trial.asked[0] for trial in mutants if trial.asked), None)
            if by is not None:
                report.faults.append(f"unasked.toml: {place} is run by {reach.asked[by].label}")
    if set(modules) == set(scope.modules()):
        report.faults += [f"unasked.toml: there is no function {name}" for name in aside if name not in used]
    return trials


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:.0f} a second")


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[caught]} caught"), _Speed(), TimeElapsedColumn(),
        console=console, transient=True,
    )  # fmt: skip


def _print(report: Report, console: Console) -> None:
    for word, mutants in (("survives", report.survivors), ("no case reaches", report.unreached)):
        for mutant in mutants:
            console.print(f"{word:17}{' '.join(mutant.name.split())[:240]}")
    for fault in report.faults:
        console.print(fault)
    for module, caught, survivors, unreached, excused in report.modules():
        console.print(
            f"{module:32}{caught:5} caught{survivors:5} survive{unreached:5} not reached{excused:5} excused"
        )
    if report.idle is not None:
        for case in report.idle:
            console.print(f"catches nothing: {case.id} ({', '.join(case.clauses)})")
        console.print(f"clauses that catch nothing: {', '.join(report.idle_clauses()) or 'none'}")
    first = ", ".join(f"{clause} {number}" for clause, number in report.by_clause().most_common(12))
    console.print(f"most by: {first}")
    console.print(report.summary())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and write the report that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules below refimpl, as param.matcher (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument(
        "--most", type=int, default=1500, help="variants that a mutant is put to (default: 1500)"
    )
    parser.add_argument(
        "--case", action="append", metavar="ID", help="only these cases judge, or those whose ids begin so"
    )
    parser.add_argument("--cases", action="store_true", help="find the cases that catch nothing: takes more")
    parser.add_argument("--report", type=Path, help="write all of it as Markdown to this file")
    options = parser.parse_args(arguments)
    known = scope.modules()
    unknown = [name for name in options.modules if name not in known]
    if unknown:
        parser.error(f"no module of the reference: {', '.join(unknown)}; they are called like {known[0]}")
    console = Console(highlight=False, markup=False, soft_wrap=True)
    started = time.monotonic()
    with open_subject("refimpl") as subject:
        asked = [variant for prefix in options.case or [""] for variant in agreeing(subject, prefix)]
        if not asked:
            parser.error(f"the reference agrees with no case of {', '.join(options.case or ['all'])}")
        reach = Reach(subject, asked)
        console.print(f"{len(reach.asked)} variants traced in {time.monotonic() - started:.0f} s")
        report = run(options.modules or known, subject, reach, options.workers, options.most, console)
        if options.cases:
            with _progress(console) as bar:
                task = bar.add_task("cases", total=len(report.cases), caught=0)
                report.idle = noticing_nothing(
                    report, subject, reach, options.workers, options.most,
                    lambda done: bar.update(task, completed=done, caught=done),
                )  # fmt: skip
    report.seconds = time.monotonic() - started
    _print(report, console)
    if options.report is not None:
        options.report.write_text(report.markdown(), encoding="utf-8")
    return 0 if report.passes else 1


if __name__ == "__main__":
    sys.exit(main())
