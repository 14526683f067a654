from __future__ import annotations

import numpy as np
import pytest

from refimpl.tensor.calibration import QParams
from refimpl.tensor.codes import codec
from refimpl.tensor.device import Device
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import Tensor

CPU = Device("cpu")
NAN = float("nan")
Q = QuantValue


def codes(value: QuantValue, *numbers: float) -> str:
    """The codes of `numbers` under a scale of 1."""
    tensor = Tensor.from_data(np.array(numbers, np.float32), CPU)
    scheme = QuantScheme(value, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    one = Tensor.from_data(np.ones(1, np.float32), CPU)
    return tensor.quantize(scheme, QParams(one)).codes().tobytes().hex()


TIES = (0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, -126.5, 127.4, -128.6, 1e9)


@pytest.mark.clause("QNT-19")
@pytest.mark.report("BL-15")
@pytest.mark.parametrize(
    ("value", "numbers", "expected"),
    [
        (Q.Q8S, TIES, "00020200fefe7e827f817f"),
        (Q.Q8F, TIES, "00020200fefe7e827f807f"),
        (Q.Q4S, (7.5, -7.5, 6.5, -8, 0.5, 1.5), "07f906f90002"),
        (Q.Q4F, (7.5, -7.5, -8.5, 3.5, -0.5), "07f8f80400"),
        (Q.Q2S, (0.5, 0.51, -0.5, -0.51, 1.5, -1.5), "000100ff01ff"),
        (Q.Q2F, (0.5, 1.5, -1.5, -2.5), "0001fefe"),
    ],
)
def test_integer_codes_are_clamped_then_rounded_half_to_even(
    value: QuantValue, numbers: tuple[float, ...], expected: str
) -> None:
    assert codes(value, *numbers) == expected


@pytest.mark.clause("QNT-20")
@pytest.mark.report("BL-15")
def test_four_bit_floats_round_half_to_the_even_code_and_keep_the_sign_of_zero() -> None:
    ties = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -0.25, -0.75, 5.1, 7)

    assert codes(Q.E2M1, *ties) == "00020204040606080a0707"


@pytest.mark.clause("QNT-20")
@pytest.mark.parametrize(
    ("value", "numbers", "expected"),
    [
        (Q.E4M3, (448, 449, 464, 1e9, -1e9, 1, -0.0, 2.0**-9, 2.0**-10), "7e7e7e7efe38800100"),
        (Q.E5M2, (57344, 61440, 1e9, -1e9, 1, -0.0, 2.0**-16, 2.0**-17), "7b7b7bfb3c800100"),
        (Q.E2M1, (6, 7, -7, 1, -0.0), "07070f0208"),
    ],
)
def test_small_floats_saturate_and_keep_the_sign_of_zero(
    value: QuantValue, numbers: tuple[float, ...], expected: str
) -> None:
    assert codes(value, *numbers) == expected


@pytest.mark.clause("QNT-19", "QNT-20")
@pytest.mark.parametrize(
    ("value", "code"), [(Q.Q8S, "00"), (Q.Q4F, "00"), (Q.Q2S, "00"), (Q.E4M3, "7f"), (Q.E2M1, "07")]
)
def test_nan_is_zero_among_integers_nan_among_floats_and_six_of_four_bits(
    value: QuantValue, code: str
) -> None:
    assert codes(value, NAN, 0.0) == code + "00"


@pytest.mark.clause("QNT-20")
def test_nan_keeps_its_sign_and_the_top_of_its_payload_where_there_is_room() -> None:
    patterns = np.array([0x7FC00000, 0xFFC00000, 0x7FE00000, 0x7F800001], np.uint32).view(np.float32)
    tensor = Tensor.from_data(patterns, CPU)

    def of(value: QuantValue) -> str:
        scheme = QuantScheme(value, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
        one = Tensor.from_data(np.ones(1, np.float32), CPU)
        return tensor.quantize(scheme, QParams(one)).codes().tobytes().hex()

    assert of(Q.E4M3) == "7fff7f7f"
    assert of(Q.E5M2) == "7efe7f7e"
    assert of(Q.E2M1) == "07070707"


@pytest.mark.clause("QNT-21")
def test_the_codes_beyond_the_finite_ones_are_infinite_or_nan() -> None:
    assert codec(Q.E5M2).table[[0x7C, 0xFC]].tolist() == [float("inf"), float("-inf")]
    assert np.isnan(codec(Q.E5M2).table[[0x7D, 0x7E, 0x7F, 0xFD]]).all()
    assert np.isnan(codec(Q.E4M3).table[[0x7F, 0xFF]]).all()
    assert (codec(Q.E4M3).table[0x7E], codec(Q.E5M2).table[0x7B]) == (448.0, 57344.0)


@pytest.mark.clause("QNT-21")
def test_four_bit_floats_ignore_their_high_bits() -> None:
    low = codec(Q.E2M1).table[:16]

    assert low[:8].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    assert low[8:].tolist() == [-x for x in low[:8].tolist()]
    assert np.array_equal(codec(Q.E2M1).table, np.tile(low, 16))


@pytest.mark.clause("QNT-21")
def test_integer_codes_decode_as_signed_bytes() -> None:
    assert codec(Q.Q4S).table[[0, 7, 0xF9, 0xFF]].tolist() == [0.0, 7.0, -7.0, -1.0]


@pytest.mark.clause("QNT-20")
@pytest.mark.parametrize("value", [Q.E4M3, Q.E5M2, Q.E2M1])
def test_the_table_by_upper_bits_is_the_rounding_of_every_bit(value: QuantValue) -> None:
    """Values of random bits: what is looked up by 17 bits is what all 32 give by value."""
    bits = np.random.default_rng(7).integers(0, 2**32, 1 << 16, np.uint64).astype(np.uint32)
    numbers = bits.view(np.float32)
    numbers = numbers[np.abs(numbers) < value.range[1]]
    table, sign = codec(value).table, np.uint8(1 << (value.bits - 1))
    half = np.sort(np.unique(table[: int(sign)][np.isfinite(table[: int(sign)])])).astype(np.float64)
    found = np.frombuffer(bytes.fromhex(codes(value, *numbers.tolist())), np.uint8)

    distance = np.abs(np.abs(numbers.astype(np.float64)) - table[found & ~sign].astype(np.float64))
    after = np.searchsorted(half, np.abs(numbers.astype(np.float64)))
    least = np.minimum(
        np.abs(half[np.minimum(after, half.size - 1)] - np.abs(numbers)),
        np.abs(half[np.maximum(after - 1, 0)] - np.abs(numbers)),
    )
    assert np.array_equal(distance, least)
    assert np.array_equal((found & sign) != 0, np.signbit(numbers))
