"""Codes as stored bytes: one a byte, or several in a word along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TensorError
from .scheme import QuantScheme, QuantValue


def word_codes(scheme: QuantScheme) -> tuple[int, int]:
    """How many codes a stored word holds, and how many bytes a word has (QNT-2, QNT-29)."""
    match scheme.store.kind:
        case "Native":
            return 1, 1
        case "PackedU32":
            return 32 // scheme.value.bits, 4
        case _:
            return scheme.value.native_packing, 1


def check_axis(scheme: QuantScheme, rank: int) -> None:
    """Refuse a packing axis that a tensor of `rank` axes does not have; a scalar has axis 0.

    Raises:
        TensorError: as above.

    Clauses: QNT-29.
    """
    if scheme.store.is_packed and scheme.store.axis >= max(rank, 1):
        raise TensorError(
            f"a store packed along dim {scheme.store.axis} from the innermost needs more than {rank} dims",
            clause="QNT-29",
            hint="axes are counted from the innermost, which is 0",
        )


def is_flat(scheme: QuantScheme, shape: tuple[int, ...]) -> bool:
    """Whether codes in row-major order fill whole words, so that any run of words can be packed alone."""
    codes, _ = word_codes(scheme)
    return not scheme.store.is_packed or (scheme.store.axis == 0 and bool(shape) and shape[-1] % codes == 0)


def pack_flat(codes: NDArray[Any], scheme: QuantScheme) -> NDArray[Any]:
    """`codes` (u8, two's complement, whole words, one axis) as stored bytes, low bits first (QNT-29)."""
    if not scheme.store.is_packed:
        return codes
    bits, (count, _) = scheme.value.bits, word_codes(scheme)
    if count == 1 or bits == 8:
        return codes & np.uint8((1 << bits) - 1) if bits < 8 else codes
    wide = codes.view("<u2") & np.uint16(0x0F0F if bits == 4 else 0x0303)
    wide |= wide >> np.uint16(8 - bits)
    pairs = wide.astype(np.uint8)
    if bits == 4:
        return pairs
    fours = pairs.view("<u2") & np.uint16(0x0F0F)
    fours |= fours >> np.uint16(4)
    return fours.astype(np.uint8)


def unpack_flat(data: NDArray[Any], scheme: QuantScheme) -> NDArray[Any]:
    """The codes (u8, two's complement) in stored bytes of whole words."""
    bits, (count, _) = scheme.value.bits, word_codes(scheme)
    if not scheme.store.is_packed or bits == 8:
        return data
    if count == 1:
        return _extended(data, scheme.value)
    if bits == 2:
        data = _halves(data, 4, 0x0F0F)
        return _extended(_halves(data, 2, 0x0303), scheme.value)
    return _extended(_halves(data, 4, 0x0F0F), scheme.value)


def _halves(data: NDArray[Any], bits: int, mask: int) -> NDArray[Any]:
    wide = data.astype("<u2")
    wide |= wide << np.uint16(8 - bits)
    wide &= np.uint16(mask)
    return wide.view(np.uint8)


def _extended(codes: NDArray[Any], value: QuantValue) -> NDArray[Any]:
    """Codes of few bits with their sign in all bits above; those of small floats have none."""
    if value.is_float:
        return codes
    sign = np.uint8(1 << (value.bits - 1))
    return (codes ^ sign) - sign


def pack(codes: NDArray[Any], scheme: QuantScheme) -> NDArray[Any]:
    """`codes` (u8, in the shape of the tensor) as stored bytes.

    The packed axis trades places with the last one, and each row fills whole words of its own.

    Burn: burn_std::tensor::quantization::packing::PackedOrder::pack
    Clauses: QNT-29.
    """
    check_axis(scheme, codes.ndim)
    rows = np.atleast_1d(codes).swapaxes(-1 - scheme.store.axis, -1)
    missing = -rows.shape[-1] % word_codes(scheme)[0]
    if missing:
        rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)])
    return pack_flat(np.ascontiguousarray(rows).reshape(-1), scheme)


def unpack(data: NDArray[Any], scheme: QuantScheme, shape: tuple[int, ...]) -> NDArray[Any]:
    """The codes (u8) of a tensor of `shape` in stored bytes (QNT-29, QNT-30)."""
    check_axis(scheme, len(shape))
    swapped = list(shape or (1,))
    axis = -1 - scheme.store.axis
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    extent = swapped[-1]
    swapped[-1] += -extent % word_codes(scheme)[0]
    rows = unpack_flat(data, scheme).reshape(swapped)[..., :extent]
    return np.ascontiguousarray(rows.swapaxes(axis, -1)).reshape(shape)


def has_padding(scheme: QuantScheme, shape: tuple[int, ...]) -> bool:
    """Whether stored words may have bits that no code takes (QNT-29)."""
    codes, _ = word_codes(scheme)
    return scheme.store.is_packed and (codes == 1 or not is_flat(scheme, shape))


def stored_order(scales: NDArray[Any], grid: tuple[int, ...], scheme: QuantScheme) -> NDArray[Any]:
    """Block scales in the order of storage: the grid's axes trade places as the codes' do (QNT-30)."""
    if scheme.per_block is not None:
        return np.ascontiguousarray(scales.reshape(grid).swapaxes(-1 - scheme.store.axis, -1)).reshape(-1)
    return scales.reshape(-1)


def grid_order(scales: NDArray[Any], grid: tuple[int, ...], scheme: QuantScheme) -> NDArray[Any]:
    """Block scales of a file in row-major order over the grid (QNT-30)."""
    if scheme.per_block is not None:
        swapped = list(grid)
        axis = -1 - scheme.store.axis
        swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
        return np.ascontiguousarray(scales.reshape(swapped).swapaxes(axis, -1)).reshape(-1)
    return scales
