"""Whether Rust's compiled programs of a pattern are within its size limit.

Rust makes two programs, one that reads forward and remembers groups and one that reads backward, and each has
to fit. They are counted exactly only where no bound decides.

One thing is not followed: Rust makes no program at all, and so takes the pattern, where it finds that only a
few words match, though parts that never match may make it as large as one likes: `ab|[a&&b]{1000000}`.
"""

from __future__ import annotations

from typing import Final

from .compiled import RANGE, STATE, Compiled, Shared
from .simplified import Branches, all_words, simplified
from .tree import Capture, Chars, Choice, Look, Node, Repeat, Sequence

#: More than a range of characters takes in either program.
_RANGE_AT_MOST: Final = 1200
#: Of so many words to choose from, Rust makes no program.
_MANY_WORDS: Final = 3000


def fits(node: Node, limit: int) -> bool:
    """Whether Rust's program of `node` takes at most `limit` bytes."""
    if at_most(node) <= limit:
        return True
    part = simplified(node)
    if isinstance(part, Branches) and len(part.items) >= _MANY_WORDS and all_words(part.items) is not None:
        return True
    both = (False, True)
    if any(Compiled(part, is_reverse, Shared.ALL).bytes > limit for is_reverse in both):
        return False
    unsure = [each for each in both if Compiled(part, each, Shared.NONE).bytes > limit]
    return all(Compiled(part, is_reverse, Shared.AS_FOUND).bytes <= limit for is_reverse in unsure)


def at_most(node: Node) -> int:
    """A number of bytes that the program never takes more than, counted quickly."""
    return 256 + _at_most(node)


def _at_most(node: Node) -> int:
    match node:
        case Chars(chars):
            ranges = chars.ranges
            is_ascii = not ranges or ranges[-1][1] < 128
            return 96 + (RANGE if is_ascii else _RANGE_AT_MOST) * len(ranges)
        case Look():
            return STATE
        case Sequence(items):
            return STATE + sum(map(_at_most, items))
        case Choice(items):
            return 96 + sum(64 + _at_most(item) for item in items)
        case Repeat(item, least, most):
            return 128 + (72 + _at_most(item)) * max(least, most or 1)
        case Capture(item):
            return 64 + _at_most(item)
