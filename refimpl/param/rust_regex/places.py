"""Which places a pattern asks for, how often at one position, and between which neighbours they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import Final

from . import unicode_data
from .char_set import ASCII_CLASSES, EMPTY
from .tree import Capture, Chars, Choice, Look, Node, Place, Repeat, Sequence

#: One neighbour of each kind that places tell apart; the empty one is an end of the text.
NEIGHBOURS: Final = ("", "\n", "\r", "a", "é", "-")


def places(node: Node) -> set[Place]:
    """The places that `node` asks for."""
    match node:
        case Chars() | Repeat(_, _, 0):
            return set()
        case Look(place):
            return {place}
        case Sequence(items) | Choice(items):
            return set().union(*map(places, items))
        case Repeat(item) | Capture(item):
            return places(item)


def longest_run(node: Node) -> int:
    """How many places a way through `node` may have to ask for before it takes a character."""
    runs = _runs(node)
    longest = _most(runs.through, runs.first, runs.last, runs.inside)
    assert longest is not None  # every node has a way through
    return longest


@dataclass(frozen=True, slots=True)
class _Runs:
    """Numbers of places asked for in a row; None where no way through is of that kind.

    `through` is of a way that takes no character, `first` before the first character of a way, `last` after
    its last one, `inside` between two.
    """

    through: int | None
    first: int | None
    last: int | None
    inside: int | None = None

    def then(self, other: _Runs) -> _Runs:
        """The runs of one node followed by another."""
        through = _plus(self.through, other.through)
        first = _most(self.first, _plus(self.through, other.first))
        last = _most(other.last, _plus(self.last, other.through))
        between = _plus(self.last, other.first)
        return _Runs(through, first, last, _most(self.inside, between, other.inside))

    def repeated(self, least: int) -> _Runs:
        """The runs of a node repeated: what takes no character is repeated only as often as it must be."""
        empty = least * (self.through or 0)
        through = 0 if not least else None if self.through is None else empty
        first, last = _plus(self.first, empty), _plus(self.last, empty)
        return _Runs(through, first, last, _most(self.inside, _plus(last, self.first)))


def _runs(node: Node) -> _Runs:
    match node:
        case Chars():
            return _Runs(None, 0, 0)
        case Look():
            return _Runs(1, None, None)
        case Sequence(items):
            return reduce(_Runs.then, map(_runs, items), _Runs(0, None, None))
        case Choice(items):
            branches = [_runs(item) for item in items]
            return _Runs(
                _most(*(branch.through for branch in branches)),
                _most(*(branch.first for branch in branches)),
                _most(*(branch.last for branch in branches)),
                _most(*(branch.inside for branch in branches)),
            )
        case Repeat(item, least):
            return _runs(item).repeated(least)
        case Capture(item):
            return _runs(item)


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _most(*runs: int | None) -> int | None:
    return max((run for run in runs if run is not None), default=None)


def holds(place: Place, before: str, after: str) -> bool:
    """Whether `place` holds between two characters; one is empty at an end of the text."""
    return _HOLDS[place](before, after)


@lru_cache(maxsize=4096)
def like(char: str) -> str:
    """The one of `NEIGHBOURS` that is as good as `char`, or as an end, to every place."""
    if char in ("", "\n", "\r"):
        return char
    if _in_ascii_word(char):
        return "a"
    return "é" if _in_class("W", char) else "-"


def _in_class(name: str, char: str) -> bool:
    return bool(char) and ord(char) in (unicode_data.named(name) or EMPTY)


def _in_ascii_word(char: str) -> bool:
    return bool(char) and ord(char) in ASCII_CLASSES["word"]


def _word_places(prefix: str, is_word: Callable[[str], bool]) -> dict[Place, Callable[[str, str], bool]]:
    return {
        Place[f"{prefix}WORD"]: lambda before, after: is_word(before) != is_word(after),
        Place[f"{prefix}NOT_WORD"]: lambda before, after: is_word(before) == is_word(after),
        Place[f"{prefix}WORD_START"]: lambda before, after: not is_word(before) and is_word(after),
        Place[f"{prefix}WORD_END"]: lambda before, after: is_word(before) and not is_word(after),
        Place[f"{prefix}WORD_START_HALF"]: lambda before, _: not is_word(before),
        Place[f"{prefix}WORD_END_HALF"]: lambda _, after: not is_word(after),
    }


#: Whether a place holds between two characters, or at an end, where one is missing.
_HOLDS: Final[dict[Place, Callable[[str, str], bool]]] = {
    Place.START: lambda before, _: not before,
    Place.END: lambda _, after: not after,
    Place.LINE_START: lambda before, _: before in ("", "\n"),
    Place.LINE_END: lambda _, after: after in ("", "\n"),
    Place.CRLF_START: lambda before, after: before in ("", "\n") or (before == "\r" and after != "\n"),
    Place.CRLF_END: lambda before, after: after in ("", "\r") or (after == "\n" and before != "\r"),
    **_word_places("", partial(_in_class, "W")),
    **_word_places("ASCII_", _in_ascii_word),
}
