"""Record files with a fault in them: fields of the layout overwritten, bits flipped, ends cut off."""

from __future__ import annotations

from random import Random
from typing import Any

from ..case import Step
from .comparison import Trace

_CLAUSES = ("BPK-2", "BPK-4", "BPK-19", "BPK-23", "REC-9")
_NAMES = ("a", "w.b", "layers.0.w", "")
#: Where the fields of the header stand: magic number, version, length of the metadata, then CBOR.
_FIELDS = ((0, 4), (4, 2), (6, 4), (10, 1), (11, 1))
_VALUES = (
    "00",
    "01",
    "7f",
    "80",
    "9f",
    "bf",
    "fb",
    "ff",
    "ffffffff",
    "00000000",
    "0000000000000080",
    "ffffffffffffffff",
)


def broken_files(rng: Random) -> Trace:
    """A small file, one to three faults, and every way to read it."""
    steps: list[Step] = [
        {"do": "pack.write", "entries": _entries(rng), "metadata": {"k": "v"}, "as": "b"},
        {"do": "bytes.edit", "on": "b", "edits": [_edit(rng) for _ in range(rng.randint(1, 3))], "as": "e"},
        {"do": "record.from_bytes", "bytes": "e", "as": "r"},
        {"do": "pack.open", "bytes": "e", "as": "p"},
        {"do": "pack.entries", "on": "p"},
    ]
    return Trace(tuple(steps), _CLAUSES, ("burnpack",))


def _entries(rng: Random) -> list[dict[str, Any]]:
    names = rng.sample(_NAMES, rng.randint(0, 2))
    return [
        {
            "name": name,
            "id": rng.choice((None, 1, 7)),
            "dtype": rng.choice(("f32", "i64", "u8")),
            "shape": [2],
        }
        for name in names
    ]


def _edit(rng: Random) -> list[Any]:
    place = rng.choice(("field", "anywhere", "bit", "end", "end"))
    if place == "field":
        at, width = rng.choice(_FIELDS)
        return ["put", at, rng.choice(_VALUES)[: 2 * width]]
    if place == "anywhere":
        return ["put", rng.randint(0, 120), rng.choice(_VALUES)]
    if place == "bit":
        return ["xor", rng.randint(0, 120), 1 << rng.randint(0, 7)]
    if rng.random() < 0.5:
        return ["truncate", rng.randint(0, 200)]
    return ["append", rng.choice(_VALUES)]
