"""Containers made by hand, with another CBOR library than ours."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import cbor2

from refimpl.burnpack.reader import Pack

GOLDEN = Path(__file__).parent.parent / "golden"


def golden(name: str) -> Any:
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as file:
        return json.load(file)


def contents(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["file"])


def raw(metadata: bytes, data: bytes = b"", *, magic: bytes = b"NRUB", version: int = 1) -> bytes:
    """A container of these bytes of metadata, well-formed or not."""
    head = magic + struct.pack("<HI", version, len(metadata)) + metadata
    return head + bytes(-len(head) % 256) + data


def pack(metadata: Any, data: bytes = b"") -> bytes:
    return raw(cbor2.dumps(metadata), data)


def descriptor(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


def one(data: bytes = bytes(range(8)), **fields: Any) -> bytes:
    """A container of one tensor `w`."""
    return pack({"tensors": {"w": descriptor(**fields)}}, data)


def tree(found: Pack) -> dict[str, Any]:
    return {
        name: (repr(entry.dtype), entry.shape, entry.param_id, bytes(entry.data.bytes))
        for name, entry in found.items()
    }
