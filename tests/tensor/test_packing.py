from __future__ import annotations

import numpy as np
import pytest

from refimpl.errors import TensorError
from refimpl.tensor import packing
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype

Q, U32, NATIVE_PACKED = QuantValue, QuantStore.packed_u32, QuantStore.packed_native


def pack(values: list[int] | list[list[int]] | int, scheme: QuantScheme) -> str:
    return packing.pack(np.array(values, np.int8).view(np.uint8), scheme).tobytes().hex()


@pytest.mark.clause("QNT-2", "QNT-29")
@pytest.mark.parametrize(
    ("scheme", "codes", "word"),
    [
        (QuantScheme(Q.Q4S, QuantStore.NATIVE), 1, 1),
        (QuantScheme(Q.Q8S, U32(0)), 4, 4),
        (QuantScheme(Q.Q4S, U32(0)), 8, 4),
        (QuantScheme(Q.Q2S, U32(0)), 16, 4),
        (QuantScheme(Q.E2M1, NATIVE_PACKED(0)), 2, 1),
        (QuantScheme(Q.Q4S, NATIVE_PACKED(0)), 1, 1),
    ],
)
def test_a_word_holds_as_many_codes_as_fit(scheme: QuantScheme, codes: int, word: int) -> None:
    assert packing.word_codes(scheme) == (codes, word)


@pytest.mark.clause("QNT-29")
@pytest.mark.parametrize(
    ("scheme", "codes", "raw"),
    [
        (QuantScheme(Q.Q4S, QuantStore.NATIVE), [1, -5], "01fb"),
        (QuantScheme(Q.Q4S, NATIVE_PACKED(0)), [1, -5], "010b"),
        (QuantScheme(Q.Q4S, U32(0)), [1, -5, 2], "b1020000"),
        (QuantScheme(Q.Q8S, U32(0)), [1, -1, 2, 3, 4], "01ff020304000000"),
        (QuantScheme(Q.Q2S, U32(0)), [1, -1, 0, 1], "4d000000"),
        (QuantScheme(Q.E2M1, NATIVE_PACKED(0)), [1, 2, 15], "210f"),
        (QuantScheme(Q.Q4S, U32(0)), [[1, 2], [3, 4]], "2100000043000000"),
        (QuantScheme(Q.Q4S, U32(1)), [[1, 2], [3, 4]], "3100000042000000"),
        (QuantScheme(Q.Q4S, U32(0)), 5, "05000000"),
    ],
)
def test_codes_lie_low_bits_first_and_each_row_fills_words_of_its_own(
    scheme: QuantScheme, codes: list[int] | list[list[int]] | int, raw: str
) -> None:
    assert pack(codes, scheme) == raw
    shape = np.array(codes).shape
    stored = np.frombuffer(bytes.fromhex(raw), np.uint8)
    back = packing.unpack(stored, scheme, shape)
    signed = back if scheme.value.is_float else back.view(np.int8)
    assert signed.tolist() == codes


@pytest.mark.clause("QNT-29")
def test_the_packed_axis_trades_places_with_the_last_and_is_not_moved_to_the_end() -> None:
    codes = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)  # 4a + 2b + c
    scheme = QuantScheme(Q.Q8S, U32(2))

    # rows are (c, b), and a runs along a row: 4 bytes a word, two of them padding
    assert packing.pack(codes, scheme).tobytes().hex() == "00040000" + "02060000" + "01050000" + "03070000"


@pytest.mark.clause("QNT-30")
def test_block_scales_trade_places_as_the_codes_do() -> None:
    scheme = QuantScheme(Q.Q8S, U32(1), per_block=(BlockSize([2, 4]), ScaleDtype.F32))
    scales = np.arange(6, dtype=np.float32)
    stored = packing.stored_order(scales, (2, 3), scheme)

    assert stored.tolist() == [0, 3, 1, 4, 2, 5]
    assert packing.grid_order(stored, (2, 3), scheme).tolist() == scales.tolist()
    innermost = scheme.with_packing_axis(0)
    assert packing.stored_order(scales, (2, 3), innermost).tolist() == scales.tolist()


@pytest.mark.clause("QNT-29")
@pytest.mark.parametrize(("axis", "rank"), [(2, 2), (1, 1), (1, 0), (5, 3)])
def test_a_packing_axis_that_the_tensor_has_not_is_refused(axis: int, rank: int) -> None:
    with pytest.raises(TensorError) as caught:
        packing.check_axis(QuantScheme(store=U32(axis)), rank)

    assert (
        str(caught.value) == f"a store packed along dim {axis} from the innermost needs more than {rank} dims"
    )


@pytest.mark.clause("QNT-29")
def test_a_scalar_has_the_innermost_axis_and_a_plain_store_needs_none() -> None:
    packing.check_axis(QuantScheme(store=U32(0)), 0)
    packing.check_axis(QuantScheme(store=QuantStore.NATIVE), 0)
