"""Codes: values already divided by their scale as small integers and small floats, and back."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .scheme import QuantValue

F32: Final = np.dtype("<f4")
#: Adding it leaves the nearest integer, ties to even, in the low bits of the sum (QNT-19).
_ROUNDER: Final = np.float32(1.5 * 2**23)
#: The bits of an f32 that decide about no code but by being all zero or not.
_UPPER_SHIFT: Final = np.uint32(15)
_LOWER: Final = np.int32((1 << 15) - 1)

#: Every stored byte.
BYTES: Final = np.arange(256, dtype=np.uint8)

#: The NaN that decoding gives, whatever the sign and payload of the code.
_DECODED_NAN: Final = np.uint32(0x7FFFE000)


class Scratch:
    """Arrays that the encoding of one tile after the other uses again."""

    def __init__(self, size: int) -> None:
        self.values = np.empty(size, F32)
        self.words = np.empty(size, np.int32)
        self.places = np.empty(size, np.intp)
        self.codes = np.empty(size, np.uint8)


class IntegerCodes:
    """Two's complement codes: the nearest integer, ties to even; NaN is 0.

    Clauses: QNT-19, QNT-21.
    """

    def __init__(self) -> None:
        self.table: NDArray[Any] = BYTES.view(np.int8).astype(F32)

    def encode(self, values: NDArray[Any], scratch: Scratch, out: NDArray[Any]) -> None:  # noqa: ARG002
        """Fill `out` (u8) with the codes of `values`, which are overwritten and lie within the range."""
        if np.isnan(np.dot(values, values)):
            values[np.isnan(values)] = 0
        np.add(values, _ROUNDER, out=values)
        np.copyto(out, values.view(np.int32), casting="unsafe")


class FloatCodes:
    """Codes of a small float with a sign, an exponent of bias `bias` and `mantissa` bits, ties to even.

    Values beyond the largest finite one were clamped to it before. The sign of a zero stays.

    Clauses: QNT-20, QNT-21.
    """

    def __init__(self, bits: int, mantissa: int, bias: int) -> None:
        self.bits = bits
        self._shift = np.int32(23 - mantissa)
        #: Half a step less one, and the exponent of the code below that of f32.
        self._nudge = np.int32((1 << (22 - mantissa)) - 1 - ((127 - bias) << 23))
        self._rebias = np.uint32((127 - bias) << mantissa)
        self._sign = bits - 1
        #: Below it, which is twice the smallest normal, values are counts of one spacing.
        self._counted = np.float32(2.0 ** (2 - bias))
        self._spacing = np.float32(2.0 ** (1 - bias - mantissa))
        #: Adding it leaves such a count, which is a code, in the low bits of the sum.
        self._aligner = np.float32(1.5 * 2.0 ** (23 + 1 - bias - mantissa))
        self.table = self._decoded()

    def encode(self, values: NDArray[Any], scratch: Scratch, out: NDArray[Any]) -> None:
        """Fill `out` (u8) with the codes of `values`.

        A code depends on the upper 17 bits of a value, and on whether a lower bit is set: the last of the 17
        is then set too, which crosses no point half way between two codes.
        """
        bits = values.view(np.int32)
        words = np.bitwise_and(bits, _LOWER, out=scratch.words[: bits.size])
        words += _LOWER
        words |= bits
        places = scratch.places[: bits.size]
        np.right_shift(words.view(np.uint32), _UPPER_SHIFT, out=places, casting="unsafe")
        _by_upper_bits(self).take(places, out=out, mode="clip")

    def rounded(self, values: NDArray[Any]) -> NDArray[Any]:
        """The codes of `values`.

        A normal's code is its exponent and mantissa, rounded as an integer; a small value's is a count of
        spacings. Whichever of the two is greater is the right one.
        """
        bits = values.view(np.int32)
        magnitude = bits & np.int32(0x7FFFFFFF)
        even = (magnitude >> self._shift) & np.int32(1)
        codes = (magnitude + even + self._nudge) >> self._shift
        counted = np.minimum(magnitude.view(F32), self._counted) + self._aligner
        codes = np.maximum(codes, counted.view(np.int32) & np.int32(0xFF))
        absent, negative = np.isnan(values), bits < 0
        codes[absent] = self._absent(bits[absent].view(np.uint32))
        if self.bits == 4:
            negative &= ~absent
        rounded: NDArray[Any] = (codes | negative.astype(np.int32) << self._sign).astype(np.uint8)
        return rounded

    def _absent(self, bits: NDArray[Any]) -> NDArray[Any]:
        """The codes of NaNs: all ones, the quiet NaN with the payload's top, or the largest value."""
        if self.bits == 4:
            return np.full(bits.shape, 0x7, np.uint8)
        if self._shift == 20:
            return np.full(bits.shape, 0x7F, np.uint8)
        return (np.uint32(0x7E) | (bits >> np.uint32(21)) & np.uint32(3)).astype(np.uint8)

    def _decoded(self) -> NDArray[Any]:
        """The value of each of the 256 codes; four-bit codes ignore their high bits."""
        codes = BYTES & np.uint32((1 << self.bits) - 1)
        magnitude = codes & np.uint32((1 << self._sign) - 1)
        normal = ((magnitude + self._rebias) << np.uint32(self._shift)).view(F32)
        upper = magnitude >> np.uint32(24 - int(self._shift))  # 0 for two exponents of one spacing
        table = np.where(upper == 0, magnitude.astype(F32) * self._spacing, normal)
        if self.bits == 8:
            top = np.uint32(0x7F) if self._shift == 20 else np.uint32(0x7C)
            if self._shift == 21:
                table = np.where(magnitude == top, np.float32("inf"), table)
        table = np.where(codes >> self._sign, -table, table).astype(F32)
        if self.bits == 8:
            absent = magnitude > top if self._shift == 21 else magnitude == top
            table.view(np.uint32)[absent] = _DECODED_NAN
        return table


@cache
def _by_upper_bits(codes: FloatCodes) -> NDArray[Any]:
    """The code of every value whose upper 17 bits are the index, and whose others are zero."""
    with np.errstate(all="ignore"):  # among all patterns there are signalling NaNs
        return codes.rounded((np.arange(1 << 17, dtype=np.uint32) << _UPPER_SHIFT).view(F32))


#: Bits, bits of the mantissa, and bias.
_FLOATS: Final = {QuantValue.E4M3: (8, 3, 7), QuantValue.E5M2: (8, 2, 15), QuantValue.E2M1: (4, 1, 1)}


@cache
def codec(value: QuantValue) -> IntegerCodes | FloatCodes:
    """What encodes and decodes the codes of `value`."""
    return FloatCodes(*_FLOATS[value]) if value.is_float else IntegerCodes()
