"""Scales: rounded up into their own dtype, and as bytes."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..errors import TensorError
from .codes import Scratch, codec
from .scheme import QuantValue, ScaleDtype

F32: Final = np.dtype("<f4")
#: What takes the place of a scale that is nothing to divide by.
SMALLEST: Final = np.float32(2.0**-126)

# the largest value, and for narrow floats the step of the f32 bits, and from where on down which spacing
_MAX: Final[dict[ScaleDtype, np.float32]] = {
    ScaleDtype.F32: np.float32(2.0**127 * (2 - 2.0**-23)),
    ScaleDtype.F16: np.float32(65504.0),
    ScaleDtype.BF16: np.float32(2.0**127 * (2 - 2.0**-7)),
    ScaleDtype.UE8M0: np.float32(2.0**127),
    ScaleDtype.UE4M3: np.float32(448.0),
}
_GRID: Final = {
    ScaleDtype.F16: (1 << 13, 2.0**-14, 2.0**-24),
    ScaleDtype.BF16: (1 << 16, -np.inf, 1.0),  # as f32 has them
    ScaleDtype.UE4M3: (1 << 20, 2.0**-6, 2.0**-9),
}

# an infinity, past which every pattern is a NaN, and the bit of a quiet one
_SIGNALLING: Final = {
    ScaleDtype.F16: (np.uint16(0x7C00), np.uint16(0x0200)),
    ScaleDtype.BF16: (np.uint16(0x7F80), np.uint16(0x0040)),
}


def max_representable(dtype: ScaleDtype) -> np.float32:
    """The largest finite scale of `dtype` (QNT-4)."""
    return _MAX[dtype]


def round_up(scales: NDArray[Any], dtype: ScaleDtype) -> NDArray[Any]:
    """The smallest scales of `dtype` not below `scales` (f32); what is too large becomes the largest.

    Burn: cubecl_common::quant::scheme::ScaleDtype::round_up
    Clauses: QNT-17.
    """
    if dtype is ScaleDtype.F32:
        return scales
    bits: NDArray[Any] = scales.view(np.uint32)
    with np.errstate(all="ignore"):
        if dtype is ScaleDtype.UE8M0:
            fraction, exponent = np.frexp(scales)
            power = np.clip(exponent - (fraction == 0.5), -127, 127)
            rounded: NDArray[Any] = np.ldexp(np.float32(1), power).astype(F32)
            rounded = np.where(scales > 0, rounded, np.float32(2.0**-127))
            rounded = np.where(scales == np.inf, _MAX[dtype], rounded)
        else:
            step, min_normal, spacing = _GRID[dtype]
            on_grid = ((bits + np.uint32(step - 1)) & ~np.uint32(step - 1)).view(F32)
            below = scales < np.float32(min_normal)
            counted: NDArray[Any] = np.ceil(scales / np.float32(spacing)) * np.float32(spacing)
            rounded = np.where(below, counted, on_grid)
            rounded = np.minimum(rounded, _MAX[dtype])
    return np.where(np.isnan(scales), scales, rounded).astype(F32)


def validated(scales: NDArray[Any], dtype: ScaleDtype) -> NDArray[Any]:
    """The scales that are stored and divided by: rounded up, and never zero, infinite or NaN.

    Raises:
        TensorError: a scale is negative.

    Burn: burn_flex::ops::qtensor::validated_scale
    Clauses: QNT-17.
    """
    if np.any(scales < 0):
        raise TensorError(
            "a quantization scale is never negative",
            clause="QNT-17",
            hint="take the parameters from compute_q_params",
        )
    rounded = round_up(scales.astype(F32), dtype)
    usable = (rounded > 0) & np.isfinite(rounded)
    return np.where(usable, rounded, round_up(np.array(SMALLEST), dtype)).astype(F32)


def to_bytes(scales: NDArray[Any], dtype: ScaleDtype) -> NDArray[Any]:
    """Scales that are values of `dtype`, as their little-endian bytes (QNT-30)."""
    match dtype:
        case ScaleDtype.F32:
            stored: NDArray[Any] = scales.astype(F32)
        case ScaleDtype.F16:
            stored = scales.astype(np.dtype("<f2"))
        case ScaleDtype.BF16:
            stored = scales.astype(ml_dtypes.bfloat16)
        case ScaleDtype.UE4M3:
            flat = scales.astype(F32).reshape(-1)
            stored = np.empty(flat.size, np.uint8)
            codec(QuantValue.E4M3).encode(flat, Scratch(flat.size), stored)
        case ScaleDtype.UE8M0:
            stored = (scales.view(np.uint32) >> 23).astype(np.uint8)  # 2^-127, a subnormal, is 0
    return np.ascontiguousarray(stored).reshape(-1).view(np.uint8)


def from_bytes(data: NDArray[Any], dtype: ScaleDtype) -> NDArray[Any]:
    """The scales (f32) in the bytes `data` (QNT-30)."""
    match dtype:
        case ScaleDtype.F32:
            return np.frombuffer(data.tobytes(), F32)
        case ScaleDtype.F16:
            return np.frombuffer(data.tobytes(), "<f2").astype(F32)
        case ScaleDtype.BF16:
            return np.frombuffer(data.tobytes(), ml_dtypes.bfloat16).astype(F32)
        case ScaleDtype.UE4M3:
            decoded: NDArray[Any] = codec(QuantValue.E4M3).table[data]
            return decoded
        case ScaleDtype.UE8M0:
            bits = np.where(data == 0, np.uint32(0x00400000), data.astype(np.uint32) << 23)
            return np.where(data == 0xFF, np.float32("nan"), bits.astype(np.uint32).view(F32))


def quieted(data: NDArray[Any], dtype: ScaleDtype) -> NDArray[Any]:
    """Stored scales as Burn writes again what it has read as f32: a NaN is a quiet one, of UE4M3 0x7F."""
    if dtype in _SIGNALLING:
        least, quiet = _SIGNALLING[dtype]
        bits = np.frombuffer(data.tobytes(), "<u2")
        noisy = (bits & np.uint16(0x7FFF)) > least
        return np.where(noisy, bits | quiet, bits).view(np.uint8)
    return np.where(data == 0xFF, 0x7F, data).astype(np.uint8) if dtype is ScaleDtype.UE4M3 else data
