from __future__ import annotations

import numpy as np
import pytest

from refimpl.errors import PanicError, TensorError
from refimpl.tensor.blocks import BlockLayout, aligned
from refimpl.tensor.scheme import BlockSize, QuantScheme, ScaleDtype


def blocks(*extents: int) -> QuantScheme:
    return QuantScheme(per_block=(BlockSize(extents), ScaleDtype.F32))


@pytest.mark.clause("QNT-8")
@pytest.mark.parametrize(
    ("block", "rank", "extents"),
    [
        ((2, 4), 2, (2, 4)),
        ((2, 4), 3, (1, 2, 4)),
        ((4,), 3, (1, 1, 4)),
        ((2, 4), 1, (2,)),
        ((2, 3, 4), 2, (2, 3)),
        ((1, 32), 2, (1, 32)),
        ((1, 1), 2, (1, 1)),
        ((), 1, (1,)),
        ((2, 4), 0, ()),
    ],
)
def test_a_block_stands_on_the_last_axes_and_one_of_more_axes_keeps_its_first(
    block: tuple[int, ...], rank: int, extents: tuple[int, ...]
) -> None:
    assert aligned(BlockSize(block), rank) == extents


@pytest.mark.clause("QNT-9")
@pytest.mark.parametrize(
    ("shape", "block", "grid"),
    [
        ((4, 8), (2, 4), (2, 2)),
        ((4, 8), (8,), (4, 1)),
        ((2, 3, 32), (3, 16), (2, 1, 2)),
        ((4, 8), (1, 1), (4, 8)),
        ((0, 8), (4,), (0, 2)),
        ((8,), (2, 4), (4,)),
    ],
)
def test_the_grid_counts_the_blocks_along_each_axis(
    shape: tuple[int, ...], block: tuple[int, ...], grid: tuple[int, ...]
) -> None:
    layout = BlockLayout.of(shape, blocks(*block))

    assert layout.grid == grid
    assert layout.num_blocks == int(np.prod(grid))


@pytest.mark.clause("QNT-9")
def test_without_blocks_the_whole_tensor_is_one() -> None:
    layout = BlockLayout.of((4, 8), QuantScheme())

    assert (layout.block, layout.num_blocks) == ((4, 8), 1)


@pytest.mark.clause("QNT-12")
@pytest.mark.report("BL-35")
@pytest.mark.parametrize(
    ("shape", "block", "printed"),
    [
        ((2, 4), (3,), "[1, 3]"),
        ((6,), (4,), "[4]"),
        ((4, 10), (4,), "[1, 4]"),
        ((10,), (4,), "[4]"),
        ((2, 4), (8,), "[1, 8]"),
        ((2, 4), (0,), "[1, 0]"),
        ((3, 4), (2, 4), "[2, 4]"),
    ],
)
def test_a_block_that_does_not_divide_is_refused_with_shape_and_block(
    shape: tuple[int, ...], block: tuple[int, ...], printed: str
) -> None:
    with pytest.raises(TensorError) as caught:
        BlockLayout.of(shape, blocks(*block))

    dims = f"Tensor Shape {{ dims: {list(shape)} }}"
    assert str(caught.value) == f"{dims} must be evenly divisible by block size {printed}"
    assert "leave the parameter out by a group" in (caught.value.hint or "")


@pytest.mark.clause("QNT-12")
def test_a_zero_extent_of_a_block_is_divided_by_as_in_burn_where_the_tensor_is_empty() -> None:
    layout = BlockLayout.of((0,), blocks(0))
    with pytest.raises(PanicError, match="attempt to divide by zero"):
        _ = layout.grid


@pytest.mark.clause("QNT-9")
@pytest.mark.parametrize(
    ("shape", "block", "values", "scales"),
    [
        ((4, 8), (8,), (4, 8), (4, 1)),
        ((4, 8), (2, 4), (2, 2, 2, 4), (2, 1, 2, 1)),
        ((4, 8), (4, 1), (1, 4, 8), (1, 1, 8)),
        ((4, 8), (1, 1), (32,), (32,)),
        ((4, 8), (4, 8), (1, 4, 1, 8), (1, 1, 1, 1)),
    ],
)
def test_axes_that_only_count_blocks_fold_into_one(
    shape: tuple[int, ...], block: tuple[int, ...], values: tuple[int, ...], scales: tuple[int, ...]
) -> None:
    folded, spread = BlockLayout.of(shape, blocks(*block)).folded()

    assert (np.prod(folded), np.prod(spread)) == (32, BlockLayout.of(shape, blocks(*block)).num_blocks)
    assert (folded, spread) == (values, scales)
