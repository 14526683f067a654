"""Ranges of versions, as an expectations file binds its entries to them: `>=0.23.0-pre.1, <0.24`."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+(?:\.\d+){0,3})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_BOUND = re.compile(r"(<=|>=|==|!=|<|>)\s*(\S+)")

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


def within(version: str, bounds: str) -> bool:
    """Whether a version keeps all bounds; a version that cannot be read keeps none but the empty ones.

    Raises:
        ValueError: The bounds cannot be read.
    """
    wanted: list[tuple[str, Key]] = []
    for bound in bounds.split(",") if bounds.strip() else ():
        found = _BOUND.fullmatch(bound.strip())
        if found is None:
            raise ValueError(f"{bound.strip()!r} is no bound: `>=0.23.0` say")
        wanted.append((found[1], key(found[2])))
    if not wanted:
        return True
    try:
        mine = key(version)
    except ValueError:
        return False
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
