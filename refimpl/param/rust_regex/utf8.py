"""The characters of a set as the sequences of bytes that UTF-8 writes for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from .char_set import AFTER_SURROGATES, BEFORE_SURROGATES, CharSet, Range

#: The last characters that need one byte, two and three, and the last one before the surrogates.
_LAST_OF_A_LENGTH: Final = (0x7F, 0x7FF, BEFORE_SURROGATES, 0xFFFF)
#: Which characters each byte after the first tells apart, from the last byte on.
_MASKS: Final = (0x3F, 0xFFF, 0x3FFFF)

#: One range of bytes for each byte of a character.
ByteRanges: TypeAlias = tuple[Range, ...]
#: The first and the last byte of a way on, and the number of the node it leads to: none at the end.
Way: TypeAlias = tuple[int, int, int | None]


@lru_cache(maxsize=64)
def sequences(chars: CharSet) -> tuple[ByteRanges, ...]:
    """The fewest sequences that each take whole ranges of bytes, in ascending order."""
    return tuple(each for low, high in chars.ranges for each in _sequences(low, high))


def _sequences(low: int, high: int) -> Iterator[ByteRanges]:
    cut = next((last for last in _LAST_OF_A_LENGTH if low <= last < high), None)
    if cut is None and high > _LAST_OF_A_LENGTH[0]:
        cut = next((at for mask in _MASKS if (at := _uneven(low, high, mask)) is not None), None)
    if cut is None:
        yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))
    else:
        yield from _sequences(low, cut)
        yield from _sequences(AFTER_SURROGATES if cut == BEFORE_SURROGATES else cut + 1, high)


def _uneven(low: int, high: int, mask: int) -> int | None:
    """Where to cut a range that begins or ends within what the bytes of `mask` tell apart."""
    if low | mask == high | mask:
        return None
    if low & mask:
        return low | mask
    return (high & ~mask) - 1 if high & mask != mask else None


@lru_cache(maxsize=64)
def nodes(chars: CharSet) -> tuple[tuple[Way, ...], ...]:
    """The sequences as a tree, each node after those that it leads to; the last one is the root."""
    made: list[tuple[Way, ...]] = []
    _grow(sequences(chars), made)
    return tuple(made)


def _grow(rests: Sequence[ByteRanges], made: list[tuple[Way, ...]]) -> int | None:
    """Add the node of what may follow, and answer its number: none where nothing follows."""
    if not rests[0]:
        return None
    ways = [
        (low, high, _grow([each[1:] for each in group], made))
        for (low, high), group in groupby(rests, itemgetter(0))
    ]
    made.append(tuple(ways))
    return len(made) - 1
