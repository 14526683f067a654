"""How many bytes Rust's compiled program takes: what its size limit counts.

Rust makes two programs, one that reads forward and remembers groups and one that reads backward, and each
has to fit. A program is a list of states of `_STATE` bytes; a state with several ways on takes more for each.
For a set past ASCII, Rust looks for a state that it made before in a table in which a newer state drives out
an older one of the same hash. The hash is of the numbers of states, so how large the same set gets hangs on
what stands before it: such sets are counted by doing the same, and only where no bound decides.

One thing is not followed: Rust makes no program at all, and so takes the pattern, where it finds that only a
few words match, though parts that never match may make it as large as one likes: `ab|[a&&b]{1000000}`.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from .char_set import CharSet
from .simplified import Branches, Part, Remembered, Row, Times, Word, facts_of, simplified
from .tree import Capture, Chars, Choice, Look, Node, Repeat, Sequence
from .utf8 import Way, nodes, sequences

_STATE: Final = 32
#: What a state takes for each way on: to any other state, or to another one with a range of bytes.
_WAY: Final = 4
_RANGE: Final = 8
#: More than a range of characters takes in either program.
_RANGE_AT_MOST: Final = 1200
#: The hash of the tables (FNV-1a of 64 bits), and how many states the one of each program holds.
_HASH_START: Final = 14695981039346656037
_HASH_FACTOR: Final = 1099511628211
_HASH_MASK: Final = (1 << 64) - 1
_FORWARD_TABLE: Final = 10_000
_REVERSE_TABLE: Final = 1_000
#: Of so many words to choose from, Rust makes no program.
_MANY_WORDS: Final = 3000

#: The states found by hash, each with what it was made of.
_Table: TypeAlias = dict[int, tuple[list[int], int]]


def fits(node: Node, limit: int) -> bool:
    """Whether Rust's program of `node` takes at most `limit` bytes."""
    if at_most(node) <= limit:
        return True
    part = simplified(node)
    if isinstance(part, Branches) and len(part.items) >= _MANY_WORDS and _all_words(part.items) is not None:
        return True
    both = (False, True)
    if any(_Program(part, limit, is_reverse, Shared.ALL).is_past for is_reverse in both):
        return False
    unsure = [each for each in both if _Program(part, limit, each, Shared.NONE).is_past]
    return not any(_Program(part, limit, is_reverse, Shared.AS_FOUND).is_past for is_reverse in unsure)


def size(node: Node) -> int:
    """How many bytes the larger program of `node` takes."""
    part = simplified(node)
    return max(_Program(part, None, is_reverse, Shared.AS_FOUND).bytes for is_reverse in (False, True))


def at_most(node: Node) -> int:
    """A number of bytes that the program never takes more than, counted quickly."""
    return 256 + _at_most(node)


def _at_most(node: Node) -> int:
    match node:
        case Chars(chars):
            ranges = chars.ranges
            is_ascii = not ranges or ranges[-1][1] < 128
            return 96 + (_RANGE if is_ascii else _RANGE_AT_MOST) * len(ranges)
        case Look():
            return _STATE
        case Sequence(items):
            return _STATE + sum(map(_at_most, items))
        case Choice(items):
            return 96 + sum(64 + _at_most(item) for item in items)
        case Repeat(item, least, most):
            return 128 + (72 + _at_most(item)) * max(least, most or 1)
        case Capture(item):
            return 64 + _at_most(item)


class _PastLimitError(Exception):
    """The program is larger than it may get."""


class Shared(Enum):
    """Which of the equal states of a set past ASCII are made once: Rust shares those that it finds."""

    ALL = "all: no program is smaller"
    NONE = "none: no program is larger"
    AS_FOUND = "those that the table still holds"


class _Program:
    """A program as Rust makes it: how many states it has, and how many bytes they take."""

    def __init__(self, part: Part, limit: int | None, is_reverse: bool, shared: Shared) -> None:
        self._is_reverse = is_reverse
        self._shared = shared
        self._limit = sys.maxsize if limit is None else limit
        self.states = self.bytes = 0
        known = facts_of(part)
        try:
            if known.ends if is_reverse else known.starts:
                self._add(1)
            else:  # whatever stands before: any bytes
                self._add(3, 2 * _WAY + _RANGE)
            self._remembered(part)
            self._add(1)
        except _PastLimitError:
            pass

    @property
    def is_past(self) -> bool:
        """Whether it takes more than the limit."""
        return self.bytes > self._limit

    def _add(self, states: int, more: int = 0) -> None:
        self.states += states
        self.bytes += _STATE * states + more
        if self.is_past:
            raise _PastLimitError

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
            case Times(item, least, most):
                self._times(item, least, most)
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
        words = _all_words(items)
        if words is not None:
            states, more = _tree_of([word[::-1] for word in words] if self._is_reverse else words)
            self._add(1 + states, more)
            return
        for item in items[:2]:
            self._part(item)
        self._add(2, _WAY * len(items))
        for item in items[2:]:
            self._part(item)

    def _times(self, item: Part, least: int, most: int | None) -> None:
        if most is None:
            self._endless(item, least)
        elif (least, most) == (0, 1):
            self._add(1, 2 * _WAY)
            self._part(item)
            self._add(1)
        else:
            if least:
                self._repeated(item, least)
            else:
                self._add(1)
            if least < most:
                self._add(1)
                self._repeated(item, most - least, fork=True)

    def _endless(self, item: Part, least: int) -> None:
        if least:
            self._repeated(item, least)
            self._add(1, 2 * _WAY)
        elif facts_of(item).takes_some:
            self._add(1, 2 * _WAY)
            self._part(item)
        else:
            self._part(item)
            self._add(3, 4 * _WAY)

    def _repeated(self, item: Part, count: int, fork: bool = False) -> None:
        """An item so often, before each a choice to leave it out where there is a `fork`."""
        before = self.states, self.bytes
        copies = count if self._shared is Shared.AS_FOUND and facts_of(item).wide else 1
        for _ in range(copies):
            if fork:
                self._add(1, 2 * _WAY)
            self._part(item)
        if copies < count:
            states, size = self.states - before[0], self.bytes - before[1]
            self._add(states * (count - 1), (size - _STATE * states) * (count - 1))

    def _set(self, chars: CharSet) -> None:
        ranges = chars.ranges
        if not ranges or ranges[-1][1] < 128:
            self._add(2, _RANGE * len(ranges))
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
            made.append(self._reused(key, table, _FORWARD_TABLE, _RANGE * len(node)))

    def _set_reversed(self, chars: CharSet) -> None:
        end = self.states + 1
        self._add(2, _WAY * len(sequences(chars)))
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


def _all_words(items: tuple[Part, ...]) -> list[bytes] | None:
    """The branches as words, if all of them are."""
    words = [item.text for item in items if isinstance(item, Word)]
    return words if len(words) == len(items) else None


class _Letter:
    """A state of a tree of words: where each byte leads, in one more group after each word that ends here."""

    __slots__ = ("groups",)

    def __init__(self) -> None:
        self.groups: list[dict[int, _Letter]] = [{}]

    @property
    def is_last(self) -> bool:
        """Whether no word goes on from here."""
        return not any(self.groups)

    def end_word(self) -> None:
        """A word ends here; the same word once more adds nothing, unless another one goes on."""
        if len(self.groups) == 1 or not self.is_last:
            self.groups.append({})


def _tree_of(words: list[bytes]) -> tuple[int, int]:
    """How many states a tree of words has, and how many bytes they take for their ways on."""
    root = _Letter()
    for word in words:
        letter = root
        for byte in word:
            letter = letter.groups[-1].setdefault(byte, _Letter())
        letter.end_word()
    states = more = 0
    todo = [root]
    while todo:
        groups = todo.pop().groups
        full = [group for group in groups if group]
        states += 1 + len(full)
        more += _WAY * (len(full) + len(groups) - 1)
        more += sum(_RANGE * len(group) for group in full if len(group) > 1)
        todo += [letter for group in full for letter in group.values() if not letter.is_last]
    return states, more


@lru_cache(maxsize=64)
def _bound(chars: CharSet, is_reverse: bool, shared: Shared) -> tuple[int, int]:
    """How many states a set takes, and how many bytes for their ways on, where all are shared or none."""
    if is_reverse:
        starts = [ranges[:n] for ranges in sequences(chars) for n in range(1, len(ranges) + 1)]
        made = len(starts) if shared is Shared.NONE else len(set(starts))
        return 2 + made, _WAY * len(sequences(chars))
    if shared is Shared.NONE:
        return 1 + len(nodes(chars)), _RANGE * sum(map(len, nodes(chars)))
    numbers: dict[tuple[Way, ...], int] = {}
    same: list[int] = []
    for node in nodes(chars):
        key = tuple((low, high, to if to is None else same[to]) for low, high, to in node)
        same.append(numbers.setdefault(key, len(numbers)))
    return 1 + len(numbers), _RANGE * sum(map(len, numbers))
