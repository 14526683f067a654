"""Every formula of quantisation against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from refimpl.burnpack.layout import byte_length
from refimpl.tensor import packing, quantizing, scales
from refimpl.tensor.blocks import BlockLayout
from refimpl.tensor.calibration import Calibration, CalibrationRange, QParams, compute_q_params, compute_range
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import Tensor

from . import quantised_exactly as exact

CPU = Device("cpu")
KINDS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
values = st.sampled_from(list(QuantValue))
scale_dtypes = st.sampled_from(list(ScaleDtype))
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
#: Numbers near each other, with halves, so that ties and small codes come up.
plain = st.one_of(singles, st.integers(-2048, 2048).map(lambda n: n / 16), st.floats(-8, 8, width=32))
positive = st.floats(min_value=2.0**-120, max_value=2.0**120, width=32)
extents = st.integers(1, 6)
shapes = st.lists(extents, min_size=1, max_size=3).map(tuple)


def f32(numbers: list[float] | NDArray[Any], shape: tuple[int, ...] | None = None) -> Tensor:
    array = np.asarray(numbers, np.float32)
    return Tensor.from_data(array if shape is None else array.reshape(shape), CPU)


@st.composite
def stores(draw: st.DrawFn, rank: int) -> QuantStore:
    axis = draw(st.integers(0, rank - 1))
    return draw(
        st.sampled_from([QuantStore.NATIVE, QuantStore.packed_u32(axis), QuantStore.packed_native(axis)])
    )


@st.composite
def arranged(draw: st.DrawFn) -> tuple[QuantScheme, tuple[int, ...]]:
    """A scheme of one level and a shape that its blocks divide."""
    block = draw(st.lists(extents, min_size=1, max_size=3))
    grid = draw(st.lists(st.integers(1, 3), min_size=len(block), max_size=len(block)))
    shape = tuple(a * b for a, b in zip(block, grid, strict=True))
    assume(math.prod(shape) <= 64)
    dtype = draw(scale_dtypes)
    per_block = draw(st.sampled_from([None, (BlockSize(block), dtype)]))
    per_tensor = None if per_block else dtype
    store = draw(stores(len(shape)))
    return QuantScheme(draw(values), store, per_tensor=per_tensor, per_block=per_block), shape


@pytest.mark.clause("QNT-13", "QNT-14")
@given(value=values, source=st.sampled_from(list(KINDS)), least=plain, greatest=plain)
def test_a_scale_is_twice_the_peak_over_the_width_each_step_rounded(
    value: QuantValue, source: str, least: float, greatest: float
) -> None:
    with np.errstate(over="ignore"):
        low, high = (np.array([x], KINDS[source]) for x in (min(least, greatest), max(least, greatest)))
    peak = max(abs(float(low[0])), abs(float(high[0])))
    assume(math.isfinite(peak))

    range_ = CalibrationRange(Tensor.from_data(low, CPU), Tensor.from_data(high, CPU))
    computed = compute_q_params(QuantScheme(value), range_).scales

    assert computed.dtype is DType.of(KINDS[source])
    assert float(computed.to_numpy()[0]) == float(exact.scale(peak, value, exact.SOURCES[source]))


@pytest.mark.clause("QNT-17")
@given(dtype=scale_dtypes, x=st.floats(min_value=0, width=32, allow_infinity=False, allow_nan=False))
def test_rounding_up_gives_the_smallest_scale_not_below(dtype: ScaleDtype, x: float) -> None:
    got = float(scales.round_up(np.array([x], np.float32), dtype)[0])

    assert got == float(exact.rounded_up(Fraction(x), dtype))


@pytest.mark.clause("QNT-17")
@given(dtype=scale_dtypes, x=st.floats(min_value=0, width=32, allow_nan=False))
def test_a_stored_scale_can_be_divided_by_and_covers_what_it_came_from(dtype: ScaleDtype, x: float) -> None:
    given_ = Fraction(x) if math.isfinite(x) else math.inf
    got = float(scales.validated(np.array([x], np.float32), dtype)[0])

    assert got == float(exact.stored_scale(given_, dtype))
    assert 0 < got < math.inf
    assert got >= x or x > float(scales.max_representable(dtype)) or x == math.inf


@pytest.mark.clause("QNT-30")
@given(dtype=scale_dtypes, x=st.floats(min_value=0, width=32, allow_nan=False))
def test_a_stored_scale_survives_its_bytes(dtype: ScaleDtype, x: float) -> None:
    kept = scales.validated(np.array([x], np.float32), dtype)
    raw = scales.to_bytes(kept, dtype)

    assert raw.tobytes() == exact.scale_bytes(Fraction(float(kept[0])), dtype)
    assert scales.from_bytes(raw, dtype).tobytes() == kept.tobytes()


@pytest.mark.clause("QNT-18", "QNT-19", "QNT-20", "QNT-21")
@given(value=values, by=positive, x=plain)
def test_a_code_is_the_nearest_to_the_quotient_ties_to_even_and_decodes_to_its_multiple_of_the_scale(
    value: QuantValue, by: float, x: float
) -> None:
    scheme = QuantScheme(value, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    quantised = f32([x, -x]).quantize(scheme, QParams(f32([by])))
    codes = quantised.codes().view(np.uint8).tolist()
    scale = Fraction(by)

    assert codes == [exact.code(x, scale, value), exact.code(-x, scale, value)]
    assert quantised.dequantize().to_numpy().tolist() == [
        exact.single(scale * exact.code_value(c, value)) for c in codes
    ]


@pytest.mark.clause("QNT-20", "QNT-21")
@pytest.mark.parametrize("value", [QuantValue.E4M3, QuantValue.E5M2, QuantValue.E2M1])
def test_every_small_float_is_its_own_code_and_half_way_between_two_the_even_one_is_taken(
    value: QuantValue,
) -> None:
    finite = {QuantValue.E4M3: 0x7F, QuantValue.E5M2: 0x7C, QuantValue.E2M1: 8}[value]
    exactly = [exact.code_value(bits, value) for bits in range(finite)]
    between = [(a + b) / 2 for a, b in pairwise(exactly)]
    scheme = QuantScheme(value, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)

    def codes(numbers: list[Fraction]) -> list[int]:
        given_ = f32([float(number) for number in numbers])
        return given_.quantize(scheme, QParams(f32([1.0]))).codes().view(np.uint8).tolist()

    assert codes(exactly) == list(range(finite))
    assert codes(between) == [bits + bits % 2 for bits in range(finite - 1)]


@pytest.mark.clause("QNT-9", "QNT-11", "QNT-13", "QNT-18", "QNT-28", "QNT-29", "QNT-30")
@given(made=arranged(), data=st.data())
def test_the_bytes_of_a_quantised_tensor_are_those_of_exact_arithmetic(
    made: tuple[QuantScheme, tuple[int, ...]], data: st.DataObject
) -> None:
    scheme, shape = made
    count = math.prod(shape)
    numbers = data.draw(st.lists(plain.filter(lambda x: abs(x) < 2.0**120), min_size=count, max_size=count))
    held = dict(zip(exact.indices(shape), numbers, strict=True))
    block = scheme.per_block[0].dims if scheme.per_block else shape
    peaks: dict[tuple[int, ...], float] = {}
    for place, x in held.items():
        peaks[at] = max(peaks.get(at := exact.block_of(place, block), 0.0), abs(x))
    kept = {
        at: exact.stored_scale(exact.scale(peak, scheme.value, exact.F32), scheme.scale_dtype)
        for at, peak in peaks.items()
    }
    codes = {p: exact.code(x, kept[exact.block_of(p, block)], scheme.value) for p, x in held.items()}
    grid = [extent // size for extent, size in zip(shape, exact_block(block, shape), strict=True)]
    expected = exact.packed(codes, shape, scheme) + b"".join(
        exact.scale_bytes(kept[at], scheme.scale_dtype) for at in grid_order(grid, scheme)
    )

    quantised = f32(numbers, shape).quantize_dynamic(scheme)
    assert bytes(quantised.to_data().bytes) == expected
    assert quantised.dequantize().to_numpy().reshape(-1).tolist() == [
        exact.single(kept[exact.block_of(p, block)] * exact.code_value(codes[p], scheme.value)) for p in held
    ]


def exact_block(block: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    return [1] * (len(shape) - len(block)) + list(block)


def grid_order(grid: list[int], scheme: QuantScheme) -> list[tuple[int, ...]]:
    """The blocks in the order of storage: two axes trade places with a packed axis further out (QNT-30)."""
    axes = list(range(len(grid)))
    if scheme.store.is_packed and scheme.per_block:
        axis = len(grid) - 1 - scheme.store.axis
        axes[axis], axes[-1] = axes[-1], axes[axis]
    swapped = exact.indices([grid[a] for a in axes])
    return [tuple(place[axes.index(a)] for a in range(len(grid))) for place in swapped]


@pytest.mark.clause("QNT-15")
@given(
    value=values,
    dtype=st.sampled_from([ScaleDtype.F16, ScaleDtype.UE4M3]),
    numbers=st.lists(plain.filter(lambda x: x == 0 or 2.0**-60 < abs(x) < 2.0**60), min_size=8, max_size=8),
)
def test_two_levels_split_the_scales_by_the_largest(
    value: QuantValue, dtype: ScaleDtype, numbers: list[float]
) -> None:
    scheme = QuantScheme(value, per_tensor=ScaleDtype.F32, per_block=(BlockSize([4]), dtype))
    range_ = compute_range(scheme, f32(numbers), Calibration.MIN_MAX)
    whole_scales = [
        Fraction(exact.scale(max(map(abs, numbers[i : i + 4])), value, exact.F32)) for i in (0, 4)
    ]
    top = exact.SCALES[dtype].max
    above = max(Fraction(exact.F32.nearest(max(whole_scales) / top)), Fraction(2) ** -126)
    params = compute_q_params(scheme, range_)

    assert params.global_scale is not None
    assert params.global_scale.to_numpy().tolist() == [float(above)]
    assert params.scales.to_numpy().tolist() == [exact.single(s / above) for s in whole_scales]


@pytest.mark.clause("QNT-16")
@given(numbers=st.lists(plain.filter(lambda x: abs(x) < 2.0**100), min_size=1, max_size=12))
def test_the_mean_of_absolute_values_is_summed_from_left_to_right(numbers: list[float]) -> None:
    total = Fraction(0)
    for x in numbers:
        total = Fraction(exact.F32.nearest(total + abs(Fraction(x))))
    mean = exact.single(total / len(numbers))
    range_ = compute_range(QuantScheme(), f32(numbers), Calibration.ABS_MEAN)

    assert (range_.min.to_numpy().tolist(), range_.max.to_numpy().tolist()) == ([-mean], [mean])


@pytest.mark.clause("QNT-11")
@given(made=arranged(), data=st.data())
def test_the_range_of_a_block_is_its_least_and_its_greatest_value(
    made: tuple[QuantScheme, tuple[int, ...]], data: st.DataObject
) -> None:
    scheme, shape = made
    assume(scheme.per_block is not None)
    assert scheme.per_block is not None
    count = math.prod(shape)
    numbers = data.draw(st.lists(singles, min_size=count, max_size=count))
    held: dict[tuple[int, ...], list[float]] = {}
    for place, x in zip(exact.indices(shape), numbers, strict=True):
        held.setdefault(exact.block_of(place, scheme.per_block[0].dims), []).append(x)
    range_ = compute_range(scheme, f32(numbers, shape), Calibration.MIN_MAX)
    blocks = list(exact.indices(range_.min.shape))

    assert range_.min.to_numpy().reshape(-1).tolist() == [min(held[at]) for at in blocks]
    assert range_.max.to_numpy().reshape(-1).tolist() == [max(held[at]) for at in blocks]


@pytest.mark.clause("QNT-29")
@given(shape=shapes, value=values, data=st.data())
def test_packing_is_what_shifting_integers_gives_and_unpacking_is_its_inverse(
    shape: tuple[int, ...], value: QuantValue, data: st.DataObject
) -> None:
    scheme = QuantScheme(value, data.draw(stores(len(shape))), per_tensor=ScaleDtype.F32)
    low, high = (0, (1 << value.bits) - 1) if value.is_float else exact.RANGES[value.name]
    count = math.prod(shape)
    codes = data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    array = np.array(codes, np.int64).astype(np.uint8).reshape(shape)
    raw = packing.pack(array, scheme)
    held = dict(zip(exact.indices(shape), array.reshape(-1).tolist(), strict=True))

    assert raw.tobytes() == exact.packed(held, shape, scheme)
    assert packing.unpack(raw, scheme, shape).tolist() == array.tolist()


@pytest.mark.clause("QNT-28", "QNT-29", "QNT-30")
@pytest.mark.report("BL-05")
@given(made=arranged())
def test_the_length_is_the_same_by_counting_by_the_container_and_in_fact(
    made: tuple[QuantScheme, tuple[int, ...]],
) -> None:
    scheme, shape = made
    data = f32([1.0] * math.prod(shape), shape).quantize_dynamic(scheme).to_data()

    assert data.bytes.nbytes == byte_length(data.dtype, shape) == quantizing.byte_length(scheme, shape)


@pytest.mark.clause("QNT-8", "QNT-9")
@given(made=arranged())
def test_folded_axes_give_every_value_the_scale_of_its_block(
    made: tuple[QuantScheme, tuple[int, ...]],
) -> None:
    scheme, shape = made
    assume(scheme.per_block is not None)
    assert scheme.per_block is not None
    layout = BlockLayout.of(shape, scheme)
    numbered = np.arange(layout.num_blocks, dtype=np.float32)
    spread = np.broadcast_to(layout.spread(numbered), layout.folded()[0]).reshape(shape)
    places = {at: i for i, at in enumerate(exact.indices(layout.grid))}

    assert {p: int(spread[p]) for p in exact.indices(shape)} == {
        p: places[exact.block_of(p, scheme.per_block[0].dims)] for p in exact.indices(shape)
    }


@st.composite
def stored(draw: st.DrawFn) -> tuple[QuantScheme, tuple[int, ...]]:
    """A scheme of one level and any shape: blocks may be cut off at the edge."""
    shape = draw(shapes)
    block = draw(st.lists(extents, min_size=1, max_size=len(shape)))
    dtype = draw(scale_dtypes)
    per_block = draw(st.sampled_from([None, (BlockSize(block), dtype)]))
    store = draw(stores(len(shape)))
    return QuantScheme(
        draw(values), store, per_tensor=None if per_block else dtype, per_block=per_block
    ), shape


@pytest.mark.clause("QNT-9", "QNT-21", "QNT-28", "QNT-29", "QNT-30")
@given(made=stored(), data=st.data())
def test_stored_bytes_of_any_layout_decode_to_codes_times_the_scales_of_their_blocks(
    made: tuple[QuantScheme, tuple[int, ...]], data: st.DataObject
) -> None:
    scheme, shape = made
    block = scheme.per_block[0].dims if scheme.per_block else shape
    value, count = scheme.value, math.prod(shape)
    low, high = (0, (1 << value.bits - 1) - 1) if value.is_float else exact.RANGES[value.name]
    top = {QuantValue.E4M3: 0x7E, QuantValue.E5M2: 0x7B}.get(value, high)
    drawn = data.draw(st.lists(st.integers(low, top), min_size=count, max_size=count))
    codes = {p: c & 0xFF for p, c in zip(exact.indices(shape), drawn, strict=True)}
    grid = [-(-extent // size) for extent, size in zip(shape, exact_block(block, shape), strict=True)]
    kept = {
        at: exact.stored_scale(Fraction(data.draw(positive)), scheme.scale_dtype)
        for at in exact.indices(grid)
    }
    raw = exact.packed(codes, shape, scheme) + b"".join(
        exact.scale_bytes(kept[at], scheme.scale_dtype) for at in grid_order(grid, scheme)
    )
    tensor = Tensor.from_data(TensorData(DType.qfloat(scheme), shape, raw), CPU)

    assert bytes(tensor.to_data().bytes) == raw
    assert tensor.dequantize().to_numpy().reshape(-1).tolist() == [
        exact.single(kept[exact.block_of(p, block)] * exact.code_value(codes[p], value)) for p in codes
    ]
