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


def _may_take_none(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Sequence(items):
            return all(map(_may_take_none, items))
        case Choice(items):
            return any(map(_may_take_none, items))
        case Repeat(item, least):
            return least == 0 or _may_take_none(item)
        case Capture(item):
            return _may_take_none(item)


def size(node: Node) -> int:
    """About how many bytes Rust's compiled program takes: what its size limit counts.

    Exact but for sets past ASCII, which are estimated, and for branches of a choice that begin alike and are
    no words: Rust reads their beginning once.
    """
    return 224 + _size(node)


def _size(node: Node) -> int:
    match node:
        case Chars(chars):
            word = _word(node)
            if word is not None:
                return 32 * len(word)
            return 64 + sum(
                8 if high < 128 else 960 if high - low > 0xFFFF else 68 for low, high in chars.ranges
            )
        case Look():
            return 32
        case Sequence(items):
            return sum(map(_size, items))
        case Choice(items):
            sets = [item.chars for item in items if isinstance(item, Chars)]
            if len(sets) == len(items):  # Rust makes one set of them
                return _size(Chars(CharSet.of(each for chars in sets for each in chars.ranges)))
            words = [word for word in map(_word, items) if word]
            if len(words) == len(items):
                return max(_trie_size(words), _trie_size([word[::-1] for word in words]))
            return 64 + sum(4 + (_size(item) or 32) for item in items)
        case Repeat(_, _, 0):
            return 0
        case Repeat(item, least, most):
            one = _size(item)
            if most is None:
                return one * least + 40 if least else one + (112 if _may_take_none(item) else 40)
            if least == most:
                return one * least
            if most == 1:
                return one + 72
            return one * least + (one + 40) * (most - least) + (32 if least else 64)
        case Capture(item):
            return 64 + (_size(item) or 32)


def _word(node: Node) -> bytes | None:
    """The text that alone matches `node`, if it is written so."""
    match node:
        case Chars(CharSet(((low, high),))) if low == high:
            return chr(low).encode()
        case Sequence(items):
            words = [word for word in map(_word, items) if word is not None]
            return b"".join(words) if len(words) == len(items) else None
    return None


def _trie_size(words: list[bytes]) -> int:
    """The size of a choice of words, of which Rust makes a tree of their bytes: one for each direction."""
    following: dict[bytes, set[int]] = {}
    for word in words:
        for at, byte in enumerate(word):
            following.setdefault(word[:at], set()).add(byte)
    states = (64 + (8 * len(after) if len(after) > 1 else 0) for after in following.values())
    return 32 + sum(states) + 4 * (len(following) + sum(word in following for word in set(words)))
