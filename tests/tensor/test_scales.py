from __future__ import annotations

import numpy as np
import pytest

from refimpl.errors import TensorError
from refimpl.tensor import scales
from refimpl.tensor.scheme import ScaleDtype

D = ScaleDtype


def one(x: float, dtype: ScaleDtype) -> float:
    return float(scales.round_up(np.array([x], np.float32), dtype)[0])


@pytest.mark.clause("QNT-4")
@pytest.mark.parametrize(
    ("dtype", "largest"),
    [
        (D.F32, 3.4028234663852886e38),
        (D.F16, 65504.0),
        (D.BF16, 3.3895313892515355e38),
        (D.UE8M0, 2.0**127),
        (D.UE4M3, 448.0),
    ],
)
def test_the_largest_scale_of_a_dtype(dtype: ScaleDtype, largest: float) -> None:
    assert float(scales.max_representable(dtype)) == largest
    assert one(3.4028235e38, dtype) == largest
    assert one(float("inf"), dtype) == (float("inf") if dtype is D.F32 else largest)


@pytest.mark.clause("QNT-17")
@pytest.mark.parametrize(
    ("x", "dtype", "up"),
    [
        (0.1, D.F16, 0.10003662109375),
        (0.1, D.BF16, 0.10009765625),
        (0.1, D.UE8M0, 0.125),
        (0.1, D.UE4M3, 0.1015625),
        (7.7e-4, D.UE4M3, 0.001953125),
        (447.9, D.F16, 448.0),
        (447.9, D.BF16, 448.0),
        (447.9, D.UE4M3, 448.0),
        (447.9, D.UE8M0, 512.0),
        (65520.0, D.F16, 65504.0),
        (0.5, D.UE8M0, 0.5),
        (0.0, D.UE8M0, 2.0**-127),
        (1e-45, D.UE8M0, 2.0**-127),
        (2.0**-24, D.F16, 2.0**-24),
        (1.1 * 2.0**-24, D.F16, 2.0**-23),
        (1e-45, D.BF16, 2.0**-133),
        (0.0, D.F16, 0.0),
    ],
)
def test_a_scale_rounds_up_never_to_nearest(x: float, dtype: ScaleDtype, up: float) -> None:
    assert one(x, dtype) == up


@pytest.mark.clause("QNT-17")
@pytest.mark.parametrize("dtype", list(ScaleDtype))
def test_nan_stays_nan_when_it_is_rounded(dtype: ScaleDtype) -> None:
    assert np.isnan(one(float("nan"), dtype))


@pytest.mark.clause("QNT-17")
@pytest.mark.parametrize(
    ("dtype", "smallest"),
    [
        (D.F32, 1.1754943508222875e-38),
        (D.F16, 2.0**-24),
        (D.BF16, 1.1754943508222875e-38),
        (D.UE8M0, 2.0**-126),
        (D.UE4M3, 2.0**-9),
    ],
)
def test_a_scale_that_is_nothing_to_divide_by_is_replaced(dtype: ScaleDtype, smallest: float) -> None:
    zero = 2.0**-127 if dtype is D.UE8M0 else smallest
    infinite = smallest if dtype is D.F32 else float(scales.max_representable(dtype))
    given = np.array([float("nan"), 0.0, float("inf")], np.float32)

    assert scales.validated(given, dtype).tolist() == [smallest, zero, infinite]


@pytest.mark.clause("QNT-17")
def test_a_negative_scale_is_refused() -> None:
    with pytest.raises(TensorError, match="a quantization scale is never negative"):
        scales.validated(np.array([1.0, -1e-30], np.float32), D.F32)


@pytest.mark.clause("QNT-30")
@pytest.mark.parametrize(
    ("x", "dtype", "raw"),
    [
        (0.1, D.F32, "cdcccc3d"),
        (0.10003662109375, D.F16, "672e"),
        (0.10009765625, D.BF16, "cd3d"),
        (0.125, D.UE8M0, "7c"),
        (2.0**-127, D.UE8M0, "00"),
        (2.0**127, D.UE8M0, "fe"),
        (0.1015625, D.UE4M3, "1d"),
        (448.0, D.UE4M3, "7e"),
        (2.0**-9, D.UE4M3, "01"),
    ],
)
def test_a_scale_is_stored_in_its_own_dtype(x: float, dtype: ScaleDtype, raw: str) -> None:
    stored = scales.to_bytes(np.array([x], np.float32), dtype)

    assert stored.tobytes().hex() == raw
    assert scales.from_bytes(stored, dtype).tolist() == [np.float32(x)]


@pytest.mark.clause("QNT-30")
@pytest.mark.parametrize(("dtype", "raw"), [(D.UE8M0, 0xFF), (D.UE4M3, 0x7F)])
def test_the_absent_scale_of_a_byte_is_nan(dtype: ScaleDtype, raw: int) -> None:
    assert np.isnan(scales.from_bytes(np.array([raw], np.uint8), dtype)).all()
