"""The entries of an event log, one JSON object a line: the only source of every report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..errors import ResourceError
from .matcher import Difference
from .protocol import PROFILE, SUITE, Implementation
from .verdict import ALL

#: A log with a longer line was not written by us.
MAX_LINE = 16 * 1024 * 1024
#: Verdicts that ask nobody to look: the answer was as expected, or nothing was claimed.
QUIET = ("pass", "xfail", "skip", "unsupported")


class Started(msgspec.Struct, frozen=True, tag="start", tag_field="event"):
    """A run begins: who is asked, and against which suite."""

    subject: str
    impl: Implementation
    suite: str = SUITE
    profile: str = PROFILE
    #: Seconds since 1970.
    time: float = 0.0


class Judged(msgspec.Struct, frozen=True, tag="result", tag_field="event", omit_defaults=True):
    """What became of one variant of a case."""

    case: str
    label: str
    clauses: tuple[str, ...]
    truth: str
    level: str
    verdict: str
    why: str = ""
    step: int | None = None
    difference: Difference | None = None
    message: str = ""
    #: The command that asks it again.
    repeat: str = ""
    #: How long the answer took.
    seconds: float = 0.0
    #: The reason, where a list of expected differences covers it.
    expected: str = ""

    @property
    def quiet(self) -> bool:
        """Whether nobody needs to look: as the case expects, or as a list of differences says."""
        return self.verdict in QUIET or bool(self.expected)

    @property
    def said(self) -> str:
        """The difference, and what else there is to say."""
        return " ".join(str(one) for one in (self.difference, self.message) if one)


class Restarted(msgspec.Struct, frozen=True, tag="restart", tag_field="event"):
    """The subject was killed and started again."""

    number: int
    case: str
    why: str


class Found(msgspec.Struct, frozen=True, tag="finding", tag_field="event", omit_defaults=True):
    """Something about the whole run: a claim, or an expectation, that is wrong."""

    verdict: str
    about: str
    message: str = ""
    cases: tuple[str, ...] = ()


class Exchanged(msgspec.Struct, frozen=True, tag="exchange", tag_field="event", omit_defaults=True):
    """What one subject read of a file that another one wrote."""

    writer: str
    reader: str
    file: str
    verdict: str
    message: str = ""
    #: That of the file.
    format: str = "burnpack"


class Ended(msgspec.Struct, frozen=True, tag="end", tag_field="event"):
    """A run is over: a log without this line was cut off."""

    exit_code: int
    seconds: float = 0.0


Entry = Started | Judged | Restarted | Found | Exchanged | Ended

_decoder = msgspec.json.Decoder(Entry)


class Run(msgspec.Struct):
    """The events of one run."""

    start: Started
    results: list[Judged] = []
    exchanges: list[Exchanged] = []
    findings: list[Found] = []
    restarts: int = 0
    end: Ended | None = None

    @property
    def name(self) -> str:
        """The subject as columns and titles call it."""
        made = self.start.impl
        words = [made.name, made.version, f"({made.backend})" if made.backend else ""]
        return " ".join(word for word in words if word) or self.start.subject

    @property
    def failures(self) -> list[Judged]:
        """The results that somebody should look at."""
        return [result for result in self.results if not result.quiet]


def read_logs(paths: Iterable[Path]) -> list[Run]:
    """The runs of some logs, in the order of the files.

    Raises:
        ResourceError: A file cannot be read or holds no event log; names the line.
    """
    return [run for path in paths for run in read_log(path)]


def read_log(path: Path) -> list[Run]:
    """The runs of one log; a last line that was cut off is left out, as the run did not end."""
    runs: list[Run] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), start=1):
                if not line.endswith(b"\n"):
                    break
                _take(runs, _event(line, f"'{path}', line {number}"), f"'{path}', line {number}")
    except OSError as error:
        raise ResourceError(f"cannot read the event log '{path}': {error.strerror}") from error
    if not runs:
        raise ResourceError(f"'{path}' holds no run", hint="`refimpl conform --events FILE` writes one")
    return runs


def _event(line: bytes, where: str) -> Entry:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ResourceError(f"{where}: no event: {error}") from None


def _take(runs: list[Run], event: Entry, where: str) -> None:
    if isinstance(event, Started):
        runs.append(Run(event))
        return
    if not runs:
        raise ResourceError(f"{where}: an event before the start of a run")
    run = runs[-1]
    if isinstance(event, Judged | Found | Exchanged) and event.verdict not in ALL:
        raise ResourceError(f"{where}: there is no verdict {event.verdict!r}")
    match event:
        case Judged():
            run.results.append(event)
        case Exchanged():
            run.exchanges.append(event)
        case Found():
            run.findings.append(event)
        case Restarted():
            run.restarts += 1
        case Ended():
            run.end = event


def worst(verdicts: Sequence[str]) -> str:
    """The verdict that speaks for several: a fault before a difference before agreement."""
    return max(verdicts, key=_rank, default="")


def _rank(verdict: str) -> int:
    order = ("", "skip", "unsupported", "pass", "xfail", "flaky", "stale", "fail")
    return order.index(verdict) if verdict in order else len(order)
