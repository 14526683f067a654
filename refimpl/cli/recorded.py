"""The event log of a run, and the reports made from it when the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..conformance.event_log import EventLog, writing
from ..conformance.events import read_log
from .report import write_forms


@contextmanager
def recorded(events: Path | None, forms: Mapping[str, Path | None]) -> Iterator[EventLog | None]:
    """A log that goes to `events`, or to a file that is gone afterwards; None when nobody wants one.

    Reports of an earlier run are gone from the start.

    Raises:
        UsageError: `events` is a pipe or a device, which nobody can read again to make a report from it.
    """
    reports = [form for form in forms.values() if form is not None]
    if events is None and not reports:
        yield None
        return
    if events is not None and reports and events.exists() and not events.is_file():
        raise click.UsageError(
            f"reports are made from the event log, and '{events}' cannot be read again: "
            "give --events a regular file, or leave it out"
        )
    with TemporaryDirectory(prefix="refimpl-") as folder:
        path = Path(folder) / "events.jsonl" if events is None else events
        with writing(path) as log:
            for form in reports:
                if form.is_file():
                    form.unlink()  # what an earlier run said is not to be taken for this one, should it fail
            yield log
        if reports:
            write_forms(read_log(path), **forms)
