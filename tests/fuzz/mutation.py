"""Containers made of other containers: mutations that know CBOR, and keep header and padding right."""

from __future__ import annotations

import random
import struct
from typing import Final

_HEXED: Final = """
00 17 1800 18ff 1901 1a00010000 1bffffffffffffffff 1b8000000000000000 20 37 3bffffffffffffffff
3b7fffffffffffffff 40 4101 5f4101ff 5fff 60 6177 617a 7f6177ff 7fff 6574656e736f7273 80 81 8100
820008 830008 9f0008ff 9fff a0 a1 bf bfff a16177 c000 c1 c24107 c2490100000000000000
c349ffffffffffffffffff d820 d9d9f7 dbffffffffffffffff f4 f5 f6 f7 f8 f814 f820 f97c00 f97e01
fa7fc00001 fa3dcccccd fb7ff0000000000001 fb3fb999999999999a ff fc 1c 5c 7c 6764747970 656474797065
657368617065 6c646174615f6f666673657473 68706172616d5f6964 6774656e736f7273 686d65746164617461
677363616c617273 63463332 645549 6455496e74 63496e74 65466c6f6174 64426f6f6c 6651466c6f6174
664e61746976 654e6174697665 685061636b6564 695061636b6564553332 6c5061636b65644e6174697665
6576616c7565 6573746f7265 646d6f6465 6674656e736f72 65626c6f636b 6473697a65 6773746f72616765
636c656e 63513853 6345324d31 6953796d6d6574726963 664c6f6f6b7570 6455384d30 655545384d30 61ff 62c328
64f09f9880 6165cc81 611b 62e280ae
"""
#: Items that decoders disagree on: lengths, tags, breaks, floats, simple values, bignums, ends.
PIECES: Final = tuple(bytes.fromhex(item) for item in _HEXED.split())
_WIDTHS: Final = ((24, 1), (25, 2), (26, 4), (27, 8))


def heads(data: bytes) -> list[tuple[int, int]]:
    """Where each item of well-formed CBOR begins and its head or text ends; as far as it goes."""
    found: list[tuple[int, int]] = []
    at, size = 0, len(data)
    while at < size:
        first = data[at]
        minor, major = first & 31, first >> 5
        length = 1 << minor - 24 if 24 <= minor < 28 else 0
        stop = at + 1 + length
        if major in (2, 3) and minor < 28:
            stop += int.from_bytes(data[at + 1 : at + 1 + length], "big") if length else minor
        if stop > size:
            break
        found.append((at, stop))
        at = stop
    return found


def mutated(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """`data` after a few mutations: mostly of its metadata, by items."""
    if len(data) < 10 or rng.random() < 0.03:
        return _raw(data, rng)
    size = int.from_bytes(data[6:10], "little")
    metadata, rest = data[10 : 10 + size], data[-(-(10 + size) // 256) * 256 :]
    theirs = other[10 : 10 + int.from_bytes(other[6:10], "little")] if len(other) > 10 else b""
    for _ in range(1 + int(rng.expovariate(1.2))):
        metadata = _one(metadata, rng, theirs)
    if rng.random() < 0.1:
        rest = (
            rest[: rng.randrange(len(rest) + 1)]
            if rng.random() < 0.5
            else rest + rng.randbytes(rng.randrange(300))
        )
    made = container(metadata, rest)
    return _raw(made, rng) if rng.random() < 0.03 else made


def container(metadata: bytes, rest: bytes = b"") -> bytes:
    """These bytes as the metadata of a container, before this data."""
    head = b"NRUB\1\0" + struct.pack("<I", len(metadata)) + metadata
    return head + bytes(-len(head) % 256) + rest


def _one(data: bytes, rng: random.Random, other: bytes) -> bytes:
    found = heads(data)
    if not found:
        return data + rng.choice(PIECES)
    first, stop = found[rng.randrange(len(found))]
    item = data[first:stop]
    match rng.randrange(12):
        case 0:  # another number or length under the same major type
            return data[:first] + _renumbered(item, rng) + data[stop:]
        case 1:  # the same number, written wider
            return data[:first] + _widened(item, rng) + data[stop:]
        case 2:
            return data[:first] + rng.choice(PIECES) + data[stop:]
        case 3:
            return data[:first] + rng.choice(PIECES) + data[first:]
        case 4:
            return data[:first] + data[stop:]
        case 5:  # a run of items twice
            _, end = found[min(len(found) - 1, found.index((first, stop)) + rng.randrange(6))]
            return data[:end] + data[first:end] + data[end:]
        case 6:  # an item of another container
            theirs = heads(other) or [(0, 0)]
            a, b = theirs[rng.randrange(len(theirs))]
            return data[:first] + other[a:b] + data[stop:]
        case 7:  # an indefinite length
            if item and item[0] >> 5 in (2, 3, 4, 5):
                ending = b"\xff" if rng.random() < 0.8 else b""
                inner = item if item[0] >> 5 < 4 else b""
                return data[:first] + bytes((item[0] & 0xE0 | 31,)) + inner + ending + data[stop:]
            return data[:first] + b"\xd9\xd9\xf7" + data[first:]
        case 8:
            at = rng.randrange(len(data))
            return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]
        case 9:
            return data[: rng.randrange(len(data))] if rng.random() < 0.2 else data + rng.choice(PIECES)
        case 10:  # two items change places
            a, b = found[rng.randrange(len(found))]
            if b <= first:
                return data[:a] + item + data[b:first] + data[a:b] + data[stop:]
            return data[:first] + rng.randbytes(rng.randrange(9)) + data[stop:]
        case _:  # a name of the format for another
            return data[:first] + rng.choice(PIECES[-48:]) + data[stop:]


def _renumbered(item: bytes, rng: random.Random) -> bytes:
    value = rng.choice((0, 1, 2, 3, 5, 6, 7, 23, 24, 127, 128, 255, 256, 2**32 - 1, 2**32, 2**63, 2**64 - 1))
    if rng.random() < 0.5:
        value = max(0, (item[0] & 31) + rng.choice((-2, -1, 1, 2)))
    return _head(item[0] >> 5, value, rng) + item[1:]


def _head(major: int, value: int, rng: random.Random) -> bytes:
    if value < 24 and rng.random() < 0.8:
        return bytes((major << 5 | value,))
    minor, width = next((m, w) for m, w in _WIDTHS if value < 1 << 8 * w)
    return bytes((major << 5 | minor,)) + value.to_bytes(width, "big")


def _widened(item: bytes, rng: random.Random) -> bytes:
    if item[0] & 31 > 23:
        return item
    minor, width = rng.choice(_WIDTHS)
    return bytes((item[0] & 0xE0 | minor,)) + (item[0] & 31).to_bytes(width, "big") + item[1:]


def _raw(data: bytes, rng: random.Random) -> bytes:
    """Mutations that know nothing."""
    at = rng.randrange(len(data) + 1)
    match rng.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + rng.randbytes(1 + rng.randrange(8)) + data[at:]
        case 2:
            return data[:at] + data[at + 1 + rng.randrange(8) :]
        case _:
            return data[:at] + rng.randbytes(1) + data[at + 1 :]
