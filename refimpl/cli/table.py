"""The report of a run as a table, with each failure below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..conformance.printable import plain
from ..conformance.report import Report, Row
from ..conformance.result import Result
from ..conformance.verdict import GOOD, UNSUPPORTED
from .terminal import console

#: More failures than this are counted, not shown.
SHOWN = 20

_HEADINGS = ("chapter", "clauses", "cases", "agree", "differ", "unsupported")
#: Columns that stand there only when they have something to say, with the counts in them.
_SELDOM = {"known": "known", "not asked": "skipped", "broken": "faults"}


def print_report(report: Report, *, whole: bool) -> None:
    """Print the table, the failures and, when chapters were run `whole`, the clauses that no case asks."""
    out = console()
    total = report.total()
    seldom = {heading: name for heading, name in _SELDOM.items() if getattr(total, name)}
    table = Table(*_HEADINGS, *seldom, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in report.rows():
        table.add_row(*_cells(row, seldom.values()), style="red" if row.differ or row.faults else "")
    table.add_section()
    table.add_row(*_cells(total, seldom.values()), style="bold")
    out.print(table)
    failures, lacking = report.failures, Counter[str]()
    if not report.strict:
        failures = [failure for failure in failures if failure.verdict != UNSUPPORTED]
        lacking.update(failure.message for failure in report.failures if failure.verdict == UNSUPPORTED)
    for failure in failures[:SHOWN]:
        _print_failure(out, report, failure)
    if len(failures) > SHOWN:
        out.print(f"\n... and {len(failures) - SHOWN} more (`--json` has them all)")
    if lacking:
        out.print("\nunsupported (`--json` has the cases):")
    for message, count in lacking.most_common(SHOWN):
        out.print(Text(plain(f"  {message}: {count} variants")))
    if len(lacking) > SHOWN:
        out.print(f"  ... and {len(lacking) - SHOWN} more reasons")
    for finding in report.findings:
        style = "" if finding.verdict in GOOD else "bold red"
        out.print(Text(plain(f"\n{finding.verdict}: {finding.message}"), style=style))
        for label in finding.cases:
            out.print(Text(plain(f"  {label}")))
    uncovered = report.uncovered()
    if whole and uncovered:
        out.print(f"\nno case asks: {', '.join(uncovered)}")
    out.print(
        f"\n{report.subject}: {total.cases} cases ({total.variants} variants), {_verdict(report, total)}"
    )


def _cells(row: Row, seldom: Iterable[str]) -> list[str]:
    clauses = f"{row.covered}/{row.clauses}" if row.clauses else ""
    numbers = (row.cases, row.agree, row.differ, row.unsupported, *(getattr(row, name) for name in seldom))
    return [row.chapter, clauses, *map(str, numbers)]


def _verdict(report: Report, total: Row) -> str:
    words = ("agree", "differences", "the subject is broken", "cases are broken")
    if report.interrupted:
        return "interrupted: there are more that were not asked"
    if report.exit_code():
        return words[report.exit_code()]
    said = ["no difference in what it supports" if total.unsupported else "no difference"]
    if total.known:
        said = [f"no difference but {total.known} known"]
        said += ["in what it supports"] * bool(total.unsupported)
    return " ".join(said) + (f", {total.skipped} not asked" if total.skipped else "")


def _print_failure(out: Console, report: Report, failure: Result) -> None:
    where = "" if failure.step is None else f", step {failure.step}"
    out.print()
    out.print(Text(plain(f"{failure.verdict}: {failure.label}{where}"), style="bold red"))
    for sentence in report.sentences(failure.case):
        out.print(Text(plain(f"  {sentence}")))
    for detail in (failure.difference, failure.message):
        if detail:
            out.print(Text(plain(f"  {detail}"), style="yellow"))
    out.print(Text(plain(f"  catches: {failure.case.why}")))
    out.print(Text(plain(f"  again:   {report.repeat(failure)}")))
