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
    #: Whether it was written of bytes, as `(?-u:[a-c])`: only the size of the program knows it.
    of_bytes: bool = False


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
    #: Whether it never takes a character: known from the start, as repetitions stand in repetitions.
    takes_none: bool


@dataclass(frozen=True, slots=True)
class Capture:
    """A node whose match would be remembered: only the size of the program knows it."""

    item: Node


Node: TypeAlias = Chars | Look | Sequence | Choice | Repeat | Capture


def repeat(item: Node, least: int, most: int | None) -> Node:
    """`item` repeated; what takes no character is asked at most once, as Rust simplifies it."""
    if _takes_none(item):
        return Repeat(item, min(least, 1), 1 if most is None else min(most, 1), takes_none=True)
    return Repeat(item, least, most, takes_none=most == 0)


def _takes_none(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Sequence(items) | Choice(items):
            return all(map(_takes_none, items))
        case Repeat(takes_none=known):
            return known
        case Capture(item):
            return _takes_none(item)
