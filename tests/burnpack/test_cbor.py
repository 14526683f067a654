"""What is written, against bytes worked out by hand and another CBOR library."""

from __future__ import annotations

import math
import struct

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.burnpack import cbor
from refimpl.burnpack.stream import Stream


@pytest.mark.clause("BPK-4")
@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_are_as_short_as_they_go(value: int) -> None:
    assert cbor.integer(value) == cbor2.dumps(value, canonical=True)


@pytest.mark.clause("BPK-4")
@given(st.text())
def test_texts_are_utf8_with_a_definite_length(value: str) -> None:
    assert cbor.text(value) == cbor2.dumps(value)
    assert Stream(cbor.text(value)).string() == value


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    ("value", "hexed"),
    [
        (0.5, "f93800"),
        (0.0, "f90000"),
        (-0.0, "f98000"),
        (65504.0, "f97bff"),
        (65505.0, "fa477fe100"),
        (65520.0, "fa477ff000"),
        (2.0**-24, "f90001"),
        (2.0**-25, "fa33000000"),
        (struct.unpack(">f", bytes.fromhex("3dcccccd"))[0], "fa3dcccccd"),
        (0.001, "fb3f50624dd2f1a9fc"),
        (1e300, "fb7e37e43c8800759c"),
        (math.inf, "f97c00"),
        (-math.inf, "f9fc00"),
        (math.nan, "f97e00"),
    ],
)
def test_a_float_takes_the_shortest_width_that_gives_it_back(value: float, hexed: str) -> None:
    assert cbor.float_(value).hex() == hexed


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    ("bits", "hexed"),
    [
        (0x7FF8_0400_0000_0000, "f97e01"),
        (0xFFF8_0400_0000_0000, "f9fe01"),
        (0x7FF8_0000_2000_0000, "fa7fc00001"),
        (0x7FF8_0000_0000_0001, "fb7ff8000000000001"),
        (0x7FF0_0000_0000_0001, "fb7ff0000000000001"),
    ],
)
def test_the_payload_of_a_nan_is_kept(bits: int, hexed: str) -> None:
    (value,) = struct.unpack(">d", bits.to_bytes(8, "big"))

    assert cbor.float_(value).hex() == hexed
    (again,) = struct.unpack(">Q", struct.pack(">d", Stream(bytes.fromhex(hexed)).float64()))
    assert again == bits


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    ("raw", "bits"), [("7c01", 0x7FF8_0400_0000_0000), ("7f800001", 0x7FF8_0000_2000_0000)]
)
def test_a_signalling_nan_of_a_narrow_width_turns_quiet(raw: str, bits: int) -> None:
    assert cbor.float_bits(bytes.fromhex(raw)) == bits


@given(st.floats(allow_nan=False))
def test_floats_come_back_bit_for_bit(value: float) -> None:
    again = Stream(cbor.float_(value)).float64()

    assert struct.pack(">d", again) == struct.pack(">d", value)
