"""Sets of Unicode scalar values as sorted ranges."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

Range: TypeAlias = tuple[int, int]

TOP: Final = 0x10FFFF
#: The characters beside those that no text has.
BEFORE_SURROGATES: Final = 0xD7FF
AFTER_SURROGATES: Final = 0xE000


@dataclass(frozen=True)
class CharSet:
    """Ranges in ascending order that neither overlap nor touch; a surrogate within one matches nothing."""

    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> CharSet:
        """The union of `ranges`, in any order."""
        merged: list[Range] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    @cached_property
    def _lows(self) -> list[int]:
        return [low for low, _ in self.ranges]

    def __contains__(self, char: int) -> bool:
        index = bisect_left(self._lows, char + 1) - 1
        return index >= 0 and char <= self.ranges[index][1]

    def negated(self) -> CharSet:
        """What Rust takes for the opposite of the set.

        Between U+D7FF and U+E000, where one range ends and the next begins, there is nothing to take; Rust
        takes these two characters, as the ends of a range that is turned round.
        """
        gaps = [_scalars(gap) for gap in self.complement().ranges]
        return CharSet(tuple((min(gap), max(gap)) for gap in gaps))

    def complement(self) -> CharSet:
        """Every number that is not in the set, the surrogates too."""
        gaps = []
        next_free = 0
        for low, high in self.ranges:
            if low > next_free:
                gaps.append((next_free, low - 1))
            next_free = high + 1
        if next_free <= TOP:
            gaps.append((next_free, TOP))
        return CharSet(tuple(gaps))

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of(self.ranges + other.ranges)

    def __and__(self, other: CharSet) -> CharSet:
        return (self.complement() | other.complement()).complement()

    def __sub__(self, other: CharSet) -> CharSet:
        left = [_scalars(each) for each in (self & other.complement()).ranges]
        return CharSet(tuple((low, high) for low, high in left if low <= high))

    def __xor__(self, other: CharSet) -> CharSet:
        return (self | other) - (self & other)


def _scalars(ends: Range) -> Range:
    """The ends of a range without surrogates at either; in the wrong order where there is nothing else."""
    low, high = (BEFORE_SURROGATES < end < AFTER_SURROGATES for end in ends)
    return AFTER_SURROGATES if low else ends[0], BEFORE_SURROGATES if high else ends[1]


EMPTY: Final = CharSet(())
ASCII_CLASSES: Final = {
    "alnum": CharSet.of([(48, 57), (65, 90), (97, 122)]),
    "alpha": CharSet.of([(65, 90), (97, 122)]),
    "ascii": CharSet.of([(0, 127)]),
    "blank": CharSet.of([(9, 9), (32, 32)]),
    "cntrl": CharSet.of([(0, 31), (127, 127)]),
    "digit": CharSet.of([(48, 57)]),
    "graph": CharSet.of([(33, 126)]),
    "lower": CharSet.of([(97, 122)]),
    "print": CharSet.of([(32, 126)]),
    "punct": CharSet.of([(33, 47), (58, 64), (91, 96), (123, 126)]),
    "space": CharSet.of([(9, 13), (32, 32)]),
    "upper": CharSet.of([(65, 90)]),
    "word": CharSet.of([(48, 57), (65, 90), (95, 95), (97, 122)]),
    "xdigit": CharSet.of([(48, 57), (65, 70), (97, 102)]),
}


def fold_ascii(chars: CharSet) -> CharSet:
    """The set with the other case of its ASCII letters."""
    upper = [(low - 32, high - 32) for low, high in (chars & ASCII_CLASSES["lower"]).ranges]
    lower = [(low + 32, high + 32) for low, high in (chars & ASCII_CLASSES["upper"]).ranges]
    return CharSet.of([*chars.ranges, *upper, *lower])
