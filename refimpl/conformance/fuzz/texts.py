"""What is read from a text: ids of parameters, and patterns of a group with the paths they are tried on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from ..case import Step
from .comparison import Trace

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_WORDS = ("w", "weight", "bias", "layers", "0", "10", "lin", "a", "é", "ß", "K", "")
_ATOMS = (
    "a", "w", "é", "K", ".", r"\.", r"\d", r"\w", r"\s", r"\S", r"\b", r"\B", "[a-m]", "[^w]", r"[\d.]",
    "[[:alpha:]]", r"\p{L}", r"\pN", r"\P{Lu}", r"\x61", r"\u{e9}", "[a&&b]", "[a-z--b]", "[a-z~~w]", "$",
    "^", r"\A", r"\z", "layers", "0", "(?i)k", "(?s).", "(?-u:w)", r"\b{start}", r"\<", "[]a]", "[a-]",
)  # fmt: skip
_TIMES = ("", "", "", "*", "+", "?", "{2}", "{0,1}", "{1,}", "*?", "+?")
_BROKEN = ("(", ")", "[", "a**", r"\q", "{", "a{2", r"\p{Nope}", "(?P<n>a", "(?=a)", r"\1", "x{3,1}", "[z-a]")


def ids(rng: Random) -> Trace:
    """Ids as texts: of the right length and not, with letters that are digits and some that are none."""
    steps: list[Step] = []
    for _ in range(rng.randint(2, 6)):
        number = rng.choice((rng.getrandbits(64), rng.getrandbits(8), rng.getrandbits(33), 2**64 - 1, 2**63))
        match rng.randrange(5):
            case 0:
                steps.append({"do": "param_id.format", "id": str(number)})
            case 1:
                other = rng.choice((number, number ^ 1, rng.getrandbits(64)))
                steps.append({"do": "param_id.compare", "a": str(number), "b": str(other)})
            case 2:
                value: Any = rng.choice(
                    (number, str(number), {"value": number}, -1, 1.5, None, [number], _id(rng))
                )
                steps.append({"do": "param_id.serde", "json": json.dumps(value)})
            case _:
                steps.append({"do": "param_id.parse", "text": _id(rng)})
    return Trace(tuple(steps), ("PAR-4", "PAR-5", "PAR-7"))


def _id(rng: Random) -> str:
    length = rng.choice((13, 13, 13, 12, 14, 0, 1, 8, 20))
    text = [rng.choice(_DIGITS) for _ in range(length)]
    if text and rng.random() < 0.5:
        text[rng.randrange(len(text))] = rng.choice(("w", "z", "A", "V", "-", "=", "é", " ", "0"))
    return "".join(text)


def patterns(rng: Random) -> Trace:
    """Groups of every kind, above all regular expressions, on paths that nearly match."""
    paths = [".".join(rng.choice(_WORDS) for _ in range(rng.randint(0, 3))) for _ in range(6)]
    probes: list[list[Any]] = [[number, path] for number, path in enumerate(paths)]
    probes.append([1, None])
    leaves = [(number, path) for number, path in probes if path is not None]
    steps: list[Step] = []
    for _ in range(rng.randint(1, 4)):
        group = group_of(rng, leaves)
        steps += [
            {"do": "group.make", "group": group},
            {"do": "group.matches", "group": group, "probes": probes},
        ]
    return Trace(tuple(steps), ("GRP-1", "GRP-7", "GRP-9"))


def group_of(rng: Random, leaves: Sequence[tuple[int, str]], depth: int = 2) -> Any:
    """A group that has something to do with those ids and paths."""
    number, path = rng.choice(leaves)
    words = [rng.choice(path.split(".")), path[: rng.randint(0, 4)], rng.choice(_WORDS)]
    forms = ["ids", "path", "paths", "predicate", "predicates", "any_predicates", "all"]
    forms += ["regex", "regexes", "any_regexes"] * 3 + ["fuse", "exclude"] * depth
    match form := rng.choice(forms):
        case "all":
            return "all"
        case "ids":
            return {"ids": sorted({number, rng.randint(0, 9)})}
        case "path":
            return {"path": path}
        case "paths":
            return {"paths": [path, rng.choice(leaves)[1]][: rng.randint(0, 2)]}
        case "predicate":
            return {"predicate": rng.choice(words)}
        case "predicates" | "any_predicates":
            return {form: rng.sample(words, rng.randint(0, 3))}
        case "regex":
            return {"regex": _regex(rng)}
        case "regexes" | "any_regexes":
            return {form: [_regex(rng) for _ in range(rng.randint(0, 3))]}
        case _:
            return {form: [group_of(rng, leaves, depth - 1), group_of(rng, leaves, depth - 1)]}


def _regex(rng: Random, depth: int = 2) -> str:
    if rng.random() < 0.03:
        return rng.choice(_BROKEN)
    parts = []
    for _ in range(rng.randint(1, 3)):
        atom = rng.choice(_ATOMS)
        if depth and rng.random() < 0.25:
            opening = rng.choice(("(", "(?:", "(?i:", "(?x: ", "(?P<n>", "(?<m>"))
            atom = f"{opening}{_regex(rng, 0)}{rng.choice(('', '|' + _regex(rng, 0)))})"
        parts.append(atom + rng.choice(_TIMES))
    return "".join(parts)
