"""`refimpl conform`: the cases, a subject, and the clause table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..conformance.case import Case, load_cases, selected
from ..conformance.clauses import TRUTHS, load_clauses, not_applicable
from ..conformance.report import Report, unknown_clauses
from ..conformance.runner import run
from ..conformance.subject import FORMS, open_subject
from ..errors import CaseError
from .table import print_report
from .terminal import console, write_json

#: Subjects of this project: to them, a step they do not support is a difference.
OURS = ("refimpl", "burn")


@click.command("conform")
@click.option("--subject", default="refimpl", show_default=True, help=f"Who is asked: {FORMS}.")
@click.option("--chapter", "chapters", multiple=True, metavar="C", help="Only this chapter, `PLC` say.")
@click.option("--case", "ids", multiple=True, metavar="ID", help="Only this case, or the ids that begin so.")
@click.option("--truth", "truths", multiple=True, type=click.Choice(TRUTHS), help="Only cases of this truth.")
@click.option(
    "--cases",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Other case files.",
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def command(
    subject: str,
    chapters: tuple[str, ...],
    ids: tuple[str, ...],
    truths: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> int:
    """Run the cases against a subject and print the clause table.

    Without options the reference itself is on trial, against the answers recorded from real Burn. Real Burn
    (`burn`) is asked the cases whose truth is `contract` or `pinned`; the others are this project's own.
    """
    clauses = load_clauses()
    kinds = truths or (TRUTHS[:2] if subject == "burn" else TRUTHS)
    asked = _choose(load_cases(folder), chapters, ids, kinds)
    for case, name in unknown_clauses(asked, clauses):
        raise CaseError(f"case {case.id} names {name}, which no chapter has")
    in_question = {name: clause for name, clause in clauses.items() if clause.truth in kinds}
    report = Report(subject, in_question, not_applicable(), strict=subject in OURS)
    with open_subject(subject) as opened, _progress(asked) as counted:
        for result in run(opened, counted):
            report.add(result)
    if as_json:
        write_json(report.as_json())
    else:
        print_report(report, whole=not ids)
    return report.exit_code()


def _choose(
    cases: list[Case], chapters: tuple[str, ...], ids: tuple[str, ...], truths: tuple[str, ...]
) -> list[Case]:
    for chapter in chapters:
        if not any(case.chapter == chapter.lower() for case in cases):
            raise click.UsageError(f"there is no case of chapter {chapter!r}")
    for prefix in ids:
        if not any(selected(case.id, prefix) for case in cases):
            raise click.UsageError(f"there is no case {prefix!r}")
    wanted = {chapter.lower() for chapter in chapters}
    return [
        case
        for case in cases
        if case.truth in truths
        and (not wanted or case.chapter in wanted)
        and (not ids or any(selected(case.id, prefix) for prefix in ids))
    ]


@contextmanager
def _progress(cases: list[Case]) -> Iterator[Iterator[Case]]:
    """The cases one by one, with a bar on standard error when that is a terminal."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield iter(cases)
        return
    from rich.progress import Progress

    with Progress(console=terminal, transient=True) as bar:
        yield iter(bar.track(cases, description="cases"))
