"""CBOR as ciborium reads it, asked for by type: iterative, and what is not asked for is skipped.

The stream is what serde sees: a tuple takes its two elements and leaves the rest, a unit variant leaves its
payload. Whatever such a file holds after that is read as what comes next, here as there.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

from ..errors import BurnpackError
from ..rust_text import debug_str, display_float
from .cbor import (
    ARRAY,
    BREAK,
    BYTES,
    FALSE,
    MAP,
    NEGATIVE,
    NULL,
    OTHER,
    TAG,
    TEXT,
    TRUE,
    UINT,
    UNDEFINED,
    float_bits,
    head,
)
from .limits import MAX_CBOR_RECURSION_DEPTH
from .refusal import deserialization

_U64: Final = (1 << 64) - 1
_I64: Final = (1 << 63) - 1
_BIG_POSITIVE: Final = 2
_BIG_NEGATIVE: Final = 3
#: The longest field or variant name that ciborium's buffer takes.
_MAX_IDENTIFIER: Final = 4096
#: Runs of items that are one byte long: small integers, empty texts, false, true, null, undefined.
_SHORT: Final = re.compile(rb"[\x00-\x17\x20-\x37\x40\x60\xf4-\xf7]+")
#: The same with empty arrays and maps, where one more level may be opened.
_SHORT_OR_EMPTY: Final = re.compile(rb"[\x00-\x17\x20-\x37\x40\x60\x80\xa0\xf4-\xf7]+")
#: Bytes of the whole item by its first byte, where that says it and the content needs no look.
_FIXED: Final = bytes(
    next(
        (
            size
            for size, firsts in (
                (1, (*range(0x18), *range(0x20, 0x38), 0x40, 0x60, 0x80, 0xA0, *range(0xF4, 0xF8))),
                (2, (0x18, 0x38)),
                (3, (0x19, 0x39, 0xF9)),
                (5, (0x1A, 0x3A, 0xFA)),
                (9, (0x1B, 0x3B, 0xFB)),
            )
            if first in firsts
        ),
        0,
    )
    for first in range(256)
)
# What a container still wants, where the number of its items is not known.
_UNTIL_BREAK: Final = -1
_KEY_OR_BREAK: Final = -2
_VALUE: Final = -3
_UNCOUNTED: Final = frozenset((_UNTIL_BREAK, _KEY_OR_BREAK, _VALUE))
#: The first bytes of floats.
_FLOATS: Final = frozenset((0xF9, 0xFA, 0xFB))
#: The named simple values by first byte and number, each as its one-byte form: `f8 14` is false, as `f4` is.
_SIMPLE: Final[dict[tuple[int, int | None], int]] = {
    (first, value): OTHER << 5 | value for value in range(20, 24) for first in (OTHER << 5 | value, 0xF8)
}
_NAMED: Final = {FALSE: "boolean `false`", TRUE: "boolean `true`", NULL: "null", UNDEFINED: "undefined"}


class Stream:
    """A position in CBOR bytes. `depth` is how many more levels may be opened.

    What is asked for by type opens ten levels at most, so the limit is checked where items are skipped.

    Burn: ciborium::de::Deserializer
    Clauses: BPK-19.
    """

    __slots__ = ("data", "depth", "pos")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0
        self.depth = MAX_CBOR_RECURSION_DEPTH

    def head(self) -> tuple[int, int | None]:
        """The next item's first byte and number; None for an indefinite length and for a break."""
        data, pos = self.data, self.pos
        if pos >= len(data):
            raise end_of_data()
        first = data[pos]
        minor = first & 31
        if minor < 24:
            self.pos = pos + 1
            return first, minor
        if minor < 28:
            stop = pos + 1 + (1 << minor - 24)
            if stop > len(data):
                raise end_of_data()
            self.pos = stop
            return first, int.from_bytes(data[pos + 1 : stop], "big")
        if minor < 31 or first >> 5 in (UINT, NEGATIVE, TAG):
            raise _syntax(pos)
        self.pos = pos + 1
        return first, None

    def untagged(self) -> tuple[int, int | None]:
        """The first head that is no tag."""
        first, value = self.head()
        while first >> 5 == TAG:
            first, value = self.head()
        return first, value

    def uint(self, bits: int = 64) -> int:
        """An unsigned integer, plain or as a bignum."""
        negative, value = self._integer()
        if negative:
            raise semantic("unexpected negative integer")
        if value > _U64:
            raise semantic("integer too large")
        if value >> bits:
            raise semantic(f"invalid value: integer `{value}`, expected u{bits}")
        return value

    def int64(self) -> int:
        """A signed integer, plain or as a bignum."""
        negative, value = self._integer()
        if value > _I64:
            raise semantic("integer too large")
        return -1 - value if negative else value

    def _integer(self) -> tuple[bool, int]:
        while True:
            first, value = self.head()
            major = first >> 5
            if major in (UINT, NEGATIVE):
                assert value is not None
                return major == NEGATIVE, value
            if major != TAG:
                self._unexpected(first, value, "integer")
            if value in (_BIG_POSITIVE, _BIG_NEGATIVE):
                return value == _BIG_NEGATIVE, self._bignum()

    def _bignum(self) -> int:
        first, length = self.head()
        if first >> 5 != BYTES:
            self._unexpected(first, length, "bytes")
        raw = self._pieces(BYTES, length).lstrip(b"\0")
        if len(raw) > 16:
            raise semantic("bigint too large")
        return int.from_bytes(raw, "big")

    def float64(self) -> float:
        """A float of any width; integers are refused."""
        first, value = self.untagged()
        if first not in _FLOATS:
            self._unexpected(first, value, "float")
        bits = float_bits(self.data[self.pos - (1 << (first & 31) - 24) : self.pos])
        (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
        return float(number)

    def boolean(self) -> bool:
        """False or true."""
        while True:
            at = self.pos
            first, value = self.head()
            if first >> 5 != TAG:
                break
        simple = _SIMPLE.get((first, value))
        if simple not in (FALSE, TRUE):
            raise deserialization(f'Semantic(Some({at}), "expected bool")')
        return simple == TRUE

    def none(self) -> bool:
        """Whether null or undefined comes, which is taken; anything else is left."""
        at = self.pos
        first, value = self.head()
        if _SIMPLE.get((first, value)) in (NULL, UNDEFINED):
            return True
        self.pos = at
        return False

    def string(self) -> str:
        """A text of any length, in one piece or several."""
        first, length = self.untagged()
        if first >> 5 != TEXT:
            self._unexpected(first, length, "string")
        if length is None:
            return self._pieces(TEXT, None).decode()
        return self._text(length)

    def identifier(self) -> str:
        """A field's or a variant's name, which may come as bytes; what is no UTF-8 in those is replaced."""
        while True:
            at = self.pos
            first, length = self.head()
            if first >> 5 != TAG:
                break
        if first >> 5 not in (TEXT, BYTES) or length is None or length > _MAX_IDENTIFIER:
            self._unexpected(first, length, "str or bytes")
        if first >> 5 == BYTES:
            return self._take(length).decode(errors="replace")
        return self._text(length, at)

    def fields(self) -> Iterator[None]:
        """Once for each pair of a map, whose key and value the caller then takes."""
        return self._items(MAP, "map")

    def uints(self) -> Iterator[int]:
        """The unsigned integers of an array, or the bytes of a byte string."""
        first, length = self.untagged()
        if first >> 5 == BYTES:
            yield from self._pieces(BYTES, length)
            return
        if first >> 5 != ARRAY:
            self._unexpected(first, length, "array")
        for _ in self._open(length):
            yield self.uint()

    def tuple(self, size: int, bits: int = 64) -> tuple[int, ...]:
        """The first `size` unsigned integers of an array or byte string; more stay in the stream."""
        depth = self.depth
        found: list[int] = []
        for value in self.uints():
            if value >> bits:
                raise semantic(f"invalid value: integer `{value}`, expected u{bits}")
            found.append(value)
            if len(found) == size:
                self.depth = depth
                return tuple(found)
        what = "a tuple" if bits == 64 else "an array"
        ending = f"of size {size}" if bits == 64 else f"of length {size}"
        raise semantic(f"invalid length {len(found)}, expected {what} {ending}")

    def variant(self, names: Sequence[str]) -> str:
        """The name of an enum's variant; the caller takes its payload, if any, then calls `end_variant`."""
        while True:
            at = self.pos
            first, length = self.head()
            if first >> 5 != TAG:
                break
        if first >> 5 == TEXT:
            self.pos = at
        elif first >> 5 != MAP or length != 1:
            self._unexpected(first, length, "enum")
        self.depth -= 1
        name = self.identifier()
        if name not in names:
            raise semantic(f"unknown variant `{name}`, expected {_one_of(names)}")
        return name

    def end_variant(self) -> None:
        """One level up again, after the payload."""
        self.depth += 1

    def skip(self) -> None:
        """Pass over the next item, however many items it holds, in memory that its depth bounds."""
        data, size = self.data, len(self.data)
        outer: list[int] = []
        left = 1
        while True:
            while left == 0:
                if not outer:
                    return
                left = outer.pop()
            pos = self.pos
            if pos >= size:
                raise end_of_data()
            length = _FIXED[data[pos]]
            if length == 1:
                runs = _SHORT_OR_EMPTY if len(outer) < self.depth else _SHORT
                run = runs.match(data, pos, size if left in _UNCOUNTED else min(pos + left, size))
                if run is None:
                    raise deserialization("RecursionLimitExceeded")
                self.pos = run.end()
                left = _after(left, self.pos - pos)
            elif length:
                if pos + length > size:
                    raise end_of_data()
                self.pos = pos + length
                left = _after(left, 1)
            elif 0x80 < (first := data[pos]) < 0x98 and len(outer) < self.depth:
                outer.append(_after(left, 1))
                self.pos, left = pos + 1, first - 0x80  # an array of up to 23 items
            else:
                left = self._skip_head(left, outer)

    def _skip_head(self, left: int, outer: list[int]) -> int:
        """Pass over the next item, or its head where it holds others; `left` of the container it is in."""
        first, value = self.head()
        major = first >> 5
        if first == BREAK:
            if left not in (_UNTIL_BREAK, _KEY_OR_BREAK):
                self._unexpected(first, value, "non-break")
            return outer.pop()
        if major in (ARRAY, MAP) or (major == TAG and not self._pass_bignum(value)):
            if len(outer) >= self.depth:
                raise deserialization("RecursionLimitExceeded")
            outer.append(_after(left, 1))
            return _wanted(major, value)
        if major == TEXT and value is not None:
            self._text(value)
        elif major in (TEXT, BYTES):
            self._pieces(major, value, keep=False)
        elif major == OTHER and (first, value) not in _SIMPLE:
            self._unexpected(first, value, "known simple value")
        return _after(left, 1)

    def _pass_bignum(self, tag: int | None) -> bool:
        """Whether the item under `tag` is the number of a bignum, which is then passed over."""
        at = self.pos
        first, length = self.head()
        if tag not in (_BIG_POSITIVE, _BIG_NEGATIVE) or first >> 5 != BYTES or length is None or length > 16:
            self.pos = at
            return False
        value = int.from_bytes(self._take(length), "big")
        if tag == _BIG_NEGATIVE and value >> 127:
            raise semantic("integer too large")
        return True

    def _items(self, major: int, kind: str) -> Iterator[None]:
        first, length = self.untagged()
        if first >> 5 != major:
            self._unexpected(first, length, kind)
        return self._open(length)

    def _open(self, length: int | None) -> Iterator[None]:
        """One level deeper, once for each of `length` items, or up to the break."""
        self.depth -= 1
        if length is None:
            while True:
                if self.pos >= len(self.data):
                    raise end_of_data()
                if self.data[self.pos] == BREAK:
                    self.pos += 1
                    break
                yield
        else:
            while length:
                length -= 1
                yield
        self.depth += 1

    def _take(self, length: int) -> bytes:
        stop = self.pos + length
        if stop > len(self.data):
            raise end_of_data()
        taken = self.data[self.pos : stop]
        self.pos = stop
        return taken

    def _text(self, length: int, at: int | None = None) -> str:
        raw = self._take(length)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise _syntax(self.pos - length - len(head(TEXT, length)) if at is None else at) from None

    def _pieces(self, major: int, length: int | None, *, keep: bool = True) -> bytes:
        """The bytes of an item of `length`, or of its pieces up to the break that ends it."""
        if length is not None:
            return self._take(length)
        whole = bytearray()
        nested = 1
        while nested:
            at = self.pos
            first, length = self.head()
            if first == BREAK:
                nested -= 1
            elif first >> 5 != major:
                raise _syntax(at)
            elif length is None:
                nested += 1
            else:
                piece = self._text(length, at).encode() if major == TEXT else self._take(length)
                if keep:
                    whole += piece
        return bytes(whole)

    def _unexpected(self, first: int, value: int | None, kind: str) -> NoReturn:
        raise semantic(f"invalid type: {self._what(first, value)}, expected {kind}")

    def _what(self, first: int, value: int | None) -> str:
        """How serde calls the item of this head."""
        major, minor = first >> 5, first & 31
        if major == UINT:
            return f"integer `{value}`"
        if major == NEGATIVE:
            wrapped = -1 - (value or 0)
            return f"integer `{wrapped if wrapped >= -1 - _I64 else wrapped + (1 << 64)}`"
        if first in _FLOATS:
            bits = float_bits(self.data[self.pos - (1 << minor - 24) : self.pos])
            (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
            shown = display_float(number)
            return f"floating point `{shown if '.' in shown or not math.isfinite(number) else shown + '.0'}`"
        if major == OTHER:
            if first == BREAK:
                return "break"
            return _NAMED[_SIMPLE[first, value]] if (first, value) in _SIMPLE else "simple"
        return {BYTES: "bytes", TEXT: "string", ARRAY: "sequence", MAP: "map", TAG: "tag"}[major]


def semantic(detail: str) -> BurnpackError:
    """Well-formed CBOR that is not what the place wants."""
    return deserialization(f"Semantic(None, {debug_str(detail)})")


def end_of_data() -> BurnpackError:
    """The metadata ends within an item."""
    return deserialization('Io(Error { kind: UnexpectedEof, message: "failed to fill whole buffer" })')


def _syntax(at: int) -> BurnpackError:
    return deserialization(f"Syntax({at})")


def _after(left: int, taken: int) -> int:
    """What a container that wanted `left` items wants after `taken` of them."""
    if left not in _UNCOUNTED:
        return left - taken
    if left == _UNTIL_BREAK or taken % 2 == 0:
        return left
    return _VALUE if left == _KEY_OR_BREAK else _KEY_OR_BREAK


def _wanted(major: int, length: int | None) -> int:
    """How many items the container of this head holds: a tag holds one."""
    if major == TAG:
        return 1
    if length is None:
        return _UNTIL_BREAK if major == ARRAY else _KEY_OR_BREAK
    return length if major == ARRAY else 2 * length


def _one_of(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 2:
        return " or ".join(quoted)
    return f"one of {', '.join(quoted)}"
