"""How Rust's `{:?}` writes text, as Burn's Debug and Display texts hold it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

_NAMED: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def debug_str(text: str) -> str:
    r"""`text` in quotes: controls, invisible characters and combining marks are escaped, `'` is not.

    >>> print(debug_str('hi "q"'))
    "hi \"q\""

    Clauses: DSP-14, GRP-14.
    """
    return f'"{"".join(map(_escaped, text))}"'


def debug_list(items: Iterable[object]) -> str:
    """The reprs of `items` as Rust writes a list of them."""
    return f"[{', '.join(map(repr, items))}]"


def _escaped(char: str) -> str:
    named = _NAMED.get(char)
    if named is not None:
        return named
    if char.isprintable() and unicodedata.category(char) not in ("Mn", "Me"):
        return char
    return f"\\u{{{ord(char):x}}}"
