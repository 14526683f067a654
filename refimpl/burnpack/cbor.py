"""CBOR as ciborium writes it: definite lengths, shortest integers, shortest exact floats."""

from __future__ import annotations

import struct
from typing import Final

# Major types: the three high bits of an item's first byte.
UINT: Final = 0
NEGATIVE: Final = 1
BYTES: Final = 2
TEXT: Final = 3
ARRAY: Final = 4
MAP: Final = 5
TAG: Final = 6
OTHER: Final = 7

# The items of major type 7 that have a name.
FALSE: Final = 0xF4
TRUE: Final = 0xF5
NULL: Final = 0xF6
UNDEFINED: Final = 0xF7
BREAK: Final = 0xFF


_SINGLE: Final = tuple(bytes((first,)) for first in range(256))


def head(major: int, value: int) -> bytes:
    """The first bytes of an item: its major type and a number, as short as it goes.

    >>> head(UINT, 23).hex(), head(UINT, 24).hex(), head(ARRAY, 256).hex()
    ('17', '1818', '990100')
    """
    high = major << 5
    if value < 24:
        return _SINGLE[high | value]
    if value < 1 << 8:
        return bytes((high | 24, value))
    if value < 1 << 16:
        return struct.pack(">BH", high | 25, value)
    if value < 1 << 32:
        return struct.pack(">BI", high | 26, value)
    return struct.pack(">BQ", high | 27, value)


def integer(value: int) -> bytes:
    """An integer of 64 bits, signed or not."""
    return head(UINT, value) if value >= 0 else head(NEGATIVE, -1 - value)


def text(value: str) -> bytes:
    """A text; UnicodeEncodeError for a lone surrogate, which no UTF-8 holds."""
    raw = value.encode()
    return head(TEXT, len(raw)) + raw


def boolean(value: bool) -> bytes:
    """False or true."""
    return bytes((TRUE if value else FALSE,))


def float_(value: float) -> bytes:
    """A float in the shortest of 16, 32 and 64 bits that gives it back bit for bit.

    >>> float_(0.5).hex(), float_(0.001).hex()
    ('f93800', 'fb3f50624dd2f1a9fc')

    Clauses: BPK-8.
    """
    bits = int.from_bytes(struct.pack(">d", value), "big")
    for size, letter in ((2, "e"), (4, "f")):
        try:
            raw = _narrow_nan(bits, size) if value != value else struct.pack(f">{letter}", value)
        except OverflowError:
            continue
        if float_bits(raw) == bits:
            return bytes((0xF8 + {2: 1, 4: 2}[size],)) + raw
    return b"\xfb" + struct.pack(">d", value)


def float_bits(raw: bytes) -> int:
    """The 64 bits of the float that 2, 4 or 8 bytes write; a NaN keeps its payload and turns quiet."""
    bits = int.from_bytes(raw, "big")
    if len(raw) == 8:
        return bits
    exponent, mantissa = {2: (5, 10), 4: (8, 23)}[len(raw)]
    fraction = bits & (1 << mantissa) - 1
    if bits >> mantissa & (1 << exponent) - 1 == (1 << exponent) - 1 and fraction:
        sign = bits >> (exponent + mantissa)
        return sign << 63 | 0x7FF8 << 48 | fraction << (52 - mantissa)
    (value,) = struct.unpack(">e" if len(raw) == 2 else ">f", raw)
    return int.from_bytes(struct.pack(">d", value), "big")


def _narrow_nan(bits: int, size: int) -> bytes:
    exponent, mantissa = {2: (5, 10), 4: (8, 23)}[size]
    sign = bits >> 63 << (exponent + mantissa)
    quiet = 1 << (mantissa - 1)
    fraction = bits >> (52 - mantissa) & (1 << mantissa) - 1
    return (sign | (1 << exponent) - 1 << mantissa | quiet | fraction).to_bytes(size, "big")
