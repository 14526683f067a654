"""Ranges of versions: of a subject, for known differences; of Burn, for a case. `>=0.23.0-pre.1, <0.24`."""

from __future__ import annotations

import re

_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"(\d+(?:\.\d+){{0,3}})(?:-({_WORDS}))?(?:\+{_WORDS})?", re.ASCII)
_BOUND = re.compile(r"(<=|>=|==|!=|<|>)\s*(\S+)")

#: The version of Burn that this suite follows: its cases are those that hold for it.
BURN = "0.23.0-pre.1"

#: The range that every version is in, even one that cannot be read.
ALL = "*"

Key = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


def key(version: str) -> Key:
    """What orders versions as Cargo and npm order them: a pre-release comes before its release.

    Raises:
        ValueError: It is no version.
    """
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        raise ValueError(f"{version!r} is no version")
    numbers = tuple(int(part) for part in found[1].split("."))
    release = (*numbers, 0, 0, 0, 0)[:4]
    if found[2] is None:
        return release, 1, ()
    parts = ((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in found[2].split("."))
    return release, 0, tuple(parts)


def readable(version: str) -> bool:
    """Whether a version is one that ranges can be said of."""
    return _VERSION.fullmatch(version.strip()) is not None


def within(version: str, bounds: str) -> bool:
    """Whether a version keeps all bounds; a version that cannot be read keeps none, but is in `ALL`.

    Raises:
        ValueError: The bounds cannot be read.
    """
    if bounds.strip() == ALL:
        return True
    wanted: list[tuple[str, Key]] = []
    for bound in bounds.split(","):
        found = _BOUND.fullmatch(bound.strip())
        if found is None:
            raise ValueError(f"{bound.strip()!r} is no bound: `>=0.23.0` say")
        wanted.append((found[1], key(found[2])))
    if not readable(version):
        return False
    mine = key(version)
    return all(_keeps(mine, sign, other) for sign, other in wanted)


def _keeps(mine: Key, sign: str, other: Key) -> bool:
    return {
        "<": mine < other,
        "<=": mine <= other,
        ">": mine > other,
        ">=": mine >= other,
        "==": mine == other,
        "!=": mine != other,
    }[sign]
