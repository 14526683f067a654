"""Writing the event log of a run, entry by entry: what is written stays if the run dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from ..errors import InvalidArgumentError, ResourceError
from .events import Ended, Entry, Found, Judged, Restarted, Started
from .protocol import Implementation
from .report import Report
from .result import Event, Finding, Restart, Result

_encoder = msgspec.json.Encoder()
#: What each log begins with.
_START = b'{"event":"start",'


class EventLog:
    """Writes the events of one run to an open file, a line each; what is written stays if the run dies."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._began = time.perf_counter()

    def start(self, subject: str, impl: Implementation) -> None:
        """The run begins now."""
        self._began = time.perf_counter()
        self._write(Started(subject, impl, time=time.time()))

    def add(self, event: Event, report: Report) -> None:
        """What the runner says next."""
        match event:
            case Result():
                self._write(_judged(event, report))
            case Restart():
                self._write(Restarted(event.number, event.label, event.why))
            case Finding():
                self._write(Found(event.verdict, event.about, event.message, event.cases))

    def end(self, exit_code: int) -> None:
        """The run is over."""
        self._write(Ended(exit_code, round(time.perf_counter() - self._began, 3)))

    def close(self) -> None:
        """Close the file, now that all is in it."""
        with _naming(self._path):
            self._file.close()

    def _write(self, entry: Entry) -> None:
        with _naming(self._path):
            self._file.write(_encoder.encode(entry) + b"\n")
            self._file.flush()


def _judged(result: Result, report: Report) -> Judged:
    case = result.case
    judged = Judged(
        case=case.id,
        label=result.label,
        clauses=case.clauses,
        truth=case.truth,
        level=case.level,
        verdict=result.verdict,
        why=case.why,
        step=result.step,
        difference=result.difference,
        message=result.message,
        seconds=round(result.seconds, 6),
        expected=result.expected,
    )
    return judged if judged.quiet else msgspec.structs.replace(judged, repeat=report.repeat(result))


@contextmanager
def writing(path: Path) -> Iterator[EventLog]:
    """A log in a new file at `path`, closed at the end, however that comes.

    Raises:
        InvalidArgumentError: There is a file already, and it is no event log: somebody may need it.
        ResourceError: The file cannot be written.
    """
    with _naming(path):
        if path.is_file() and not _is_log(path):
            raise InvalidArgumentError(
                f"'{path}' is there already, and is no event log: it is not overwritten",
                hint="name another file, or remove this one",
            )
        file = _opened(path)
    log = EventLog(file, path)
    try:
        yield log
    except BaseException:
        with suppress(OSError):  # what is wrong is known already
            file.close()
        raise
    log.close()


def _opened(path: Path) -> IO[bytes]:
    """The file, empty; standard output stays where it is, or the table would be written over the log."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(1)):
            return os.fdopen(os.dup(1), "wb")
    return path.open("wb")


def _is_log(path: Path) -> bool:
    """Whether a file is empty, or begins as a log does."""
    with path.open("rb") as file:
        start = file.read(len(_START))
    return not start or start == _START


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResourceError(f"cannot write the event log '{path}': {error.strerror}") from error
