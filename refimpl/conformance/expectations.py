"""The differences of a subject that are known, each with its reason: `spec/expectations/<subject>.toml`.

An entry is bound to cases by a pattern, to versions of the subject and to the signature of the difference.
A pattern that matches nothing, a difference that is gone and another difference than the one written down
are verdicts of their own, and entries for other versions are counted, so that such a file never says more
than is so.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ..errors import CaseError
from .clauses import spec_folder
from .result import Event, Finding, Result
from .variants import Variant
from .verdict import FLAKY, INERT, PASS, SKIP, STALE, SUBJECT_FAULTS, UNRECORDED, UNSUPPORTED, XFAIL
from .versions import ALL, within

Kind = Literal["xfail", "flaky", "skip"]


_REMEDY: Final = "remove the entry, or run with --update"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry: which cases, of which versions, and why."""

    #: The label of a case; `*` stands for any text.
    case: str
    reason: str
    #: Bounds such as `>=0.23.0-pre.1, <0.24`, or `*`; when empty, those at the top of the file.
    version: str = ""
    #: The signature of the difference, with `*` for any text; a `skip` has none.
    difference: str = ""


_WORD = re.compile(r"[a-z0-9_-]+", re.ASCII)
KINDS: tuple[Kind, ...] = ("xfail", "flaky", "skip")


class Expectations:
    """The entries for one version of a subject, and which of them have been used."""

    def __init__(self, entries: Iterable[tuple[Kind, int, Entry]], version: str) -> None:
        #: Each entry with its kind and its place among those of its kind in the file.
        self.entries: list[tuple[Kind, int, Entry]] = []
        self.version = version
        #: The ranges of the entries that say nothing of this version.
        self._others: Counter[str] = Counter()
        #: Entries whose pattern matched a case, and those that a case was judged by.
        self._met: set[int] = set()
        self._used: set[int] = set()
        for kind, place, entry in entries:
            if within(version, entry.version):
                self.entries.append((kind, place, entry))
            else:
                self._others[entry.version] += 1

    def skip(self, variant: Variant) -> str | None:
        """The reason why a variant is not asked, or None."""
        number = self._find(variant.label, (SKIP,))
        return None if number is None else self.entries[number][2].reason

    def judge(self, events: Iterable[Event], *, whole: bool = True) -> Iterator[Event]:
        """The events with each known difference explained.

        When `whole`, that is when every case was run, a `stale` follows for each entry that no case was
        judged by. One `inert` follows where there are entries for other versions.
        """
        for event in events:
            yield self._explained(event) if isinstance(event, Result) else event
        for number, (kind, _, entry) in enumerate(self.entries):
            if whole and number not in self._used:
                why = (
                    "explains nothing that others do not"
                    if number in self._met
                    else "matches no case that was run"
                )
                yield Finding(STALE, entry.case, f"the {kind} entry {entry.case!r} {why}: {_REMEDY}")
        if self._others:
            ranges = "; ".join(f"{count} for {bounds}" for bounds, count in self._others.items())
            message = f"entries explain nothing of version {self.version!r}: {ranges}"
            yield Finding(INERT, self.version, message)

    def _explained(self, result: Result) -> Result:
        if result.verdict in (SKIP, UNRECORDED):
            return result
        number = self._find(result.label, (XFAIL, FLAKY), result)
        if number is None:
            return result
        kind, _, entry = self.entries[number]
        known = result.verdict != PASS and explains(entry.difference, result)
        if kind == FLAKY and (known or result.verdict in (PASS, UNSUPPORTED)):
            return msgspec.structs.replace(result, expected=entry.reason)
        if known:
            return msgspec.structs.replace(result, verdict=XFAIL, expected=entry.reason)
        if result.verdict in (PASS, UNSUPPORTED):
            now = "passes" if result.verdict == PASS else "is not supported"
            message = f"{now}, but is expected to fail: {entry.difference}: {_REMEDY}"
            return msgspec.structs.replace(result, verdict=STALE, message=message)
        other = f"another difference than the one expected: {entry.difference}"
        if result.verdict in SUBJECT_FAULTS and matches(entry.difference, result.signature):
            other = f"an entry for this begins with the verdict, `{result.verdict}: `"
        message = f"{result.message} ({other})"
        return msgspec.structs.replace(result, message=message.strip())

    def _find(self, label: str, kinds: tuple[str, ...], result: Result | None = None) -> int | None:
        """The entry for a case: of several, one whose difference is this one."""
        found: int | None = None
        for number, (kind, _, entry) in enumerate(self.entries):
            if kind in kinds and matches(entry.case, label):
                self._met.add(number)
                if found is None or (result is not None and explains(entry.difference, result)):
                    found = number
        if found is not None:
            self._used.add(found)
        return found


def explains(difference: str, result: Result) -> bool:
    """Whether the difference that an entry names is that of a result.

    That the subject gave no answer at all is never what a `*` stands for: the entry names the verdict.
    """
    if result.verdict in SUBJECT_FAULTS and not difference.startswith(result.verdict):
        return False
    return matches(difference, result.signature)


def matches(pattern: str, text: str) -> bool:
    """Whether `text` is `pattern`, in which each `*` stands for any text; in linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def expectations_file(subject: str) -> Path | None:
    """The file that belongs to a subject of this project, if there is one."""
    if _WORD.fullmatch(subject) is None:
        return None
    path = spec_folder() / "expectations" / f"{subject}.toml"
    return path if path.is_file() else None


def read_entries(path: Path) -> list[tuple[Kind, int, Entry]]:
    """All entries of a file, each with its range of versions.

    Raises:
        CaseError: The file is none of expectations; names the file, the line and the field.
    """
    text, table = _parsed(path)
    common = table.pop("version", "")
    entries: list[tuple[Kind, int, Entry]] = []
    for kind, group in table.items():
        if kind not in KINDS or not isinstance(group, list):
            raise CaseError(
                f"{path}, field `{kind}`: a file has a `version`, and lists of `xfail`, `flaky` and `skip`"
            )
    for kind in KINDS:
        for place, fields in enumerate(table.get(kind, ())):
            try:
                entry = msgspec.convert(fields, Entry)
                entry = msgspec.structs.replace(entry, version=entry.version or common)
                _check(kind, entry)
            except (msgspec.ValidationError, ValueError) as error:
                message, _, field = str(error).partition(" - at `$")
                where = f"{path}, line {_line(text, kind, place)}, field `{kind}[{place}]{field.rstrip('`')}`"
                raise CaseError(f"{where}: {message}") from None
            entries.append((kind, place, entry))
    return entries


def common_range(path: Path) -> str:
    """The versions that the entries of a file hold for which name none themselves; empty when it says none.

    Raises:
        CaseError: The file is none of expectations.
    """
    return str(_parsed(path)[1].get("version", ""))


def _parsed(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a file, and what it says; the range at its top can be read."""
    try:
        text = path.read_text(encoding="utf-8")
        table: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CaseError(f"{path}: no TOML: {error}") from None
    common = table.get("version", ALL)
    try:
        if not isinstance(common, str):
            raise ValueError(f"a range of versions is a text, not {common!r}")
        within("0", common)
    except ValueError as error:
        raise CaseError(f"{path}, field `version`: {error}") from None
    return text, table


def _line(text: str, kind: str, place: int) -> int:
    """The line of an entry's heading."""
    headings = re.finditer(rf"^\s*\[\[\s*{kind}\s*\]\]", text, re.MULTILINE)
    starts = [heading.end() for heading in headings]
    return text.count("\n", 0, starts[place]) + 1 if place < len(starts) else 1


def _check(kind: Kind, entry: Entry) -> None:
    if not entry.reason.strip():
        raise ValueError("say why - at `$.reason`")
    if (kind == SKIP) == bool(entry.difference):
        words = "a skip has no difference" if kind == SKIP else f"a known {kind} names its difference, or `*`"
        raise ValueError(f"{words} - at `$.difference`")
    if not entry.version:
        raise ValueError(
            "say for which versions of the subject, here or at the top of the file: `>=1.2, <1.3`, or `*`"
            " - at `$.version`"
        )
    try:
        within("0", entry.version)
    except ValueError as error:
        raise ValueError(f"{error} - at `$.version`") from None


def read_expectations(path: Path, version: str) -> Expectations:
    """The entries of a file, as they hold for a version of the subject.

    Raises:
        CaseError: The file is broken.
    """
    return Expectations(read_entries(path), version)
