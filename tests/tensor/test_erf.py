from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import Tensor

CPU = Device("cpu")


@given(st.floats(-10, 10))
def test_erf_is_exact_to_two_units_in_the_last_place(x: float) -> None:
    got = Tensor.from_data(np.array([x]), CPU).erf().item()

    assert abs(got - math.erf(x)) <= 2 * math.ulp(math.erf(x))


def test_erf_of_f32_is_the_correctly_rounded_value_nearly_everywhere() -> None:
    x = np.linspace(-5, 5, 20001).astype(np.float32)
    want = np.array([math.erf(v) for v in x.tolist()]).astype(np.float32)

    assert np.mean(Tensor.from_data(x, CPU).erf().to_numpy() == want) > 0.999


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_erf_of_halves_is_rounded_from_f32(dtype: DType) -> None:
    x = np.linspace(-3, 3, 101).astype(dtype.numpy)
    want = np.array([math.erf(v) for v in x.astype(np.float64)]).astype(np.float32).astype(dtype.numpy)

    assert (Tensor.from_data(x, CPU).erf().to_numpy() == want).all()


@pytest.mark.parametrize("x", [0.0, -0.0, math.inf, -math.inf, 6.0, -6.0, 5e-324, 0.0078125, 5.9999999])
def test_erf_at_its_ends_and_seams(x: float) -> None:
    got = Tensor.from_data(np.array([x]), CPU).erf().item()

    assert got == pytest.approx(math.erf(x), rel=4e-16, abs=0.0)
    assert math.copysign(1.0, got) == math.copysign(1.0, x)


def test_erf_of_nan_is_nan_and_of_nothing_nothing() -> None:
    assert math.isnan(Tensor.from_data([math.nan], CPU).erf().item())
    assert Tensor.zeros([0, 2], CPU).erf().shape == (0, 2)
