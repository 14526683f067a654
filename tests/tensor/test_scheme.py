from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, InvalidArgumentError, PanicError
from refimpl.tensor.scheme import BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype

Q, F32 = QuantValue, ScaleDtype.F32


@pytest.mark.clause("QNT-1")
@pytest.mark.parametrize(
    ("value", "bits", "low", "high", "symmetric"),
    [
        (Q.Q8F, 8, -128, 127, False),
        (Q.Q8S, 8, -127, 127, True),
        (Q.Q4F, 4, -8, 7, False),
        (Q.Q4S, 4, -7, 7, True),
        (Q.Q2F, 2, -2, 1, False),
        (Q.Q2S, 2, -1, 1, True),
        (Q.E4M3, 8, -448, 448, False),
        (Q.E5M2, 8, -57344, 57344, False),
        (Q.E2M1, 4, -6, 6, False),
    ],
)
def test_a_value_kind_has_its_bits_its_range_and_its_symmetry(
    value: QuantValue, bits: int, low: float, high: float, symmetric: bool
) -> None:
    assert (value.bits, value.range, value.is_symmetric) == (bits, (low, high), symmetric)
    assert value.is_float is value.name.startswith("E")
    assert value.native_packing == (2 if value is Q.E2M1 else 1)


@pytest.mark.clause("QNT-2")
def test_a_store_prints_as_burns_and_knows_whether_it_packs() -> None:
    stores = (QuantStore.NATIVE, QuantStore.packed_u32(0), QuantStore.packed_native(1))

    assert [repr(s) for s in stores] == ["Native", "PackedU32(0)", "PackedNative(1)"]
    assert [s.is_packed for s in stores] == [False, True, True]


@pytest.mark.clause("QNT-2")
@pytest.mark.parametrize("axis", [-1, 0.5, "0", None, True])
def test_a_packing_axis_is_an_integer_from_the_innermost(axis: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        QuantStore.packed_u32(axis)


@pytest.mark.clause("QNT-3")
def test_a_scheme_is_symmetric_unless_it_says_otherwise() -> None:
    assert QuantScheme().mode is QuantMode.SYMMETRIC
    assert "mode: Lookup" in repr(QuantScheme(mode=QuantMode.LOOKUP))


@pytest.mark.clause("QNT-4")
def test_a_scale_takes_one_two_or_four_bytes() -> None:
    assert [d.nbytes for d in ScaleDtype] == [4, 2, 2, 1, 1]


@pytest.mark.clause("QNT-5")
def test_a_scheme_without_a_level_resolves_to_one_scale_of_f32_and_is_another_scheme() -> None:
    bare, named = QuantScheme(), QuantScheme(per_tensor=F32)

    assert (bare.value, bare.store) == (Q.Q8F, QuantStore.packed_u32(0))
    assert bare.tensor_scale is bare.scale_dtype is F32
    assert bare != named
    assert len({bare, named, QuantScheme()}) == 2


@pytest.mark.clause("QNT-6")
@pytest.mark.parametrize(
    ("tensor", "block", "scale", "whole", "two"),
    [
        (None, None, "F32", "F32", False),
        ("F16", None, "F16", "F16", False),
        (None, "BF16", "BF16", None, False),
        ("F32", "UE4M3", "UE4M3", "F32", True),
    ],
)
def test_the_innermost_scale_is_that_of_the_blocks_where_there_are_any(
    tensor: str | None, block: str | None, scale: str, whole: str | None, two: bool
) -> None:
    scheme = QuantScheme(
        per_tensor=ScaleDtype[tensor] if tensor else None,
        per_block=(BlockSize([4]), ScaleDtype[block]) if block else None,
    )

    assert scheme.scale_dtype is ScaleDtype[scale]
    assert scheme.tensor_scale is (ScaleDtype[whole] if whole else None)
    assert scheme.has_two_levels is two


@pytest.mark.clause("QNT-7")
def test_leading_ones_of_a_block_are_dropped() -> None:
    assert BlockSize([1, 32]) == BlockSize([32]) != BlockSize([32, 1])
    assert BlockSize([1, 1]) == BlockSize([])
    assert BlockSize([1, 1, 2, 3, 4, 5, 6]).dims == (2, 3, 4, 5, 6)
    assert len({BlockSize([1, 32]), BlockSize([32])}) == 1


@pytest.mark.clause("QNT-7")
def test_more_axes_than_a_scheme_stores_are_refused_with_burns_text() -> None:
    with pytest.raises(PanicError, match="Tried creating a block size larger than the cap"):
        BlockSize([2, 2, 2, 2, 2, 2])


@pytest.mark.clause("QNT-7")
@pytest.mark.parametrize("extent", [-1, 256, 1.5, "4"])
def test_an_extent_of_a_block_fits_a_byte(extent: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        BlockSize([extent])


@pytest.mark.clause("QNT-2", "QNT-7")
def test_the_integers_of_numpy_are_integers() -> None:
    assert BlockSize(np.array([1, 32])) == BlockSize([32])
    assert QuantStore.packed_u32(np.int64(1)) == QuantStore.packed_u32(1)
    with pytest.raises(InvalidArgumentError, match="from 0 to 255, got 4"):
        BlockSize(4)  # type: ignore[arg-type]


def test_a_block_size_is_a_value() -> None:
    with pytest.raises(AttributeError):
        BlockSize([4]).dims = (5,)  # type: ignore[misc]
    assert BlockSize([4]) != (4,)


@pytest.mark.clause("QNT-10")
def test_nvfp4_is_four_bit_floats_in_blocks_of_sixteen_under_two_levels() -> None:
    scheme = QuantScheme.nvfp4()

    assert repr(scheme) == (
        "QuantScheme { value: E2M1, store: PackedNative(0), mode: Symmetric, tensor: Some(F32), "
        "block: Some(BlockScale { size: BlockSize([16]), dtype: UE4M3 }) }"
    )
    assert scheme.is_quantizable


@pytest.mark.clause("QNT-10")
@pytest.mark.parametrize("whole", list(ScaleDtype))
@pytest.mark.parametrize("block", list(ScaleDtype))
def test_two_levels_take_narrow_block_scales_below_one_of_f32(block: ScaleDtype, whole: ScaleDtype) -> None:
    scheme = QuantScheme(per_tensor=whole, per_block=(BlockSize([4]), block))

    assert scheme.is_quantizable is (whole is F32 and block.name in ("F16", "UE4M3"))


@pytest.mark.parametrize(
    "fields",
    [
        {"value": "Q8S"},
        {"store": "Native"},
        {"mode": 1},
        {"per_tensor": "F32"},
        {"per_block": BlockSize([4])},
    ],
    ids=str,
)
def test_a_part_of_another_type_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        QuantScheme(**fields)


@pytest.mark.clause("QNT-33")
def test_block_and_packing_axis_follow_their_axes() -> None:
    scheme = QuantScheme(store=QuantStore.packed_u32(0), per_block=(BlockSize([2, 4]), F32))
    turned = scheme.permuted([1, 0])

    assert turned.per_block == (BlockSize([4, 2]), F32)
    assert turned.store == QuantStore.packed_u32(1)
    assert turned.permuted([1, 0]) == scheme


@pytest.mark.parametrize(
    ("kind", "axis"), [("bogus", 0), (3, 0), ("PackedU32", -1), ("PackedU32", True), ("PackedNative", 0.5)]
)
def test_a_store_that_nobody_could_read_is_refused_where_it_is_made(kind: Any, axis: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        QuantStore(kind, axis)
