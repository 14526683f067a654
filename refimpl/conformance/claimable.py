"""The words of protocol 1 with which a subject says what it can, and a case what it needs."""

from __future__ import annotations

import re
from typing import Final

#: What a subject can do, besides having dtypes and fixtures.
CAPABILITIES: Final = frozenset((
    "autodiff", "records", "burnpack", "parallel", "files", "threads", "display", "debug", "tuple_struct",
    "quant", "lora", "reparam", "blobs", "safetensors",
))  # fmt: skip
FIXTURES: Final = frozenset(("zoo/1", "dynamic/1"))
DTYPES: Final = frozenset((
    "f64", "f32", "flex32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8",
    "bool", "bool_u8", "bool_u32",
))  # fmt: skip
_DEVICE: Final = re.compile(r"d(0|[1-9][0-9]*)", re.ASCII)


def is_device(word: str) -> bool:
    """Whether a case can call a device so."""
    return _DEVICE.fullmatch(word) is not None


def is_claimable(word: str) -> bool:
    """Whether a subject can claim this at all; `d0` executes everywhere."""
    return word in CAPABILITIES | FIXTURES | DTYPES or (is_device(word) and word != "d0")
