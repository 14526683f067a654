"""What `(?imsxuUR-...)` switches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .cursor import Cursor
from .syntax import PatternSyntaxError, Span

_NAMES: Final = {
    "i": "case_insensitive",
    "m": "multi_line",
    "s": "dot_matches_new_line",
    "U": "swap_greed",
    "u": "unicode",
    "R": "crlf",
    "x": "ignore_whitespace",
}


@dataclass(frozen=True, slots=True)
class Flags:
    """How the rest of a group is read."""

    case_insensitive: bool = False
    multi_line: bool = False
    dot_matches_new_line: bool = False
    swap_greed: bool = False
    unicode: bool = True
    crlf: bool = False
    ignore_whitespace: bool = False


def read_flags(cursor: Cursor, before: Flags) -> tuple[Flags, bool]:
    """The flags at the cursor, up to `:` or `)`, over those of `before`; whether any stands there."""
    seen: dict[str, Span] = {}
    changes: dict[str, bool] = {}
    dangling: Span | None = None
    while cursor.char not in (":", ")"):
        char = cursor.char
        if char in seen:
            what = "flag negation operator repeated" if char == "-" else "duplicate flag"
            raise PatternSyntaxError(what, cursor.this, seen[char])
        if char == "-":
            dangling = cursor.this
        elif char in _NAMES:
            changes[_NAMES[char]] = "-" not in seen
            dangling = None
        else:
            raise PatternSyntaxError("unrecognized flag", cursor.this)
        seen[char] = cursor.this
        if not cursor.bump():
            raise PatternSyntaxError("expected flag but got end of regex", cursor.here)
    if dangling is not None:
        raise PatternSyntaxError("dangling flag negation operator", dangling)
    return replace(before, **changes), bool(seen)
