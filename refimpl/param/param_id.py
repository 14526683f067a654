"""What names a parameter through saves and loads: 64 bits, and the text they are written as."""

from __future__ import annotations

import os
import re
from base64 import b32hexencode
from typing import Final

from ..errors import ArgumentTypeError, InvalidArgumentError, PanicError, ParamIdError

_U64: Final = (1 << 64) - 1
_BASE32: Final = re.compile(r"[0-9a-vA-V]*")
_UUID: Final = re.compile(
    r"(?:urn:uuid:)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|\{([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}",
    re.ASCII | re.IGNORECASE,
)
#: How many of the text's bits are left over, by its length modulo 8; other lengths encode no bytes.
_SPARE_BITS: Final = {0: 0, 2: 2, 4: 4, 5: 1, 7: 3}


class ParamId(int):
    """An unsigned 64-bit integer; equality, hash and order are the number's.

    >>> ParamId.from_int(1)
    ParamId { value: 1 }
    >>> str(ParamId.from_int(1))
    '0400000000000'

    Burn: burn_std::id::ParamId
    Clauses: PAR-1, PAR-2, PAR-7.
    """

    __slots__ = ()

    def __new__(cls, *_: object) -> ParamId:
        """Refused: an id is drawn, given or read, and each has its own name.

        Raises:
            ArgumentTypeError: always.
        """
        raise ArgumentTypeError(
            "a ParamId is not made by calling the class",
            clause="PAR-1",
            hint="ParamId.new() draws one, .from_int(n) takes a number, .parse(text) reads one",
        )

    @classmethod
    def new(cls) -> ParamId:
        """64 uniformly random bits: 0 is possible, and nothing checks for a collision.

        Clauses: PAR-1.
        """
        return int.__new__(cls, int.from_bytes(os.urandom(8), "little"))

    @classmethod
    def from_int(cls, value: int) -> ParamId:
        """The id that is this number.

        Raises:
            InvalidArgumentError: `value` is no unsigned 64-bit integer.

        Clauses: PAR-1.
        """
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _U64:
            raise InvalidArgumentError(
                f"a parameter id is an integer from 0 to 2^64-1, got {value!r}", clause="PAR-1"
            )
        return int.__new__(cls, value)

    @classmethod
    def parse(cls, text: str) -> ParamId:
        """The id that `text` writes: base32hex of its little-endian bytes, else a UUID hashed to 64 bits.

        Fewer than 8 bytes are extended with zeros, so ids of earlier formats (6 bytes) still read.

        Raises:
            ParamIdError: `text` is neither.
            PanicError: `text` is base32hex of more than 8 bytes; a UUID without hyphens is.

        >>> int(ParamId.parse("83h0200000000"))
        123456

        Clauses: PAR-3, PAR-4, PAR-5.
        """
        if not isinstance(text, str):
            raise ArgumentTypeError(f"a parameter id is read from text, got {text!r}", clause="PAR-3")
        data = _decode(text)
        if data is not None:
            if len(data) > 8:
                raise PanicError(
                    f"range end index {len(data)} out of range for slice of length 8",
                    clause="PAR-4",
                    hint="write a UUID with its hyphens; an id's own text has 13 characters",
                )
            return int.__new__(cls, int.from_bytes(data, "little"))
        uuid = _UUID.fullmatch(text)
        if uuid is None:
            raise ParamIdError(
                "Invalid id.",
                clause="PAR-5",
                hint="an id is 13 characters of 0-9 and a-v, as str(id) writes it",
            )
        digits = (uuid[1] or uuid[2]).replace("-", "")
        return int.__new__(cls, _hash_uuid(bytes.fromhex(digits)))

    def val(self) -> int:
        """The number.

        Burn: burn_std::id::ParamId::val
        """
        return int(self)

    def __str__(self) -> str:
        return b32hexencode(self.to_bytes(8, "little")).rstrip(b"=").decode("ascii").lower()

    def __repr__(self) -> str:
        return f"ParamId {{ value: {int(self)} }}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __copy__(self) -> ParamId:
        return self

    def __deepcopy__(self, memo: object) -> ParamId:
        return self

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return ParamId.from_int, (int(self),)


def _decode(text: str) -> bytes | None:
    """The bytes that `text` is the base32hex of; None when it is not. Bits left over must be 0."""
    spare = _SPARE_BITS.get(len(text) % 8)
    if spare is None or _BASE32.fullmatch(text) is None:
        return None
    number = int(text, 32) if text else 0
    if number & ((1 << spare) - 1):
        return None
    return (number >> spare).to_bytes(len(text) * 5 // 8, "big")


def _hash_uuid(uuid: bytes) -> int:
    """The 16 bytes hashed as ahash 0.8 does without AES instructions and with its fixed keys.

    Other builds of Burn hash otherwise, so such an id is only stable on the commonest one.

    Clauses: PAR-6.
    """
    low, high = int.from_bytes(uuid[:8], "little"), int.from_bytes(uuid[8:], "little")
    buffer = (_KEYS[1] + 16) * _MULTIPLE & _U64
    combined = _fold(low ^ _KEYS[2], high ^ _KEYS[3])
    buffer = _rotate((buffer + _KEYS[0] & _U64) ^ combined, 23)
    return _rotate(_fold(buffer, _KEYS[0]), buffer & 63)


#: The first fractional bits of pi, and Knuth's multiplier.
_KEYS: Final = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)
_MULTIPLE: Final = 6364136223846793005


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _U64) ^ (product >> 64)


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _U64
