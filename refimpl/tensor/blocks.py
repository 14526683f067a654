"""Which values of a tensor share one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..errors import PanicError, TensorError
from ..rust_text import debug_shape
from .scheme import BlockSize, QuantScheme


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The blocks of a tensor: rectangles of `block` values, one scale each, in row-major order over `grid`.

    Burn: burn_std::tensor::quantization::BlockLayout
    Clauses: QNT-8, QNT-9.
    """

    shape: tuple[int, ...]
    block: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], scheme: QuantScheme) -> BlockLayout:
        """The layout of `scheme` on `shape`; a scheme without blocks has one block, the whole tensor.

        A block of fewer axes stands on the last ones. One of more axes keeps its *first* (pinned, QNT-8).

        Raises:
            TensorError: an extent of the block does not divide that of the tensor, or that has no axes.

        Clauses: QNT-8, QNT-9, QNT-12.
        """
        if scheme.per_block is not None and not shape:
            raise TensorError(
                f"a tensor without axes has no blocks of {list(scheme.per_block[0].dims)}",
                clause="QNT-9",
                hint="give it an axis: tensor.reshape([1])",
            )
        layout = cls.covering(shape, scheme)
        if not layout.divides:
            raise TensorError(
                f"Tensor {debug_shape(shape)} must be evenly divisible by block size {list(layout.block)}",
                clause="QNT-12",
                hint="take a block that divides every extent, or leave the parameter out by a group",
            )
        return layout

    @classmethod
    def covering(cls, shape: tuple[int, ...], scheme: QuantScheme) -> BlockLayout:
        """The layout of stored data, where the edge of the tensor may cut blocks off (QNT-9, QNT-30)."""
        if scheme.per_block is None:
            return cls(shape, tuple(max(1, dim) for dim in shape))
        return cls(shape, aligned(scheme.per_block[0], len(shape)))

    @property
    def divides(self) -> bool:
        """Whether the tensor is whole blocks; one of extent 0 fits nothing but an extent of 0."""
        return not any(
            dim % extent if extent else dim for dim, extent in zip(self.shape, self.block, strict=True)
        )

    @property
    def grid(self) -> tuple[int, ...]:
        """How many blocks there are along each axis.

        Raises:
            PanicError: a block has an extent of 0.
        """
        if 0 in self.block:
            raise PanicError(
                "attempt to divide by zero", clause="QNT-9", hint="the extents of a block are from 1 to 255"
            )
        return tuple(-(-dim // extent) for dim, extent in zip(self.shape, self.block, strict=True))

    @property
    def num_blocks(self) -> int:
        """How many scales there are."""
        return math.prod(self.grid)

    @property
    def split(self) -> tuple[int, ...]:
        """The shape with every axis split in two: the blocks, and the values of one block."""
        return tuple(n for pair in zip(self.grid, self.block, strict=True) for n in pair)

    def folded(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The fewest axes that keep blocks apart: the shape of the values, and of the scales beside them.

        The first axis counts blocks only, so that a slice of it is a run of values with its own scales.

        >>> BlockLayout((4, 8), (1, 4)).folded()
        ((8, 4), (8, 1))
        """
        values: list[int] = [1]
        scales: list[int] = [1]
        for blocks, extent in zip(self.grid, self.block, strict=True):
            if scales[-1] == values[-1]:  # the axis before counts blocks too
                values[-1] *= blocks
                scales[-1] *= blocks
            else:
                values.append(blocks)
                scales.append(blocks)
            if extent != 1:
                values.append(extent)
                scales.append(1)
        return tuple(values), tuple(scales)

    def each(self, scales: NDArray[Any]) -> NDArray[Any]:
        """The scale of every value, also of those in blocks that the edge cuts off."""
        grid = scales.reshape(self.grid)
        for axis, extent in enumerate(self.block):
            if extent > 1:
                grid = grid.repeat(extent, axis)
        return grid[tuple(slice(dim) for dim in self.shape)]

    def spread(self, scales: NDArray[Any]) -> NDArray[Any]:
        """`scales`, one a block, in a shape that meets the folded values."""
        return scales.reshape(self.folded()[1])


def aligned(block: BlockSize, rank: int) -> tuple[int, ...]:
    """The extents of `block` on a tensor of `rank` axes (QNT-8).

    >>> aligned(BlockSize([2, 4]), 3), aligned(BlockSize([2, 4]), 1)
    ((1, 2, 4), (2,))
    """
    dims = block.dims
    return dims[:rank] if len(dims) >= rank else (1,) * (rank - len(dims)) + dims
