"""Typed scalars and their conversions."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from refimpl.burnpack.scalar import (
    BoolScalar,
    FloatScalar,
    IntScalar,
    UIntScalar,
    scalar,
    scalar_bool,
    scalar_float,
    scalar_int,
)
from refimpl.errors import ArgumentTypeError, InvalidArgumentError


@pytest.mark.clause("BPK-9")
@pytest.mark.parametrize(
    ("value", "made"),
    [
        (-(2**63), IntScalar(-(2**63))),
        (2**63 - 1, IntScalar(2**63 - 1)),
        (2**63, UIntScalar(2**63)),
        (2**64 - 1, UIntScalar(2**64 - 1)),
        (True, BoolScalar(True)),
        (0.5, FloatScalar(0.5)),
        (UIntScalar(3), UIntScalar(3)),
    ],
)
def test_a_plain_value_becomes_the_scalar_of_its_type(value: Any, made: Any) -> None:
    assert scalar(value) == made
    assert type(scalar(value)) is type(made)


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_an_integer_that_64_bits_do_not_hold_is_refused(value: int) -> None:
    with pytest.raises(InvalidArgumentError, match="is from"):
        scalar(value)


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize("value", ["1", None, 1j, b"1"])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a scalar is a bool, an int or a float"):
        scalar(value)


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    ("kind", "value"),
    [(IntScalar, True), (IntScalar, 1.0), (UIntScalar, "1"), (FloatScalar, 1), (BoolScalar, 1)],
)
def test_a_scalar_holds_its_own_type_only(kind: Any, value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="holds a"):
        kind(value)


@pytest.mark.clause("BPK-8")
def test_floats_are_equal_when_their_bits_are() -> None:
    (other,) = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))

    assert FloatScalar(math.nan) == FloatScalar(math.nan)
    assert FloatScalar(math.nan) != FloatScalar(other)
    assert FloatScalar(0.0) != FloatScalar(-0.0)
    assert hash(FloatScalar(0.5)) == hash(FloatScalar(0.5))
    assert FloatScalar(1.0) != IntScalar(1)


@pytest.mark.clause("BPK-9")
def test_a_scalar_gives_back_what_fits_the_type_asked_for() -> None:
    assert scalar_int(IntScalar(-128), bits=8) == -128
    assert scalar_int(UIntScalar(255), bits=8, signed=False) == 255
    assert scalar_float(UIntScalar(2**64 - 1)) == 2.0**64
    assert scalar_float(FloatScalar(0.5)) == 0.5
    assert scalar_bool(BoolScalar(False)) is False


@pytest.mark.clause("BPK-9")
@pytest.mark.parametrize(
    "ask",
    [
        lambda: scalar_int(IntScalar(128), bits=8),
        lambda: scalar_int(IntScalar(-1), signed=False),
        lambda: scalar_int(FloatScalar(1.0)),
        lambda: scalar_int(BoolScalar(True)),
        lambda: scalar_float(BoolScalar(True)),
        lambda: scalar_bool(IntScalar(1)),
    ],
)
def test_a_scalar_that_does_not_fit_says_so_in_burns_words(ask: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ask()

    assert str(caught.value) == "scalar value does not fit the requested type"
