"""A program as Rust makes it of a simplified pattern, as far as its size goes.

A program is a list of states of `STATE` bytes; a state with several ways on takes more for each. For a set
past ASCII, Rust looks for a state that it made before in a table in which a newer state drives out an older
one of the same hash. The hash is of the numbers of states, so how large the same set gets hangs on what
stands before it: such sets are counted by doing the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from itertools import repeat
from typing import Final, TypeAlias

from .char_set import CharSet
from .simplified import Branches, Part, Remembered, Row, Times, Word, all_words, facts_of
from .tree import Chars, Look
from .utf8 import Way, nodes, sequences
from .word_tree import tree_of

STATE: Final = 32
#: What a state takes for each way on: to any other state, or to another one with a range of bytes.
WAY: Final = 4
RANGE: Final = 8
#: The hash of the tables (FNV-1a of 64 bits), and how many states the one of each program holds.
_HASH_START: Final = 14695981039346656037
_HASH_FACTOR: Final = 1099511628211
_HASH_MASK: Final = (1 << 64) - 1
_FORWARD_TABLE: Final = 10_000
_REVERSE_TABLE: Final = 1_000

#: The states found by hash, each with what it was made of.
_Table: TypeAlias = dict[int, tuple[list[int], int]]


class Shared(Enum):
    """Which of the equal states of a set past ASCII are made once: Rust shares those that it finds."""

    ALL = "all: no program is smaller"
    NONE = "none: no program is larger"
    AS_FOUND = "those that the table still holds"


class Compiled:
    """A program as Rust makes it: how many states it has, and how many bytes they take."""

    def __init__(self, part: Part, is_reverse: bool, shared: Shared) -> None:
        self._is_reverse = is_reverse
        self._shared = shared
        self.states = self.bytes = 0
        known = facts_of(part)
        if known.ends if is_reverse else known.starts:
            self._add(1)
        else:  # whatever stands before: any bytes
            self._add(3, 2 * WAY + RANGE)
        self._remembered(part)
        self._add(1)

    def _add(self, states: int, more: int = 0) -> None:
        self.states += states
        self.bytes += STATE * states + more

    def _part(self, part: Part) -> None:
        match part:
            case Word(text):
                self._add(len(text))
            case Chars(chars):
                self._set(chars)
            case Look():
                self._add(1)
            case Row(()):
                self._add(1)
            case Row(items):
                for item in reversed(items) if self._is_reverse else items:
                    self._part(item)
            case Branches(items):
                self._branches(items)
            case Times(item, 0, 1):
                self._add(1, 2 * WAY)
                self._part(item)
                self._add(1)
            case Times(item, least, most) if most is not None:
                self._counted(item, least, most)
            case Times(item, least):
                self._endless(item, least)
            case Remembered(item):
                self._remembered(item)

    def _remembered(self, item: Part) -> None:
        if self._is_reverse:
            self._part(item)
        else:
            self._add(1)
            self._part(item)
            self._add(1)

    def _branches(self, items: tuple[Part, ...]) -> None:
        words = all_words(items)
        if words is not None:
            states, ways, bytes_on = tree_of([word[::-1] for word in words] if self._is_reverse else words)
            self._add(1 + states, WAY * ways + RANGE * bytes_on)
            return
        for item in items[:2]:
            self._part(item)
        self._add(2, WAY * len(items))
        for item in items[2:]:
            self._part(item)

    def _counted(self, item: Part, least: int, most: int) -> None:
        if not least:
            self._add(1)
        for _ in self._copies(item, least):
            self._part(item)
        if least < most:
            self._add(1)
        for _ in self._copies(item, most - least):
            self._add(1, 2 * WAY)
            self._part(item)

    def _endless(self, item: Part, least: int) -> None:
        takes_some = facts_of(item).takes_some
        if not least and takes_some:
            self._add(1, 2 * WAY)
        for _ in self._copies(item, max(least, 1)):
            self._part(item)
        if least:
            self._add(1, 2 * WAY)
        elif not takes_some:
            self._add(3, 4 * WAY)

    def _copies(self, item: Part, count: int) -> Iterator[None]:
        """Ask for each copy that has to be made; the others are as large as the first."""
        states, taken = self.states, self.bytes
        made = count if self._shared is Shared.AS_FOUND and facts_of(item).wide else min(count, 1)
        yield from repeat(None, made)
        states, taken = self.states - states, self.bytes - taken
        self._add((count - made) * states, (count - made) * (taken - STATE * states))

    def _set(self, chars: CharSet) -> None:
        ranges = chars.ranges
        if not ranges or ranges[-1][1] < 128:
            self._add(2, RANGE * len(ranges))
        elif self._shared is not Shared.AS_FOUND:
            self._add(*_bound(chars, self._is_reverse, self._shared))
        elif self._is_reverse:
            self._set_reversed(chars)
        else:
            self._set_forward(chars)

    def _set_forward(self, chars: CharSet) -> None:
        end = self.states
        self._add(1)
        table: _Table = {}
        made: list[int] = []
        for node in nodes(chars):
            key = [each for low, high, to in node for each in (low, high, end if to is None else made[to])]
            made.append(self._reused(key, table, _FORWARD_TABLE, RANGE * len(node)))

    def _set_reversed(self, chars: CharSet) -> None:
        end = self.states + 1
        self._add(2, WAY * len(sequences(chars)))
        table: _Table = {}
        for ranges in sequences(chars):
            at = end
            for low, high in ranges:
                at = self._reused([at, low, high], table, _REVERSE_TABLE)

    def _reused(self, key: list[int], table: _Table, length: int, more: int = 0) -> int:
        """The number of the state of that key: one that the table still holds, or else a new one."""
        hashed = _HASH_START
        for each in key:
            hashed = (hashed ^ each) * _HASH_FACTOR & _HASH_MASK
        at = hashed % length
        found = table.get(at)
        if found is not None and found[0] == key:
            return found[1]
        table[at] = key, self.states
        self._add(1, more)
        return self.states - 1


@lru_cache(maxsize=64)
def _bound(chars: CharSet, is_reverse: bool, shared: Shared) -> tuple[int, int]:
    """How many states a set takes, and how many bytes for their ways on, where all are shared or none."""
    if is_reverse:
        starts = [ranges[:n] for ranges in sequences(chars) for n in range(1, len(ranges) + 1)]
        made = len(starts) if shared is Shared.NONE else len(set(starts))
        return 2 + made, WAY * len(sequences(chars))
    if shared is Shared.NONE:
        return 1 + len(nodes(chars)), RANGE * sum(map(len, nodes(chars)))
    numbers: dict[tuple[Way, ...], int] = {}
    same: list[int] = []
    for node in nodes(chars):
        key = tuple((low, high, to if to is None else same[to]) for low, high, to in node)
        same.append(numbers.setdefault(key, len(numbers)))
    return 1 + len(numbers), RANGE * sum(map(len, numbers))
