from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from refimpl.errors import AlreadyQuantizedError, ArgumentTypeError, TensorError
from refimpl.tensor.calibration import Calibration, CalibrationRange, QParams, compute_q_params, compute_range
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import IntTensor, Tensor

CPU = Device("cpu")
Q, F32, F16 = QuantValue, ScaleDtype.F32, ScaleDtype.F16
MIN_MAX, ABS_MEAN = Calibration.MIN_MAX, Calibration.ABS_MEAN
X = [[-3, -1.5, 0, 1.5], [3, 4.5, 0.7, -0.1]]


def tensor(values: Any, dtype: Any = np.float32) -> Tensor:
    return Tensor.from_data(np.array(values, np.float64).astype(dtype), CPU)


def blocks(*extents: int, dtype: ScaleDtype = F32, tensor: ScaleDtype | None = None) -> QuantScheme:
    return QuantScheme(Q.Q8S, QuantStore.NATIVE, per_tensor=tensor, per_block=(BlockSize(extents), dtype))


def ends(range_: CalibrationRange) -> tuple[Any, Any]:
    return range_.min.to_numpy().tolist(), range_.max.to_numpy().tolist()


@pytest.mark.clause("QNT-11")
def test_the_range_of_a_tensor_is_its_least_and_greatest_value() -> None:
    assert ends(compute_range(QuantScheme(), tensor(X), MIN_MAX)) == ([-3.0], [4.5])


@pytest.mark.clause("QNT-11")
@pytest.mark.parametrize(
    ("extents", "least", "greatest"),
    [
        ((4,), [[-3.0], [np.float32(-0.1)]], [[1.5], [4.5]]),
        ((2, 2), [[-3.0, np.float32(-0.1)]], [[4.5, 1.5]]),
        ((2, 1), [[-3.0, -1.5, 0.0, np.float32(-0.1)]], [[3.0, 4.5, np.float32(0.7), 1.5]]),
    ],
)
def test_the_range_of_blocks_has_the_shape_of_their_grid(
    extents: tuple[int, ...], least: Any, greatest: Any
) -> None:
    assert ends(compute_range(blocks(*extents), tensor(X), MIN_MAX)) == (least, greatest)


@pytest.mark.clause("QNT-11")
@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_a_range_keeps_the_dtype_of_the_tensor(dtype: Any) -> None:
    source = tensor(X, dtype)
    for calibration in Calibration:
        assert compute_range(QuantScheme(), source, calibration).min.dtype is source.dtype


@pytest.mark.clause("QNT-11", "QNT-16")
def test_the_absolute_mean_is_the_range_on_both_sides() -> None:
    range_ = compute_range(blocks(4), tensor([[1, -2, 3, -4], [0, 0, 0, 1]]), ABS_MEAN)

    assert ends(range_) == ([[-2.5], [-0.25]], [[2.5], [0.25]])


@pytest.mark.clause("QNT-16")
def test_blocks_are_averaged_one_axis_after_the_other_and_rounded_between() -> None:
    step = 2.0**-10  # of F16 above 1: the columns average to half a step and two and a half, which tie
    values = [[1, 1 + 2 * step], [1 + step, 1 + 3 * step]]
    range_ = compute_range(blocks(2, 2), tensor(values, np.float16), ABS_MEAN)

    # to 0 and 2 steps, and those to 1; all four at once would be one and a half, which ties to 2
    assert range_.max.to_numpy().tolist() == [[1 + step]]


@pytest.mark.clause("QNT-16")
def test_half_floats_are_summed_in_single_precision() -> None:
    many = tensor(np.full(4096, 1.0), np.float16)  # summed in F16, 2048 ones add up to 2048 for ever

    assert ends(compute_range(QuantScheme(), many, ABS_MEAN)) == ([-1.0], [1.0])


@pytest.mark.clause("QNT-12")
def test_an_empty_tensor_has_no_least_value() -> None:
    with pytest.raises(TensorError, match="min: cannot reduce an empty tensor"):
        compute_range(QuantScheme(), tensor(np.zeros((0, 8))), MIN_MAX)


@pytest.mark.clause("QNT-12")
@pytest.mark.parametrize("shape", [(2, 4), (3, 3)])
def test_the_absolute_mean_has_no_two_level_form_and_that_is_said_before_anything_else(
    shape: tuple[int, ...],
) -> None:
    with pytest.raises(TensorError) as caught:
        compute_range(blocks(4, dtype=F16, tensor=F32), tensor(np.ones(shape)), ABS_MEAN)

    assert str(caught.value) == (
        "AbsMean calibration has no two-level form: BitNet's gamma is a mean over the whole tensor or block, "
        "which a per-tensor scale cannot decompose"
    )


@pytest.mark.clause("QNT-12", "QNT-36")
@pytest.mark.report("BL-35")
def test_codes_have_no_range_and_the_error_says_what_to_do() -> None:
    codes = tensor(X).quantize_dynamic(QuantScheme(Q.Q8S, QuantStore.NATIVE))
    with pytest.raises(AlreadyQuantizedError, match="internal error: entered unreachable code") as caught:
        compute_range(QuantScheme(), codes, MIN_MAX)

    assert "dequantise it first" in (caught.value.hint or "")


ONE = tensor([1.0])
INT = IntTensor.from_data([1], CPU)


@pytest.mark.parametrize(
    "call",
    [
        lambda: compute_range("Q8S", ONE, MIN_MAX),
        lambda: compute_range(QuantScheme(), [1.0], MIN_MAX),
        lambda: compute_range(QuantScheme(), INT, MIN_MAX),
        lambda: compute_range(QuantScheme(), ONE, "MinMax"),
        lambda: compute_q_params("Q8S", CalibrationRange(ONE, ONE)),
        lambda: compute_q_params(QuantScheme(), None),
        lambda: CalibrationRange(ONE, 1.0),
        lambda: QParams(np.ones(1)),
        lambda: QParams(INT),
        lambda: QParams(ONE, 2.0),
    ],
)
def test_what_is_no_scheme_no_float_tensor_and_no_calibration_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        call()


@pytest.mark.clause("QNT-12", "QNT-15")
def test_an_empty_tensor_has_no_greatest_block_scale_either() -> None:
    """Observed: Burn finds a range of no blocks, and panics at the scale above them."""
    empty = tensor(np.zeros((0, 8)))
    scheme = blocks(4, dtype=F16, tensor=F32)
    range_ = compute_range(scheme, empty, MIN_MAX)

    assert range_.min.shape == (0, 2)
    with pytest.raises(TensorError, match="max: cannot reduce an empty tensor"):
        compute_q_params(scheme, range_)


@pytest.mark.clause("QNT-16")
def test_the_absolute_mean_of_nothing_is_nan() -> None:
    assert np.isnan(ends(compute_range(QuantScheme(), tensor(np.zeros((0, 8))), ABS_MEAN))).all()


@pytest.mark.clause("QNT-13")
@pytest.mark.parametrize(
    ("value", "width"),
    [("Q8F", 255), ("Q8S", 254), ("Q4F", 15), ("Q4S", 14), ("Q2F", 3), ("Q2S", 2),
     ("E4M3", 896), ("E5M2", 114688), ("E2M1", 12)],
)  # fmt: skip
def test_a_scale_is_twice_the_greater_end_divided_by_the_width_of_the_codes(value: str, width: int) -> None:
    scheme = QuantScheme(Q[value], QuantStore.NATIVE)
    params = compute_q_params(scheme, compute_range(scheme, tensor(X), MIN_MAX))

    assert params.scales.to_numpy().tolist() == [np.float32(9) / np.float32(width)]
    assert params.global_scale is None


@pytest.mark.clause("QNT-13")
def test_the_greater_end_may_be_the_negative_one() -> None:
    scheme = QuantScheme(Q.Q2S)
    params = compute_q_params(scheme, compute_range(scheme, tensor([-8.0, 3.0]), MIN_MAX))

    assert params.scales.to_numpy().tolist() == [8.0]


@pytest.mark.clause("QNT-14")
@pytest.mark.parametrize(
    ("value", "number", "scale"), [(Q.Q8S, 40000.0, float("inf")), (Q.E5M2, 1.0, 0.0), (Q.Q8S, 1.0, None)]
)
def test_a_half_float_overflows_where_twice_the_peak_or_the_width_does(
    value: QuantValue, number: float, scale: float | None
) -> None:
    scheme = QuantScheme(value)
    found = compute_q_params(scheme, compute_range(scheme, tensor([number], np.float16), MIN_MAX)).scales
    expected = float(np.float16(np.float32(2) / np.float32(254))) if scale is None else scale

    assert (found.dtype, found.to_numpy().tolist()) == (DType.F16, [expected])


@pytest.mark.clause("QNT-15")
def test_two_levels_normalise_by_the_largest_scale() -> None:
    scheme = blocks(4, dtype=F16, tensor=F32)
    params = compute_q_params(
        scheme, compute_range(scheme, tensor([[127, 0, 0, 0], [0, 63.5, 0, 0]]), MIN_MAX)
    )
    whole = np.float32(1) / np.float32(65504)

    assert params.global_scale is not None
    assert params.global_scale.to_numpy().tolist() == [whole]
    assert params.scales.to_numpy().tolist() == [[np.float32(1) / whole], [np.float32(0.5) / whole]]


@pytest.mark.clause("QNT-15")
def test_the_scale_of_the_whole_is_f32_and_never_below_the_least_normal() -> None:
    scheme = blocks(4, dtype=F16, tensor=F32)
    params = compute_q_params(scheme, compute_range(scheme, tensor(np.zeros(4), np.float16), MIN_MAX))

    assert params.global_scale is not None
    assert (params.scales.dtype, params.global_scale.dtype) == (DType.F16, DType.F32)
    assert params.global_scale.to_numpy().tolist() == [2.0**-126]


@pytest.mark.clause("QNT-15")
@pytest.mark.parametrize("dtype", ["F32", "BF16", "UE8M0"])
def test_block_scales_as_wide_as_f32_leave_nothing_for_a_second_level(dtype: str) -> None:
    scheme = blocks(4, dtype=ScaleDtype[dtype], tensor=F32)
    with pytest.raises(TensorError) as caught:
        compute_q_params(scheme, compute_range(scheme, tensor(np.ones(4)), MIN_MAX))

    assert (
        str(caught.value)
        == f"block scales in {dtype} reach f32's range, which a per-tensor scale cannot absorb"
    )


@pytest.mark.clause("QNT-23")
@pytest.mark.parametrize("calibration", list(Calibration))
def test_a_nan_makes_both_ends_of_its_block_nan_and_no_other(calibration: Calibration) -> None:
    values = tensor([[float("nan"), 1, 2, 3], [1, 1, 1, 1]])
    least, greatest = ends(compute_range(blocks(4), values, calibration))

    assert np.isnan([least[0][0], greatest[0][0]]).all()
    assert greatest[1] == [1.0]


@pytest.mark.clause("QNT-40")
def test_there_are_two_calibrations() -> None:
    assert [c.value for c in Calibration] == ["MinMax", "AbsMean"]
