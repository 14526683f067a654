"""How Rust writes values as text: the `Debug` and `Display` forms that Burn's messages are made of."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import Final

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


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


def debug_strs(texts: Iterable[str]) -> str:
    """A list of texts as Rust's Debug writes it.

    >>> print(debug_strs(["a", "b"]))
    ["a", "b"]
    """
    return "[" + ", ".join(map(debug_str, texts)) + "]"


def debug_float(value: float) -> str:
    """An f64 as Rust's Debug writes it: shortest digits, an exponent past 1e16 and below 1e-4.

    >>> debug_float(1.0), debug_float(1e16), debug_float(1e-7)
    ('1.0', '1e16', '1e-7')

    Clauses: DSP-14.
    """
    if not math.isfinite(value):
        return display_float(value)
    digits, _, exponent = repr(float(value)).partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def display_float(value: float) -> str:
    """An f64 as Rust's Display writes it: shortest digits, never an exponent, no `.0`.

    >>> display_float(1.0), display_float(1e-7), display_float(-0.0)
    ('1', '0.0000001', '-0')

    Clauses: DSP-14.
    """
    digits = repr(float(value))
    if math.isinf(value):
        return digits
    from decimal import Decimal  # seldom needed, and slow to import

    return format(Decimal(digits), "f").removesuffix(".0")


def debug_bool(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def debug_shape(shape: tuple[int, ...]) -> str:
    """A shape as Rust's Debug writes it.

    >>> debug_shape((2, 3))
    'Shape { dims: [2, 3] }'
    """
    return f"Shape {{ dims: {list(shape)} }}"


def _escaped(char: str) -> str:
    named = _ESCAPES.get(char)
    if named is not None:
        return named
    if char.isprintable() and unicodedata.category(char) not in ("Mn", "Me"):
        return char
    return f"\\u{{{ord(char):x}}}"
