"""`refimpl report`: event logs as a table, JUnit XML, Markdown, JSON or one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ..conformance.clauses import load_clauses, not_applicable
from ..conformance.events import Run, read_logs
from ..conformance.printable import plain
from ..conformance.reports.junit import junit
from ..conformance.reports.page import html
from ..conformance.reports.summary import markdown, summary
from ..errors import ResourceError
from .apart import refuse_shared
from .terminal import console, write_json

_FILE = click.Path(path_type=Path, dir_okay=False)

#: The forms that a report can be written in: option, and what it says in the help.
FORMS = {
    "html": "One page that needs no network.",
    "junit": "JUnit XML.",
    "markdown": "Markdown, with each failure.",
}


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each form."""
    for name, words in reversed(FORMS.items()):
        command = click.option(f"--{name}", type=_FILE, metavar="FILE", help=f"Write this file: {words}")(
            command
        )
    return command


@click.command("report")
@click.argument("events", nargs=-1, required=True, type=_FILE, metavar="EVENTS...")
@form_options
@click.option("--json", "as_json", is_flag=True, help="Counts, clauses and failures as JSON.")
def command(
    events: tuple[Path, ...], html: Path | None, junit: Path | None, markdown: Path | None, as_json: bool
) -> int:
    """Make reports from event logs, which `refimpl conform --events FILE` writes; one column a run."""
    if Path("-") in events:
        raise click.UsageError("EVENTS are files, and `-` is none: /dev/stdin is one")
    refuse_shared({"--html": html, "--junit": junit, "--markdown": markdown}, {"EVENTS": events})
    runs = read_logs(events)
    write_forms(runs, html=html, junit=junit, markdown=markdown)
    if as_json:
        write_json(summary(runs))
    elif not (html or junit or markdown):
        _print(runs)
    return max((run.end.exit_code if run.end is not None else 2) for run in runs)


def write_forms(
    runs: Sequence[Run], *, html: Path | None = None, junit: Path | None = None, markdown: Path | None = None
) -> None:
    """Write each form that has a file.

    Raises:
        ResourceError: A file cannot be written.
    """
    makers: list[tuple[Path | None, Callable[[], str]]] = [
        (html, lambda: _html(runs)),
        (junit, lambda: _junit(runs)),
        (markdown, lambda: _markdown(runs)),
    ]
    for path, make in makers:
        if path is None:
            continue
        try:
            # A lone surrogate in what a stranger wrote is no reason to lose the report.
            path.write_bytes(make().encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise ResourceError(f"cannot write '{path}': {error.strerror}") from error


def _html(runs: Sequence[Run]) -> str:
    return html(runs, load_clauses(), not_applicable())


def _junit(runs: Sequence[Run]) -> str:
    return junit(runs)


def _markdown(runs: Sequence[Run]) -> str:
    return markdown(runs, load_clauses())


def _print(runs: Sequence[Run]) -> None:
    out = console()
    for made in summary(runs)["runs"]:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in made["counts"].items())
        ended = "" if made["exit_code"] is not None else "; the run did not end"
        out.print(plain(f"{made['impl']['name']} ({made['subject']}): {counts}{ended}"), soft_wrap=True)
