"""The event log of a run, and the reports made from it when the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..conformance.event_log import EventLog, writing
from ..conformance.events import read_log
from .report import write_forms


@contextmanager
def recorded(events: Path | None, forms: Mapping[str, Path | None]) -> Iterator[EventLog | None]:
    """A log that goes to `events`, or to a file that is gone afterwards; None when nobody wants one.

    Reports of an earlier run are gone from the start.
    """
    if events is None and not any(forms.values()):
        yield None
        return
    for form in forms.values():
        if form is not None and form.is_file():
            form.unlink()  # what an earlier run said is not to be taken for this one, should it fail
    with TemporaryDirectory(prefix="refimpl-") as folder:
        path = Path(folder) / "events.jsonl" if events is None else events
        with writing(path) as log:
            yield log
        write_forms(read_log(path), **forms)
