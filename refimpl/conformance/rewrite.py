"""An expectations file brought up to what a run has shown; what people wrote in it stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from ..errors import CaseError
from .expectations import KINDS, Entry, Kind, common_range, explains, matches, read_entries
from .result import Result
from .verdict import FLAKY, PASS, SET_ASIDE, SKIP, UNRECORDED, UNSUPPORTED, XFAIL
from .versions import ALL, readable, within

#: The reason of an entry that nobody has explained yet.
UNEXPLAINED = "not explained yet"

_HEADING = re.compile(rf"\s*\[\[\s*({'|'.join(KINDS)})\s*\]\]")
#: The value is a TOML text, in which a `#` begins no comment.
_DIFFERENCE = re.compile(
    r"""^(\s*difference\s*=\s*)(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\]|\\.)*"|'[^']*')""",
    re.MULTILINE | re.DOTALL,
)


def rewrite(path: Path, results: Iterable[Result], version: str, *, whole: bool = True) -> str:
    """The text of the file after a run: entries of no use are gone, what differs has an entry.

    An `xfail` whose cases now differ in another way is given the new difference; entries for other versions,
    comments and the order of what stays are kept. A new entry holds for the versions at the top of the file,
    or for this version alone where they are others; at the top of a new file stands this version.

    Args:
        path: The file; it need not be there.
        results: Of the whole run, as the runner gave them: not explained by the file.
        version: That of the subject.
        whole: Whether every case was run; else entries that matched none are kept.

    Raises:
        CaseError: The file is broken.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    entries = read_entries(path) if text else []
    asked = [result for result in results if result.verdict != UNRECORDED]
    explained: set[str] = set()
    blocks: list[str] = []
    head, parts = _parts(text)
    alone = f"=={version}" if readable(version) else ALL
    common = common_range(path) if text else alone
    if len(parts) != len(entries):
        raise CaseError(
            f"{path}: {len(entries)} entries under {len(parts)} headings: write `[[xfail]]` lists"
        )
    written = {(kind, place): entry for kind, place, entry in entries}
    for kind, place, block in parts:
        entry = written[kind, place]
        mine = [result for result in asked if matches(entry.case, result.label)]
        if not within(version, entry.version) or not (whole or mine):
            blocks.append(block)
            continue
        kept = _kept(kind, entry, mine)
        if kept is None:
            continue
        if kept != entry.difference:
            block = _with_difference(block, kept)
        blocks.append(block)
        explained.update(r.label for r in mine if kind == SKIP or explains(kept, r))
    for result in asked:
        if result.verdict not in (PASS, SKIP, SET_ASIDE, UNSUPPORTED) and result.label not in explained:
            block = _block(result, "" if common and within(version, common) else alone)
            blocks.append(("\n" if head or blocks else "") + block)
    if blocks and not text:
        head = f'version = "{alone}"\n\n'
    return head + "".join(blocks)


def _parts(text: str) -> tuple[str, list[tuple[Kind, int, str]]]:
    """What stands before the first entry; then each entry with the comment right above its heading."""
    lines = text.splitlines(keepends=True)
    starts: list[tuple[int, Kind]] = []
    for number, line in enumerate(lines):
        found = _HEADING.match(line)
        if found is not None:
            start = number
            while start > 0 and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            starts.append((start, next(kind for kind in KINDS if kind == found[1])))
    ends = [*(start for start, _ in starts), len(lines)][1:]
    counts = dict.fromkeys(KINDS, 0)
    parts: list[tuple[Kind, int, str]] = []
    for (start, kind), end in zip(starts, ends, strict=True):
        parts.append((kind, counts[kind], "".join(lines[start:end])))
        counts[kind] += 1
    return "".join(lines[: starts[0][0]] if starts else lines), parts


def _kept(kind: Kind, entry: Entry, mine: list[Result]) -> str | None:
    """The difference that an entry is to name; None when it is of no use any more."""
    if kind != XFAIL:
        return entry.difference if mine else None
    differing = [result for result in mine if result.verdict not in (PASS, SKIP, UNSUPPORTED)]
    if any(explains(entry.difference, result) for result in differing):
        return entry.difference
    signatures = {result.signature for result in differing}
    return signatures.pop() if len(signatures) == 1 else None


def _with_difference(block: str, difference: str) -> str:
    line = json.dumps(difference, ensure_ascii=False)
    return _DIFFERENCE.sub(lambda found: f"{found[1]}{line}", block, count=1)


def _block(result: Result, bounds: str) -> str:
    kind = FLAKY if result.verdict == FLAKY else XFAIL
    fields = {"case": result.label}
    if bounds:
        fields["version"] = bounds
    # How it differs by chance, a single run does not show.
    fields["difference"] = result.signature if kind == XFAIL else "*"
    fields["reason"] = UNEXPLAINED
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    return f"[[{kind}]]\n" + "".join(lines)
