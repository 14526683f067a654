"""The character classes of Unicode 16 and its simple case folding, as Rust's `regex` 1.13.2 knows them.

`unicode16.json.gz` was recorded by asking that crate which characters each of its classes matches, since
neither Python's tables nor RE2's are of one known version. A class stands there under all its names, in
lower case without spaces, hyphens and underscores; a range as the distance from the end of the one before
it and its length, both to the base 36.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_left, bisect_right
from functools import cache
from importlib.resources import files

from .char_set import AFTER_SURROGATES, BEFORE_SURROGATES, CharSet, Range


@cache
def _tables() -> tuple[dict[str, str], dict[int, str]]:
    """The encoded ranges of each class by name, and the characters that fold together by member."""
    packed = files(__package__).joinpath("unicode16.json.gz").read_bytes()
    recorded = json.loads(gzip.decompress(packed))
    classes = {name: ranges for names, ranges in recorded["classes"] for name in names.split(" ")}
    folded = {ord(char): orbit for orbit in recorded["orbits"].split(" ") for char in orbit}
    return classes, folded


@cache
def named(name: str) -> CharSet | None:
    """The class of that normalised name, as `greek` or `sc=greek`; `D`, `S` and `W` are Perl's; or None."""
    encoded = _tables()[0].get(name)
    if encoded is None:
        return None
    ranges: list[Range] = []
    end = 0
    for item in encoded.split(" "):
        gap, _, length = item.partition("-")
        low = end + int(gap, 36)
        if (end, low) == (BEFORE_SURROGATES, AFTER_SURROGATES):
            low = end  # one range in Rust's tables; what was recorded are the characters
        end += int(gap, 36) + int(length or "0", 36)
        ranges.append((low, end))
    return CharSet.of(ranges)


def has_values(name: str) -> bool:
    """Whether `name` is a property whose values name classes."""
    return any(known.startswith(f"{name}=") for known in _tables()[0])


def normalized(name: str) -> str:
    """A name as it stands in the table: a leading `is` goes too, except where only `c` is left (`isc`)."""
    made = "".join(char.lower() for char in name if char.isascii() and char not in (" ", "_", "-"))
    return made if made == "isc" or name[:2].lower() != "is" else made[2:]


@cache
def _fold_keys() -> list[int]:
    return sorted(_tables()[1])


def fold(chars: CharSet) -> CharSet:
    """The set with every character that folds to the same as one of its own."""
    folded, keys = _tables()[1], _fold_keys()
    added = [
        (ord(other), ord(other))
        for low, high in chars.ranges
        for key in keys[bisect_left(keys, low) : bisect_right(keys, high)]
        for other in folded[key]
    ]
    return CharSet.of([*chars.ranges, *added])
