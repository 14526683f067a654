"""How many bytes a tensor of a dtype and a shape takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..tensor.dtype import DType
from ..tensor.scheme import QuantScheme

_U64: Final = (1 << 64) - 1


def byte_length(dtype: DType, shape: Sequence[int]) -> int | None:
    """The bytes of a tensor of `dtype` and `shape`; None where Burn's u64 overflows or no layout exists.

    >>> byte_length(DType.F32, (2, 3)), byte_length(DType.F32, (2**63, 2, 0))
    (24, None)

    Burn: burn_pack::base::validate_tensor_byte_len, burn_std::tensor::quantization::quantized_data_len
    Clauses: BPK-10, BPK-12, QNT-28, QNT-29, QNT-30.
    """
    if dtype.scheme is not None:
        return _quantized_length(dtype.scheme, shape)
    return _product((*shape, dtype.itemsize))


def _quantized_length(scheme: QuantScheme, shape: Sequence[int]) -> int | None:
    """Values, then block scales or the one scale, then the scale of the whole tensor of two levels."""
    word_bits = {"Native": 8, "PackedU32": 32}.get(
        scheme.store.kind, scheme.value.bits * scheme.value.native_packing
    )
    words = _words(scheme, shape, word_bits)
    scales = _scales(scheme, shape)
    if words is None or scales is None:
        return None
    value_bytes = _product((words, -(-word_bits // 8)))
    scale_bytes = _product((scales, scheme.scale_dtype.nbytes))
    if value_bytes is None or scale_bytes is None:
        return None
    whole = 0
    if scheme.has_two_levels and scheme.per_tensor is not None:
        whole = scheme.per_tensor.nbytes
    total = value_bytes + scale_bytes + whole
    return total if total <= _U64 else None


def _words(scheme: QuantScheme, shape: Sequence[int], word_bits: int) -> int | None:
    """Stored elements: a packed axis is rounded up to whole words, row by row (QNT-29)."""
    if not scheme.store.is_packed:
        return _product(shape)
    if not shape:
        return 1 if scheme.store.axis == 0 else None
    if scheme.store.axis >= len(shape):
        return None
    packed = len(shape) - 1 - scheme.store.axis
    codes = word_bits // scheme.value.bits
    return _product([-(-extent // codes) if axis == packed else extent for axis, extent in enumerate(shape)])


def _scales(scheme: QuantScheme, shape: Sequence[int]) -> int | None:
    """Scales of the innermost level: one a block, the block's extents right-aligned (QNT-30)."""
    if scheme.per_block is None:
        return 1
    block = scheme.per_block[0].dims
    if len(block) > len(shape) or 0 in block:
        return None
    aligned = (*(1,) * (len(shape) - len(block)), *block)
    return _product([-(-extent // size) for extent, size in zip(shape, aligned, strict=True)])


def _product(factors: Sequence[int]) -> int | None:
    """The product from left to right, or None as soon as 64 bits do not hold it."""
    total = 1
    for factor in factors:
        total *= factor
        if total > _U64:
            return None
    return total
