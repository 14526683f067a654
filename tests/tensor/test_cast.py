from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.errors import TensorError, UnsupportedDTypeError
from refimpl.tensor.cast import convert, saturated
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

from .burn_answers import answer, answers, data

CPU = Device("cpu")


@pytest.mark.clause("REC-21")
def test_every_conversion_of_data_gives_the_bits_and_the_refusals_that_burn_gives() -> None:
    def convert_one(source: str, target: str, raw: str) -> TensorData:
        to = DType.parse(target)
        given = data(source, raw)
        return TensorData.from_array(convert(given.to_numpy(), given.dtype, to), to)

    differing = [
        (source, target, raw)
        for source, target, raw, want in answers()["casts"]
        if answer(lambda s=source, t=target, r=raw: convert_one(s, t, r)) != want
    ]

    assert differing == []


def test_every_cast_of_a_tensor_gives_the_bits_that_burn_gives() -> None:
    def cast_one(source: str, target: str, raw: str) -> Tensor | IntTensor:
        given = data(source, raw)
        cls = Tensor if given.dtype.is_float else IntTensor
        return cls.from_data(given, CPU).cast(DType.parse(target))

    differing = [
        (source, target, raw)
        for source, target, raw, want in answers()["tensor_casts"]
        if "Flex32" not in (source, target)  # Burn's Flex stores it and cannot cast it; here it is an F32
        and answer(lambda s=source, t=target, r=raw: cast_one(s, t, r)) != want
    ]

    assert differing == []


@pytest.mark.clause("REC-20")
def test_a_record_entry_becomes_a_tensor_of_each_kind_as_in_burn() -> None:
    differing = [
        (cls.__name__, source, target)
        for source, target, raw, *wants in answers()["kinds"]
        for cls, want in zip((Tensor, IntTensor, BoolTensor), wants, strict=True)
        if answer(
            lambda c=cls, s=source, t=target, r=raw: c.from_record_data(data(s, r), CPU, DType.parse(t))
        )
        != want
    ]

    assert differing == []


@pytest.mark.clause("REC-21")
@pytest.mark.parametrize("target", [DType.I8, DType.U8])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e3, -129.0])
def test_a_float_without_a_place_in_the_int_dtype_is_refused_and_named(target: DType, value: float) -> None:
    with pytest.raises(TensorError, match="Float cannot be represented in the target") as caught:
        IntTensor.from_data(np.array([0.0, value]), CPU, target)

    assert str(value) in str(caught.value.hint)


@pytest.mark.clause("REC-21")
@given(st.floats(width=64, allow_nan=False, allow_infinity=False))
def test_f64_becomes_f16_through_f32_by_two_roundings(value: float) -> None:
    got = float(convert(np.array([value]), DType.F64, DType.F16)[0])

    assert got == _nearest(_nearest(value, 24, -126, 127), 11, -14, 15)


@pytest.mark.clause("REC-21")
@given(st.floats(width=64, allow_nan=False, allow_infinity=False))
def test_f64_becomes_bf16_through_f32_by_two_roundings(value: float) -> None:
    got = float(convert(np.array([value]), DType.F64, DType.BF16)[0].astype(np.float64))

    assert got == _nearest(_nearest(value, 24, -126, 127), 8, -126, 127)


def _nearest(value: float, bits: int, least: int, greatest: int) -> float:
    """The nearest value of a binary float of so many bits, ties to even; by exact fractions alone."""
    if value in (0.0, float("inf"), float("-inf")):
        return value
    exact, sign = abs(Fraction(value)), -1 if value < 0 else 1
    exponent = max(least, _floor_log2(exact))
    unit = Fraction(2) ** (exponent - bits + 1)
    whole = round(exact / unit)  # Fraction rounds half to even
    if Fraction(whole) * unit >= Fraction(2) ** (greatest + 1):
        return sign * float("inf")
    return float(sign * whole * unit)


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_int_tensor_cast_to_a_narrower_int_drops_high_bits(value: int) -> None:
    got = IntTensor.from_data(np.array([value]), CPU).cast(DType.I16)

    assert got.item() == (value + 2**15) % 2**16 - 2**15


@pytest.mark.parametrize(
    ("value", "want"), [(1e30, 2**31 - 1), (-1e30, -(2**31)), (float("nan"), 0), (-1.9, -1)]
)
def test_a_float_tensor_cast_to_ints_is_held_in_their_range(value: float, want: int) -> None:
    assert Tensor.from_data([value], CPU).int().item() == want


def test_a_cast_to_bool_is_no_cast() -> None:
    with pytest.raises(UnsupportedDTypeError, match="Expected float data type, got Bool"):
        Tensor.zeros([1], CPU).cast(DType.BOOL_NATIVE)
    with pytest.raises(UnsupportedDTypeError, match="Expected int data type, got Bool"):
        IntTensor.zeros([1], CPU).cast(DType.BOOL_NATIVE)


def test_a_cast_to_the_same_dtype_is_the_same_tensor() -> None:
    floats, ints = Tensor.zeros([1], CPU), IntTensor.zeros([1], CPU)

    assert floats.cast(DType.F32) is floats
    assert ints.cast(DType.I32) is ints


def test_truth_of_elements_is_not_being_zero() -> None:
    got = saturated(np.array([0, -3, 5]), DType.I64, DType.BOOL_NATIVE)

    assert got.tolist() == [False, True, True]


def test_bfloat16_arrays_are_numpy_arrays_of_ml_dtypes() -> None:
    assert Tensor.ones([2], CPU, DType.BF16).to_numpy().dtype == np.dtype(ml_dtypes.bfloat16)
