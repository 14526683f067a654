"""A tree as Rust simplifies it before it makes a program of it: what the size of the program hangs on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, TypeAlias

from .char_set import CharSet
from .tree import Capture, Chars, Choice, Look, Node, Place, Repeat, Sequence


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a part: `takes_some` is None where a set without characters leaves it open."""

    takes_some: bool | None = False
    takes_none: bool = False
    #: Whether every match begins at the start of the text, or ends at its end, for all that Rust sees.
    starts: bool = False
    ends: bool = False
    #: Whether a set past ASCII is in it.
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """Bytes in a row; never none."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """Parts one after the other, none of them a row, no two words side by side; of none, the empty text."""

    items: tuple[Part, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Branches:
    """Two or more parts to choose from, none of them a choice."""

    items: tuple[Part, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Times:
    """A part repeated; not just once, and not never."""

    item: Part
    least: int
    most: int | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Remembered:
    """A part whose match is remembered."""

    item: Part
    facts: Facts


Part: TypeAlias = Word | Chars | Look | Row | Branches | Times | Remembered

_PLAIN: Final = (Word, Chars, Look)
EMPTY_TEXT: Final = Row((), Facts(takes_none=True))


def facts_of(part: Part) -> Facts:
    """What is known of a part."""
    match part:
        case Word():
            return Facts(takes_some=True)
        case Chars(chars):
            ranges = chars.ranges
            return Facts(bool(ranges) or None, wide=bool(ranges) and ranges[-1][1] > 127)
        case Look(place):
            return Facts(takes_none=True, starts=place is Place.START, ends=place is Place.END)
        case _:
            return part.facts


def simplified(node: Node) -> Part:
    """The part that Rust makes of a node."""
    match node:
        case Chars(chars, of_bytes):
            return _one_of(chars, of_bytes)
        case Look():
            return node
        case Sequence(items):
            return _row(map(simplified, items))
        case Choice(items):
            return _branches([simplified(item) for item in items])
        case Repeat(item, least, most):
            return _times(simplified(item), least, most)
        case Capture(item):
            part = simplified(item)
            return Remembered(part, facts_of(part))


def _one_of(chars: CharSet, of_bytes: bool = False) -> Part:
    match chars.ranges:
        case ((low, high),) if low == high:
            return Word(chr(low).encode())
    return Chars(chars, of_bytes and bool(chars.ranges))


def _row(parts: Iterable[Part]) -> Part:
    items: list[Part] = []
    for part in parts:
        for item in part.items if isinstance(part, Row) else (part,):
            last = items[-1] if items else None
            if isinstance(item, Word) and isinstance(last, Word):
                items[-1] = Word(last.text + item.text)
            else:
                items.append(item)
    if len(items) == 1:
        return items[0]
    known = [facts_of(item) for item in items]
    some = [facts.takes_some for facts in known]
    facts = Facts(
        None if None in some else any(some),
        all(facts.takes_none for facts in known),
        any(facts.starts for facts in _outer(known)),
        any(facts.ends for facts in _outer(known[::-1])),
        any(facts.wide for facts in known),
    )
    return Row(tuple(items), facts)


def _outer(known: list[Facts]) -> list[Facts]:
    """The first facts, up to those of a part that may take characters."""
    inner = next((n for n, facts in enumerate(known, 1) if not facts.takes_none), None)
    return known[:inner]


def _times(item: Part, least: int, most: int | None) -> Part:
    known = facts_of(item)
    if most == 0:
        return EMPTY_TEXT
    if least == most == 1:
        return item
    facts = Facts(
        None if known.takes_some is None else known.takes_some and least > 0,
        known.takes_none,
        known.starts and least > 0,
        known.ends and least > 0,
        known.wide,
    )
    return Times(item, least, most, facts)


def _branches(parts: list[Part]) -> Part:
    items = [item for part in parts for item in (part.items if isinstance(part, Branches) else (part,))]
    merged = _merged(items)
    if merged is not None:
        return _one_of(merged)
    shared = _shared(items)
    if shared:
        rests = [_row(item.items[len(shared) :]) for item in items if isinstance(item, Row)]
        return _row([*shared, _branches(rests)])
    known = [facts_of(item) for item in items]
    some = [facts.takes_some for facts in known]
    facts = Facts(
        None if None in some else all(some),
        all(facts.takes_none for facts in known),
        all(facts.starts for facts in known),
        all(facts.ends for facts in known),
        any(facts.wide for facts in known),
    )
    return Branches(tuple(items), facts)


def _merged(items: list[Part]) -> CharSet | None:
    """The set that is as good as the branches, if each is one character, or each is a set of them."""
    chars = [item.text.decode() for item in items if isinstance(item, Word)]
    if len(chars) == len(items) and all(len(char) == 1 for char in chars):
        return CharSet.of((ord(char), ord(char)) for char in chars)
    sets = [item.chars for item in items if isinstance(item, Chars)]
    if len(sets) == len(items):
        return CharSet.of(each for chars in sets for each in chars.ranges)
    return None


def _shared(items: list[Part]) -> tuple[Part, ...]:
    """What all branches begin with, where all are rows: words, sets and places."""
    rows = [item.items if isinstance(item, Row) else () for item in items]
    columns = zip(*rows, strict=False)
    shared = takewhile(lambda column: isinstance(column[0], _PLAIN) and len(set(column)) == 1, columns)
    return tuple(column[0] for column in shared)


def all_words(items: tuple[Part, ...]) -> list[bytes] | None:
    """The branches as words, if all of them are."""
    words = [item.text for item in items if isinstance(item, Word)]
    return words if len(words) == len(items) else None
