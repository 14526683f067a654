from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, InvalidArgumentError, TensorError
from refimpl.tensor import quantizing
from refimpl.tensor.calibration import Calibration, QParams, compute_q_params, compute_range
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import QuantizedTensor, Tensor

CPU = Device("cpu")
Q, S = QuantValue, QuantStore
F32, F16, BF16, UE8M0, UE4M3 = ScaleDtype
MIN_MAX, ABS_MEAN = Calibration.MIN_MAX, Calibration.ABS_MEAN
X = np.array([[-3, -1.5, 0, 1.5], [3, 4.5, 0.7, -0.1]], np.float32)
NAN, INF = float("nan"), float("inf")


def scheme(
    value: QuantValue = Q.Q8S,
    store: QuantStore = S.NATIVE,
    dtype: ScaleDtype = F32,
    block: list[int] | None = None,
    two: bool = False,
) -> QuantScheme:
    if block is None:
        return QuantScheme(value, store, per_tensor=dtype)
    return QuantScheme(value, store, per_tensor=F32 if two else None, per_block=(BlockSize(block), dtype))


def quantized(values: Any, how: QuantScheme, calibration: Calibration = MIN_MAX) -> QuantizedTensor:
    tensor = Tensor.from_data(np.asarray(values, np.float32) if isinstance(values, list) else values, CPU)
    return tensor.quantize(how, compute_q_params(how, compute_range(how, tensor, calibration)))


def raw(values: Any, how: QuantScheme, calibration: Calibration = MIN_MAX) -> str:
    return bytes(quantized(values, how, calibration).to_data().bytes).hex()


U0, U1, N0 = S.packed_u32(0), S.packed_u32(1), S.packed_native(0)
VECTORS = [
    (scheme(Q.Q8F), "abd6002a557f14fd 9190103d"),
    (scheme(), "abd6002a557f14fd 4522113d"),
    (scheme(Q.Q4F), "fbfe000205070100 9a99193f"),
    (scheme(Q.Q4F, U0), "eb20000075010000 9a99193f"),
    (scheme(Q.Q4F, N0), "0b0e000205070100 9a99193f"),
    (scheme(Q.Q4S, U0), "eb20000075010000 4992243f"),
    (scheme(Q.Q4S, U1), "5b0000007e0000001000000002000000 4992243f"),
    (scheme(Q.Q2S), "ff00000001010000 00009040"),
    (scheme(Q.Q2S, U0), "0300000005000000 00009040"),
    (scheme(Q.E4M3), "f9f10071797e69d2 4992243c"),
    (scheme(Q.E5M2), "f9f50075797b70e5 4992a438"),
    (scheme(Q.E2M1), "0e0c000406070208 0000403f"),
    (scheme(Q.E2M1, U0), "ce40000076820000 0000403f"),
    (scheme(Q.E2M1, N0), "ce407682 0000403f"),
    (scheme(dtype=F16), "abd6002a557f14fd 8a28"),
    (scheme(dtype=BF16), "acd6002a547e14fd 123d"),
    (scheme(dtype=UE8M0), "d0e8001830480bfe 7b"),
    (scheme(dtype=UE4M3), "b3da00264d7312fd 12"),
    (scheme(block=[2, 2]), "abd6007f557f3bf8 4522113d0683413c"),
    (scheme(block=[2, 2], dtype=UE4M3), "b3da006e4d7333f9 1207"),
    (scheme(block=[4], dtype=F16, two=True), "81c1003f557f14fd 5579ff7b 6c341135"),
    (scheme(block=[4], dtype=UE4M3, two=True), "89c5003b557f14fd 7a7e 06dea538"),
]


@pytest.mark.clause("QNT-18", "QNT-28", "QNT-29", "QNT-30")
@pytest.mark.parametrize(("how", "expected"), VECTORS, ids=str)
def test_the_bytes_are_values_then_scales_then_the_scale_of_the_whole(
    how: QuantScheme, expected: str
) -> None:
    assert raw(X, how) == expected.replace(" ", "")


@pytest.mark.clause("QNT-11", "QNT-16")
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (scheme(Q.Q2S, U0), "4f00000005000000 cdcce43f"),
        (scheme(Q.Q2S, block=[4]), "ffff000101010000 0000c03fcdcc0440"),
    ],
    ids=str,
)
def test_ternary_weights_take_their_scale_from_the_absolute_mean(how: QuantScheme, expected: str) -> None:
    assert raw(X, how, ABS_MEAN) == expected.replace(" ", "")


@pytest.mark.clause("QNT-17")
@pytest.mark.parametrize(
    ("dtype", "scale"), [(F32, "00008000"), (F16, "0100"), (BF16, "8000"), (UE8M0, "00"), (UE4M3, "01")]
)
def test_zeros_have_the_smallest_scale_and_come_back(dtype: ScaleDtype, scale: str) -> None:
    codes = quantized([0.0] * 4, scheme(dtype=dtype))

    assert bytes(codes.to_data().bytes).hex() == "00000000" + scale
    assert codes.dequantize().to_numpy().tolist() == [0.0] * 4


@pytest.mark.clause("QNT-17")
@pytest.mark.report("BL-07")
@pytest.mark.parametrize(("peak", "expected"), [(1.0, "0920"), (3.3, "a726"), (100.0, "4d3a"), (0.1, "7412")])
def test_a_half_scale_is_never_below_what_it_must_cover(peak: float, expected: str) -> None:
    codes = quantized([peak, -peak], scheme(dtype=F16))

    assert bytes(codes.to_data().bytes).hex() == "7f81" + expected
    assert float(codes.scales()[0]) * 127 >= np.float32(peak)
    if peak == 1.0:
        assert codes.dequantize().to_numpy().tolist() == [np.float32(1.0009079), -np.float32(1.0009079)]


@pytest.mark.clause("QNT-17")
@pytest.mark.report("BL-07")
def test_a_narrow_block_scale_is_never_below_what_it_must_cover() -> None:
    codes = quantized([4.5, -1.0, 0.0, 4.5], scheme(block=[4], dtype=UE4M3))

    assert float(codes.scales()[0]) == 0.0390625  # 4.5 / 127 is 0.0354; the one below is 0.03515625
    assert int(codes.codes().max()) == 115


@pytest.mark.clause("QNT-17", "QNT-22")
@pytest.mark.report("BL-13")
@pytest.mark.parametrize("value", [Q.Q8S, Q.Q4S, Q.Q2S, Q.Q8F])
@pytest.mark.parametrize(
    ("block", "dtype", "two"),
    [
        (None, F32, False),
        ([4], F32, False),
        ([4], F16, False),
        ([4], UE4M3, False),
        ([4], F16, True),
        ([4], UE4M3, True),
    ],
)
@pytest.mark.parametrize(
    "values", [[0.0] * 8, [-0.0] * 8, [0.0] * 4], ids=["zeros", "negative zeros", "four"]
)
def test_a_tensor_of_zeros_comes_back_as_zeros(
    value: QuantValue, block: list[int] | None, dtype: ScaleDtype, two: bool, values: list[float]
) -> None:
    how = scheme(value, dtype=dtype, block=block, two=two)
    codes = quantized(values, how)

    if two and dtype is F16:  # the product of the two smallest scales is zero, and the codes stay zero
        assert not codes.codes().any()
    assert np.isfinite(codes.scales()).all()
    assert codes.dequantize().to_numpy().tolist() == [0.0] * len(values)


@pytest.mark.clause("QNT-17")
@pytest.mark.report("BL-13")
@pytest.mark.parametrize(("dtype", "two"), [(F32, False), (UE4M3, True), (F16, True)])
def test_a_block_of_zeros_leaves_its_neighbours_alone(dtype: ScaleDtype, two: bool) -> None:
    values = [0.0, 0.0, 0.0, 0.0, 127.0, 1.0, -1.0, 2.0]
    codes = quantized(values, scheme(block=[4], dtype=dtype, two=two))

    assert codes.codes().tolist() == [0, 0, 0, 0, 127, 1, -1, 2]
    if not two:
        assert codes.dequantize().to_numpy().tolist() == values


@pytest.mark.clause("QNT-17")
@pytest.mark.report("BL-13")
def test_a_single_zero_comes_back() -> None:
    assert quantized([0.0], scheme()).dequantize().to_numpy().tolist() == [0.0]


@pytest.mark.clause("QNT-22")
@pytest.mark.parametrize("value", [Q.E4M3, Q.E5M2])
def test_an_all_zero_weight_of_small_floats_under_two_half_levels_comes_back_as_nan(
    value: QuantValue,
) -> None:
    """Pinned: the product of both scales underflows to zero in f32, and 0/0 is NaN."""
    how = scheme(value, dtype=F16, block=[4], two=True)

    assert np.isnan(quantized([0.0] * 8, how).dequantize().to_numpy()).all()
    safe = scheme(value, dtype=UE4M3, block=[4], two=True)
    assert quantized([0.0] * 8, safe).dequantize().to_numpy().tolist() == [0.0] * 8


@pytest.mark.clause("QNT-18", "QNT-19")
@pytest.mark.report("BL-15")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize(
    ("value", "values", "expected"),
    [
        (Q.Q8S, [127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -127], [127, 0, 2, 2, 0, -2, -2, -127]),
        (Q.Q4S, [7, 0.5, 1.5, 2.5, 3.5, -0.5, -7, -8],
         [6.857143, 0, 1.142857, 2.285714, 3.428571, 0, -6.857143, -8]),
        (Q.Q4F, [7, 0.5, 1.5, 2.5, 3.5, -0.5, -7, -8],
         [7.466667, 0, 1.066667, 2.133333, 3.2, 0, -7.466667, -7.466667]),
        (Q.Q2S, [1, 0.5, 0.51, -0.5, -0.51, -1, 0, 0.2], [1, 0, 1, 0, -1, -1, 0, 0]),
    ],
    ids=["Q8S", "Q4S", "Q4F", "Q2S"],
)  # fmt: skip
def test_what_is_half_way_between_two_codes_takes_the_even_one(
    value: QuantValue, values: list[float], expected: list[float], calibrated: bool, kind: Any
) -> None:
    source = Tensor.from_data(np.array(values, kind), CPU)
    how = scheme(value)
    dense = (
        quantized(np.array(values, kind), how) if calibrated else source.quantize_dynamic(how)
    ).dequantize()

    assert np.allclose(dense.to_numpy(), expected, rtol=0, atol=1e-6)


@pytest.mark.clause("QNT-13", "QNT-19")
@pytest.mark.report("BL-15")
@pytest.mark.parametrize(
    ("value", "scale", "codes"),
    [
        (Q.Q4S, 1.142578125, [6, 0, 1, 2, 3, 0, -6, -7]),  # 8/7 rounds down to F16: -8 stays at -7 steps
        (Q.Q4F, 1.06640625, [7, 0, 1, 2, 3, 0, -7, -8]),  # 16/15 rounds down: -8 is now past -7.5 steps
    ],
)
def test_the_scale_of_half_floats_rounds_first(value: QuantValue, scale: float, codes: list[int]) -> None:
    found = quantized(np.array([7, 0.5, 1.5, 2.5, 3.5, -0.5, -7, -8], np.float16), scheme(value))

    assert found.scales().tolist() == [scale]
    assert found.codes().tolist() == codes


@pytest.mark.clause("QNT-23")
def test_a_nan_saturates_every_other_value_of_its_block() -> None:
    codes = quantized([1.0, NAN, -2.0, 0.0, 1.0, 2.0, 3.0, 4.0], scheme(block=[4]))

    assert codes.codes().tolist() == [127, 0, -127, 0, 32, 64, 95, 127]
    assert float(codes.scales()[0]) == np.float32(2.0**-126)


@pytest.mark.clause("QNT-23")
def test_an_infinity_saturates_under_a_scale_of_f32() -> None:
    assert quantized([1.0, INF, -INF, 0.0], scheme()).codes().tolist() == [127, 127, -127, 0]
    assert quantized([1.0, INF, -INF, 0.0], scheme(dtype=F16)).codes().tolist() == [0, 127, -127, 0]


@pytest.mark.clause("QNT-14")
def test_a_half_tensor_of_large_values_saturates() -> None:
    codes = quantized(np.array([40000, -1, 0], np.float16), scheme())

    assert codes.codes().tolist() == [127, -127, 0]


@pytest.mark.clause("QNT-18")
@pytest.mark.report("BL-02", "BL-23")
@pytest.mark.parametrize("view", ["fortran", "reversed", "strided", "broadcast", "read-only"])
@pytest.mark.parametrize(
    "how", [scheme(), scheme(Q.Q4S, U0), scheme(Q.E4M3, U1), scheme(block=[2, 4], dtype=F16)], ids=str
)
def test_the_layout_in_memory_does_not_reach_the_bytes(view: str, how: QuantScheme) -> None:
    plain = np.random.default_rng(3).normal(size=(4, 8)).astype(np.float32)
    doubled = np.repeat(plain, 2, axis=1)
    readonly = plain.copy()
    readonly.flags.writeable = False
    array = {
        "fortran": np.asfortranarray(plain),
        "reversed": plain[::-1],
        "strided": doubled[:, ::2],
        "broadcast": np.broadcast_to(plain[0], (4, 8)),
        "read-only": readonly,
    }[view]
    copied = np.array(array, order="C")
    turned = Tensor.from_data(np.ascontiguousarray(array.T), CPU).transpose()

    assert raw(array, how) == raw(copied, how)
    assert bytes(turned.quantize_dynamic(how).to_data().bytes).hex() == raw(copied, how)
    flipped = Tensor.from_data(copied, CPU).flip((0, 1))
    assert bytes(flipped.quantize_dynamic(how).to_data().bytes).hex() == raw(copied[::-1, ::-1].copy(), how)


ROWS = np.array([[127 * (i - 1.5) for i in range(4)], [1, 2, 3, 4]], np.float32)


@pytest.mark.clause("QNT-33")
@pytest.mark.report("BL-23")
def test_a_transpose_takes_block_and_scales_along() -> None:
    tensor = Tensor.from_data(ROWS, CPU)
    turned_after = tensor.quantize_dynamic(scheme(block=[1, 4])).transpose()
    decoded_first = tensor.quantize_dynamic(scheme(block=[1, 4])).dequantize().transpose()
    turned_before = tensor.transpose().quantize_dynamic(scheme(block=[4, 1]))

    assert turned_after.dequantize().to_numpy().tolist() == decoded_first.to_numpy().tolist()
    assert turned_before.dequantize().to_numpy().tolist() == decoded_first.to_numpy().tolist()
    with pytest.raises(TensorError, match="must be evenly divisible"):
        tensor.transpose().quantize_dynamic(scheme(block=[1, 4]))


@pytest.mark.clause("QNT-28", "QNT-30")
@pytest.mark.report("BL-05")
@pytest.mark.parametrize("value", [Q.Q8S, Q.Q4S, Q.Q2S, Q.Q8F, Q.Q4F, Q.Q2F])
@pytest.mark.parametrize("store", [S.NATIVE, U0], ids=repr)
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("shape", [(), (1,), (3, 3), (4, 8)])
@pytest.mark.parametrize("block", [None, [4]])
def test_a_quantised_tensor_survives_its_bytes_and_no_other_length_is_taken(
    value: QuantValue, store: QuantStore, dtype: ScaleDtype, shape: tuple[int, ...], block: list[int] | None
) -> None:
    how = scheme(value, store, dtype, block)
    if block and shape != (4, 8):
        if shape != ():
            with pytest.raises(TensorError):
                quantized(np.ones(shape, np.float32), how)
        return
    codes = quantized(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(np.float32), how)
    data = codes.to_data()
    back = Tensor.from_data(data, CPU)
    assert isinstance(back, QuantizedTensor)

    assert data.bytes.nbytes == quantizing.byte_length(how, shape)
    assert (back.codes().tolist(), back.scales().tolist()) == (
        codes.codes().tolist(),
        codes.scales().tolist(),
    )
    for length in (data.bytes.nbytes - 1, data.bytes.nbytes + 1, 0):
        wrong = TensorData(data.dtype, shape, bytes(data.bytes)[:length].ljust(length, b"\0"))
        with pytest.raises(TensorError) as caught:
            Tensor.from_data(wrong, CPU)
        text = f"Shape {list(shape)} with dtype {data.dtype} is invalid for input of size {length} bytes"
        assert str(caught.value) == text


@pytest.mark.clause("QNT-8")
@pytest.mark.report("BL-35")
def test_a_block_of_more_axes_than_the_tensor_quantises_by_its_first() -> None:
    wide = quantized([float(i) for i in range(8)], scheme(block=[2, 4]))

    assert wide.scales().shape == (4,)
    assert (
        wide.codes().tolist() == quantized([float(i) for i in range(8)], scheme(block=[2])).codes().tolist()
    )


@pytest.mark.clause("QNT-25")
def test_an_empty_tensor_in_blocks_has_no_scale() -> None:
    with pytest.raises(TensorError, match="quantized tensor must have at least one scale factor"):
        quantized(np.zeros((0, 8), np.float32), scheme(block=[4]))


@pytest.mark.clause("QNT-24")
def test_given_scales_are_rounded_up_before_they_are_used() -> None:
    given = QParams(Tensor.from_data(np.array([0.1], np.float32), CPU))
    codes = Tensor.from_data(np.array([12.8, 1.6], np.float32), CPU).quantize(scheme(dtype=UE8M0), given)

    assert codes.scales().tolist() == [0.125]
    assert codes.codes().tolist() == [102, 13]


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.quantize("Q8S", QParams(t)),
        lambda t: t.quantize(scheme(), None),
        lambda t: t.quantize_dynamic("Q8S"),
        lambda t: t.quantize_dynamic(scheme()).dequantize("F32"),
        lambda t: t.quantize_dynamic(scheme()).select(0, [1]),
    ],
)
def test_what_is_no_scheme_and_no_parameters_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        call(Tensor.from_data([1.0, 2.0], CPU))


@pytest.mark.clause("QNT-21")
@pytest.mark.parametrize("dtype", [DType.I32, DType.qfloat(scheme())], ids=["int", "quantised"])
def test_codes_are_dequantised_to_floats_only(dtype: DType) -> None:
    with pytest.raises(InvalidArgumentError):
        quantized([1.0], scheme()).dequantize(dtype)


@pytest.mark.clause("QNT-29", "QNT-30")
def test_bits_that_no_code_takes_are_cleared_when_they_are_read() -> None:
    how = scheme(Q.Q4S, U0)
    raw_ = bytes.fromhex("21f3ffff") + np.float32(1).tobytes()
    read = Tensor.from_data(TensorData(DType.qfloat(how), [3], raw_), CPU)

    assert read.dequantize().to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert bytes(read.to_data().bytes)[:4].hex() == "21030000"


@pytest.mark.clause("QNT-30")
@pytest.mark.parametrize(
    "how", [scheme(block=[2, 4]), scheme(block=[0]), scheme(store=S.packed_u32(1))], ids=str
)
def test_a_layout_that_does_not_exist_is_refused_with_burns_text(how: QuantScheme) -> None:
    with pytest.raises(
        TensorError, match=r"Quantized layout for shape \[8\] and dtype QFloat\(.*\) is invalid"
    ):
        Tensor.from_data(TensorData(DType.qfloat(how), [8], bytes(24)), CPU)


@pytest.mark.clause("QNT-21")
def test_dequantising_fills_any_float_dtype() -> None:
    codes = quantized(X, scheme(block=[4]))
    dense = codes.dequantize().to_numpy()

    for dtype in (DType.F64, DType.F16, DType.BF16):
        found = codes.dequantize(dtype)
        assert found.dtype is dtype
        assert np.array_equal(found.to_numpy(), dense.astype(dtype.numpy))


@pytest.mark.clause("QNT-18")
@pytest.mark.parametrize("rows", [300, 1000])
@pytest.mark.parametrize("block", [[32], [4, 16], [1, 1]])
def test_a_tensor_of_many_tiles_is_quantised_as_its_parts_are(rows: int, block: list[int]) -> None:
    rows -= rows % 4
    values = np.random.default_rng(5).normal(size=(rows, 512)).astype(np.float32)
    how = scheme(Q.Q4S, U0, F16, block)
    whole = quantized(values, how)
    parts = [quantized(values[at : at + 4].copy(), how) for at in range(0, rows, 4)]

    assert np.array_equal(whole.codes(), np.concatenate([p.codes() for p in parts]))
    assert np.array_equal(whole.scales(), np.concatenate([p.scales() for p in parts]))
    dense = np.concatenate([p.dequantize().to_numpy() for p in parts])
    assert np.array_equal(whole.dequantize().to_numpy(), dense)


@pytest.mark.parametrize(
    "ask",
    [
        lambda tensor, how: tensor.quantize_dynamic(how),
        lambda tensor, how: compute_range(how, tensor, MIN_MAX),
        lambda tensor, how: tensor.quantize(how, QParams(Tensor.ones([1], CPU))),
        lambda _, how: Tensor.from_record_data(TensorData(DType.qfloat(how), [], b"\1" * 5), CPU, DType.F32),
    ],
    ids=["quantize_dynamic", "compute_range", "quantize", "from_record_data"],
)
@pytest.mark.parametrize("store", [S.NATIVE, S.packed_u32(0)], ids=repr)
def test_a_tensor_without_axes_has_no_blocks(ask: Any, store: QuantStore) -> None:
    with pytest.raises(TensorError):
        ask(Tensor.from_data(3.0, CPU), scheme(store=store, block=[2, 4]))
