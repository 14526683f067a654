"""How many bytes the serialised form of a quantised tensor takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .packing import word_codes
from .scheme import QuantScheme

_U64: Final = (1 << 64) - 1


def stored_length(scheme: QuantScheme, shape: Sequence[int]) -> int | None:
    """Values, then block scales or the one scale, then the scale of the whole tensor of two levels.

    None where Burn's u64 overflows, or where no layout exists: a block with more axes than the tensor or an
    extent of 0, a packing axis that is not there. A block that the edge cuts off counts as a whole one.

    >>> stored_length(QuantScheme(), (3, 5))  # two words a row, and a scale
    28

    Burn: burn_std::tensor::quantization::quantized_data_len
    Clauses: QNT-28, QNT-29, QNT-30.
    """
    codes, word = word_codes(scheme)
    words = _words(scheme, shape, codes)
    scales = _scales(scheme, shape)
    if words is None or scales is None:
        return None
    value_bytes = product((words, word))
    scale_bytes = product((scales, scheme.scale_dtype.nbytes))
    if value_bytes is None or scale_bytes is None:
        return None
    whole = 0
    if scheme.has_two_levels and scheme.per_tensor is not None:
        whole = scheme.per_tensor.nbytes
    total = value_bytes + scale_bytes + whole
    return total if total <= _U64 else None


def _words(scheme: QuantScheme, shape: Sequence[int], codes: int) -> int | None:
    """Stored elements: a packed axis is rounded up to whole words, row by row (QNT-29)."""
    if not shape:
        return 1 if scheme.store.axis == 0 else None
    if scheme.store.axis >= len(shape):
        return None
    packed = len(shape) - 1 - scheme.store.axis
    return product([-(-extent // codes) if axis == packed else extent for axis, extent in enumerate(shape)])


def _scales(scheme: QuantScheme, shape: Sequence[int]) -> int | None:
    """Scales of the innermost level: one a block, the block's extents right-aligned (QNT-30)."""
    if scheme.per_block is None:
        return 1
    block = scheme.per_block[0].dims
    if len(block) > len(shape) or 0 in block:
        return None
    aligned = (*(1,) * (len(shape) - len(block)), *block)
    return product([-(-extent // size) for extent, size in zip(shape, aligned, strict=True)])


def product(factors: Sequence[int]) -> int | None:
    """The product from left to right, or None as soon as 64 bits do not hold it."""
    total = 1
    for factor in factors:
        total *= factor
        if total > _U64:
            return None
    return total
