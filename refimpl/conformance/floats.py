"""The bits of floats, compared without an array library."""

from __future__ import annotations

#: Bits of an element, and of its exponent, by dtype name of the protocol.
FLOAT_BITS = {"f64": 64, "f32": 32, "flex32": 32, "f16": 16, "bf16": 16}
_EXPONENT = {"f64": 11, "f32": 8, "flex32": 8, "f16": 5, "bf16": 8}


def _bits(word: str) -> int:
    return int.from_bytes(bytes.fromhex(word), "little")


def is_nan(dtype: str, bits: int) -> bool:
    """Whether the exponent is all ones and the fraction is not zero."""
    fraction = FLOAT_BITS[dtype] - 1 - _EXPONENT[dtype]
    infinity = ((1 << _EXPONENT[dtype]) - 1) << fraction
    return bits & ((1 << (FLOAT_BITS[dtype] - 1)) - 1) > infinity


def same_bits(dtype: str, first: str, second: str, *, nan_payload: bool) -> bool:
    """Whether two elements (little-endian hex) are equal bit for bit, any NaN being like any other."""
    if first == second:
        return True
    return not nan_payload and is_nan(dtype, _bits(first)) and is_nan(dtype, _bits(second))


def ulp_distance(dtype: str, first: str, second: str) -> float:
    """How many representable numbers apart two elements are; infinite when one is NaN or infinite."""
    width, fraction = FLOAT_BITS[dtype], FLOAT_BITS[dtype] - 1 - _EXPONENT[dtype]
    infinity = ((1 << _EXPONENT[dtype]) - 1) << fraction
    places = []
    for word in (first, second):
        bits = _bits(word)
        magnitude = bits & ((1 << (width - 1)) - 1)
        if magnitude >= infinity:
            return float("inf")
        places.append(-magnitude if bits >> (width - 1) else magnitude)
    return abs(places[0] - places[1])
