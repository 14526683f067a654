"""A weight and a low-rank change to it, summed row by row."""

from __future__ import annotations

from typing import Final

import numpy as np

from . import gradient, quantizing
from .core import AnyTensor
from .dtype import DType, Kind
from .float_tensor import Tensor
from .operands import of_operands
from .quantized import QuantizedTensor
from .reuse import uninitialized

#: Values of one tile of rows: the product of a tile stays in the cache.
TILE: Final = 1 << 17


def low_rank_sum(base: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    """`base + scale * (a @ b)` in the dtype of the factors; the scale comes after the product.

    Shapes: base [n, m] (or any shape of n * m values), a [n, r], b [r, m]. A dense base of another dtype is
    cast, a quantised one dequantised to the dtype of the factors.

    Clauses: LRA-5, REP-22.
    """
    if _is_tiled(base, a, b):
        return _in_tiles(base, a, b, scale)
    delta = ((a @ b) * scale).reshape(base.shape)
    if base.dtype.is_float and base.dtype != delta.dtype:
        cast = base.cast(delta.dtype)
        assert isinstance(cast, Tensor)
        base = cast
    return base + delta


def _is_tiled(base: Tensor, a: Tensor, b: Tensor) -> bool:
    """Whether the sum is large, plain enough and in one place: then no temporary is as large as it."""
    if base.size < TILE or base.rank != 2 or a.dtype is not b.dtype or a.dtype.itemsize < 4:
        return False
    if (base.shape[0], a.shape[1], base.shape[1]) != (a.shape[0], b.shape[0], b.shape[1]):
        return False
    if base.dtype.scheme is None:
        fits = base.dtype is a.dtype
    else:  # codes are decoded in f32, whatever comes after (QNT-21)
        fits = a.dtype is DType.F32 and quantizing.has_row_tiles(base.dtype.scheme, base.shape)
    return fits and base.device.space.is_host


def _in_tiles(base: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    device, state = of_operands("Matmul", a, b)
    product = AnyTensor.classes[Kind.FLOAT]._made(a._array, device, a.dtype, gradient.fresh(device))
    device, other = of_operands("Add", base, product)
    state = gradient.of_operation(other, state)
    kind = a.dtype.numpy
    rows, columns = base.shape
    step = max(1, TILE // columns)
    fill = None
    if isinstance(base, QuantizedTensor):
        step = quantizing.row_step(base.scheme, base.shape, step)
        fill = quantizing.row_decoder(base._array, base.scheme, base.shape)
    out = uninitialized((rows, columns), kind)
    factor = kind.type(scale)
    with np.errstate(all="ignore"):
        for start in range(0, rows, step):
            stop = min(rows, start + step)
            tile = out[start:stop]
            delta = a._array[start:stop] @ b._array
            delta *= factor
            if fill is None:
                np.add(base._array[start:stop], delta, out=tile)
            else:
                fill(start, tile)
                tile += delta
    return Tensor._made(out, device, a.dtype, state)
