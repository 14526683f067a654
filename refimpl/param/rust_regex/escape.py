"""What follows a backslash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from .cursor import Cursor
from .syntax import ESCAPE_EOF, PatternSyntaxError, Span
from .tree import Place


@dataclass(frozen=True, slots=True)
class Literal:
    r"""One character; `is_byte` when it is written `\xNN`, which without Unicode means a byte."""

    char: str
    span: Span
    is_byte: bool = False


@dataclass(frozen=True, slots=True)
class PerlClass:
    r"""`\d`, `\s` or `\w`, as `D`, `S` or `W`; or what is not in it."""

    name: str
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class UnicodeClass:
    r"""`\p{name}`, or `\p{name=value}`; or what is not in it."""

    name: str
    value: str | None
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place; those of words are given with Unicode, and say so to the reader."""

    place: Place
    span: Span


Escape: TypeAlias = Literal | PerlClass | UnicodeClass | Assertion

_CONTROLS: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PLACES: Final = {
    "A": Place.START,
    "z": Place.END,
    "b": Place.WORD,
    "B": Place.NOT_WORD,
    "<": Place.WORD_START,
    ">": Place.WORD_END,
}
_WORD_PLACES: Final = {
    "start": Place.WORD_START,
    "end": Place.WORD_END,
    "start-half": Place.WORD_START_HALF,
    "end-half": Place.WORD_END_HALF,
}
_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def read_escape(cursor: Cursor) -> Escape:
    """The escape whose backslash stands at the cursor."""
    start = cursor.at
    if not cursor.bump():
        raise PatternSyntaxError(ESCAPE_EOF, (start, cursor.at))
    char = cursor.char
    if char.isascii() and char.isdigit():
        raise PatternSyntaxError("backreferences are not supported", (start, cursor.at + 1))
    if char in _DIGITS:
        return _hexadecimal(cursor, start)
    if char in ("p", "P"):
        return _unicode_class(cursor, start)
    cursor.bump()
    span = start, cursor.at
    if char in ("d", "s", "w", "D", "S", "W"):
        return PerlClass(char.upper(), char.isupper(), span)
    if char.isascii() and not char.isalnum() and char not in ("<", ">"):
        return Literal(char, span)
    if char in _CONTROLS:
        return Literal(_CONTROLS[char], span)
    if char == "b" and cursor.char == "{":
        place = _word_place(cursor, start)
        return Assertion(place or Place.WORD, (start, cursor.at) if place else span)
    if char in _PLACES:
        return Assertion(_PLACES[char], span)
    raise PatternSyntaxError("unrecognized escape sequence", span)


def _word_place(cursor: Cursor, start: int) -> Place | None:
    r"""The place of `\b{name}`; None where the brace begins a repetition."""
    brace = cursor.at
    if not cursor.bump_and_space():
        raise PatternSyntaxError(
            "found either the beginning of a special word boundary or a bounded repetition on a \\b with an "
            "opening brace, but no closing brace",
            (start, cursor.at),
        )
    contents = cursor.at
    name = ""
    while _names_place(cursor.char):
        name += cursor.char
        cursor.bump_and_space()
    if not name:
        cursor.at = brace
        return None
    if cursor.char != "}":
        raise PatternSyntaxError(
            "special word boundary assertion is either unclosed or contains an invalid character",
            (brace, cursor.at),
        )
    if name not in _WORD_PLACES:
        raise PatternSyntaxError(
            "unrecognized special word boundary assertion, valid choices are: start, end, start-half or "
            "end-half",
            (contents, cursor.at),
        )
    cursor.bump()
    return _WORD_PLACES[name]


def _names_place(char: str) -> bool:
    return char == "-" or (char.isascii() and char.isalpha())


def _hexadecimal(cursor: Cursor, start: int) -> Literal:
    r"""`\xNN`, `\uNNNN`, `\UNNNNNNNN`, or any number of digits in braces after `x`, `u` or `U`."""
    kind = cursor.char
    if not cursor.bump_and_space():
        raise PatternSyntaxError(ESCAPE_EOF, cursor.here)
    digits = ""
    first = cursor.at
    braces = cursor.char == "{"
    if braces:
        while cursor.bump_and_space() and cursor.char != "}":
            digits += _hex_digit(cursor)
        if cursor.ended:
            raise PatternSyntaxError(ESCAPE_EOF, (first, cursor.at))
        last = cursor.at
        cursor.bump_and_space()
        if not digits:
            raise PatternSyntaxError("hexadecimal literal empty", (first, cursor.at))
        first += 1
    else:
        for index in range(_DIGITS[kind]):
            if index and not cursor.bump_and_space():
                raise PatternSyntaxError(ESCAPE_EOF, cursor.here)
            digits += _hex_digit(cursor)
        cursor.bump_and_space()
        last = cursor.at
    number = int(digits, 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise PatternSyntaxError("hexadecimal literal is not a Unicode scalar value", (first, last))
    return Literal(chr(number), (start, cursor.at), is_byte=kind == "x" and not braces)


def _hex_digit(cursor: Cursor) -> str:
    if cursor.char not in _HEX:
        raise PatternSyntaxError("invalid hexadecimal digit", cursor.this)
    return cursor.char


def _unicode_class(cursor: Cursor, start: int) -> UnicodeClass:
    negated = cursor.char == "P"
    if not cursor.bump_and_space():
        raise PatternSyntaxError(ESCAPE_EOF, cursor.here)
    if cursor.char != "{":
        name = cursor.char
        if name == "\\":
            raise PatternSyntaxError("invalid Unicode character class", cursor.this)
        cursor.bump_and_space()
        return UnicodeClass(name, None, negated, (start, cursor.at))
    name = ""
    while cursor.bump_and_space() and cursor.char != "}":
        name += cursor.char
    if cursor.ended:
        raise PatternSyntaxError(ESCAPE_EOF, cursor.here)
    cursor.bump()
    span = start, cursor.at
    for separator in ("!=", ":", "="):
        if separator in name:
            prop, _, value = name.partition(separator)
            return UnicodeClass(prop, value, negated ^ (separator == "!="), span)
    return UnicodeClass(name, None, negated, span)
