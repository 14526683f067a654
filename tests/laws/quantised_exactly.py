"""Quantisation again, in exact rational arithmetic: no NumPy, no table, one value at a time."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from refimpl.tensor.scheme import QuantScheme, QuantValue, ScaleDtype


@dataclass(frozen=True)
class Format:
    """A binary float: bits of its significand, its least normal exponent, its largest value."""

    precision: int
    least: int
    max: Fraction

    def spacing(self, x: Fraction) -> Fraction:
        """The distance of the values around `x`."""
        return Fraction(2) ** (max(exponent(x), self.least) - self.precision + 1)

    def nearest(self, x: Fraction) -> Fraction | float:
        """The value nearest to `x`, ties to the even one; infinite beyond the largest."""
        if x == 0:
            return Fraction(0)
        step = self.spacing(abs(x))
        rounded = round(abs(x) / step) * step  # Python rounds a fraction half to even
        if rounded > self.max:
            return math.copysign(math.inf, x)
        return rounded if x > 0 else -rounded

    def above(self, x: Fraction) -> Fraction:
        """The smallest value not below `x`, which is not negative; the largest for what is beyond it."""
        if x == 0 or x >= self.max:
            return Fraction(0) if x == 0 else self.max
        return math.ceil(x / self.spacing(x)) * self.spacing(x)


def exponent(x: Fraction) -> int:
    """The power of two at or below `x`, which is positive."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _ieee(precision: int, greatest: int) -> Format:
    top = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest
    return Format(precision, 1 - greatest, top)


F64, F32, F16, BF16 = _ieee(53, 1023), _ieee(24, 127), _ieee(11, 15), _ieee(8, 127)
E4M3, E5M2, E2M1 = Format(4, -6, Fraction(448)), _ieee(3, 15), Format(2, 0, Fraction(6))
SOURCES = {"F64": F64, "F32": F32, "F16": F16, "BF16": BF16}
SCALES = {ScaleDtype.F32: F32, ScaleDtype.F16: F16, ScaleDtype.BF16: BF16, ScaleDtype.UE4M3: E4M3}
FLOATS = {QuantValue.E4M3: E4M3, QuantValue.E5M2: E5M2, QuantValue.E2M1: E2M1}
#: The codes of QNT-1, written down again.
RANGES = {
    "Q8F": (-128, 127), "Q8S": (-127, 127), "Q4F": (-8, 7), "Q4S": (-7, 7), "Q2F": (-2, 1), "Q2S": (-1, 1),
    "E4M3": (-448, 448), "E5M2": (-57344, 57344), "E2M1": (-6, 6),
}  # fmt: skip


def scale(peak: float, value: QuantValue, source: Format) -> Fraction | float:
    """QNT-13: twice the peak over the width of the codes, each step rounded to the source."""
    low, high = RANGES[value.name]
    doubled, width = source.nearest(Fraction(peak) * 2), source.nearest(Fraction(high - low))
    if isinstance(doubled, float) or isinstance(width, float):
        return math.inf if isinstance(doubled, float) else Fraction(0)
    return source.nearest(doubled / width)


def rounded_up(x: Fraction, dtype: ScaleDtype) -> Fraction:
    """QNT-17: the smallest scale of `dtype` not below `x`."""
    if dtype is ScaleDtype.UE8M0:
        if x <= Fraction(2) ** -127:
            return Fraction(2) ** -127
        power = exponent(x)
        return Fraction(2) ** min(127, power if Fraction(2) ** power == x else power + 1)
    return SCALES[dtype].above(x)


def stored_scale(x: Fraction | float, dtype: ScaleDtype) -> Fraction:
    """The scale that is kept and divided by: never zero, never infinite."""
    if isinstance(x, Fraction):
        single = F32.nearest(x)
        if isinstance(single, Fraction) and (up := rounded_up(single, dtype)) > 0:
            return up
    elif dtype is not ScaleDtype.F32:
        return Fraction(2) ** 127 if dtype is ScaleDtype.UE8M0 else SCALES[dtype].max
    return rounded_up(Fraction(2) ** -126, dtype)


def code(x: float, by: Fraction, value: QuantValue) -> int:
    """QNT-18 to 20: the code of `x`, as bits."""
    low, high = RANGES[value.name]
    quotient = F32.nearest(Fraction(x) / by)
    clamped = min(max(quotient, Fraction(low)), Fraction(high))
    if value not in FLOATS:
        return round(Fraction(clamped)) & 0xFF
    form = FLOATS[value]
    near = form.nearest(Fraction(clamped))
    assert isinstance(near, Fraction)
    size, fraction_bits = abs(near), form.precision - 1
    if size < Fraction(2) ** form.least:
        bits = size / (Fraction(2) ** (form.least - fraction_bits))
    else:
        power = exponent(size)
        bits = (power - form.least + size / Fraction(2) ** power) * 2**fraction_bits
    assert bits.denominator == 1
    negative = math.copysign(1.0, x) < 0
    return int(bits) | (negative << (value.bits - 1))


def code_value(bits: int, value: QuantValue) -> Fraction:
    """QNT-21: what a code stands for."""
    if value not in FLOATS:
        return Fraction(bits - 256 if bits > 127 else bits)
    form, sign_at = FLOATS[value], value.bits - 1
    fraction_bits = form.precision - 1
    size = bits & ((1 << sign_at) - 1)
    power, rest = size >> fraction_bits, Fraction(size & ((1 << fraction_bits) - 1), 1 << fraction_bits)
    magnitude = (rest if power == 0 else 1 + rest) * Fraction(2) ** (max(power, 1) + form.least - 1)
    return -magnitude if bits >> sign_at & 1 else magnitude


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every place of an array in row-major order."""
    return product(*(range(extent) for extent in shape))


def block_of(place: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
    """QNT-8, QNT-9: the block of a place; a block of fewer axes stands on the last ones."""
    extents = [1] * (len(place) - len(block)) + list(block)
    return tuple(i // extent for i, extent in zip(place, extents, strict=True))


def packed(codes: dict[tuple[int, ...], int], shape: Sequence[int], scheme: QuantScheme) -> bytes:
    """QNT-29: the bytes of the codes: the packed axis trades places with the last, each row fills words."""
    if scheme.store.kind == "Native":
        return bytes(codes[place] for place in indices(shape))
    bits = scheme.value.bits
    word = 4 if scheme.store.kind == "PackedU32" else 1
    count = 32 // bits if word == 4 else (2 if scheme.value is QuantValue.E2M1 else 1)
    axes = list(range(len(shape)))
    axis = len(shape) - 1 - scheme.store.axis
    axes[axis], axes[-1] = axes[-1], axes[axis]
    swapped = [shape[a] for a in axes]
    out = b""
    for row in indices(swapped[:-1]):
        line = []
        for last in range(swapped[-1]):
            place = (*row, last)
            line.append(codes[tuple(place[axes.index(a)] for a in range(len(shape)))])
        for start in range(0, len(line), count):
            one = sum((c & (1 << bits) - 1) << bits * k for k, c in enumerate(line[start : start + count]))
            out += one.to_bytes(word, "little")
    return out


def scale_bytes(by: Fraction, dtype: ScaleDtype) -> bytes:
    """QNT-30: a scale in its own dtype."""
    match dtype:
        case ScaleDtype.F32:
            return struct.pack("<f", float(by))
        case ScaleDtype.F16:
            return struct.pack("<e", float(by))
        case ScaleDtype.BF16:
            return struct.pack("<f", float(by))[2:]
        case ScaleDtype.UE8M0:
            return bytes([exponent(by) + 127])
    return bytes([code(float(by), Fraction(1), QuantValue.E4M3)])


def single(x: Fraction) -> float:
    """`x` rounded to f32."""
    return float(F32.nearest(x))
