"""A pattern after reading: sets of characters, places, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from .char_set import CharSet


class Place(Enum):
    """A condition on a position of the text, looking at the characters beside it."""

    START = "start"
    END = "end"
    LINE_START = "line start"
    LINE_END = "line end"
    CRLF_START = "line start, \\r\\n being one end"
    CRLF_END = "line end, \\r\\n being one end"
    WORD = "word boundary"
    NOT_WORD = "no word boundary"
    WORD_START = "word start"
    WORD_END = "word end"
    WORD_START_HALF = "no word before"
    WORD_END_HALF = "no word after"
    ASCII_WORD = "ASCII word boundary"
    ASCII_NOT_WORD = "no ASCII word boundary"
    ASCII_WORD_START = "ASCII word start"
    ASCII_WORD_END = "ASCII word end"
    ASCII_WORD_START_HALF = "no ASCII word before"
    ASCII_WORD_END_HALF = "no ASCII word after"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set: of an empty set, nothing ever."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Look:
    """No character, where the place holds."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One node after the other: of none, the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the nodes."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A node, from `least` to `most` times; without an end for None. Greed changes no answer here."""

    item: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Capture:
    """A node whose match would be remembered: only the size of the program knows it."""

    item: Node


Node: TypeAlias = Chars | Look | Sequence | Choice | Repeat | Capture


def repeat(item: Node, least: int, most: int | None) -> Node:
    """`item` repeated; what takes no character is asked at most once, as Rust simplifies it."""
    if _takes_none(item):
        return Repeat(item, min(least, 1), min(1 if most is None else most, 1))
    return Repeat(item, least, most)


def _takes_none(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Sequence(items) | Choice(items):
            return all(map(_takes_none, items))
        case Repeat(item, _, most):
            return most == 0 or _takes_none(item)
        case Capture(item):
            return _takes_none(item)


def size(node: Node) -> int:
    """About how many bytes Rust's compiled program takes: what its size limit counts.

    Exact for literals, ASCII sets and repetitions of them; within a fifth for other sets and for choices,
    of whose beginnings and ends Rust shares what it can.
    """
    return 224 + _size(node)


def _size(node: Node) -> int:
    match node:
        case Chars(chars):
            ranges = chars.ranges
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                return 32 * len(chr(ranges[0][0]).encode("utf-8", "surrogatepass"))
            return 64 + sum(8 if high < 128 else 960 if high - low > 0xFFFF else 68 for low, high in ranges)
        case Look():
            return 32
        case Sequence(items):
            return sum(map(_size, items))
        case Choice(items):
            return 64 + sum(8 + _size(item) for item in items)
        case Repeat(item, least, most):
            if most is None:
                return _size(item) * least + 32 if least else _size(item) + 72
            return _size(item) * most + 40 * (most - least) + (32 if most > least else 0)
        case Capture(item):
            return 64 + _size(item)
