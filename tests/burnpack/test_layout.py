"""How many bytes a tensor takes, by hand."""

from __future__ import annotations

import pytest

from refimpl.burnpack.layout import byte_length
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype

Q = QuantValue
U32, NATIVE_PACKED = QuantStore.packed_u32, QuantStore.packed_native


def blocks(size: list[int], dtype: ScaleDtype) -> QuantScheme:
    return QuantScheme(Q.Q8S, QuantStore.NATIVE, per_block=(BlockSize(size), dtype))


@pytest.mark.clause("BPK-10", "BPK-12")
@pytest.mark.parametrize(
    ("dtype", "shape", "length"),
    [
        (DType.F64, (2, 3), 48),
        (DType.FLEX32, (), 4),
        (DType.BF16, (5,), 10),
        (DType.BOOL_NATIVE, (3,), 3),
        (DType.BOOL_U32, (3,), 12),
        (DType.I8, (0, 2**64), 0),
        (DType.F32, (2**62,), None),
        (DType.U8, (2**64 - 1,), 2**64 - 1),
        (DType.U8, (2**64 - 1, 2), None),
        (DType.U8, (2**63, 2, 0), None),
    ],
)
def test_dense_tensors_take_elements_times_size_in_64_bits(
    dtype: DType, shape: tuple[int, ...], length: int | None
) -> None:
    assert byte_length(dtype, shape) == length


@pytest.mark.clause("QNT-28", "QNT-29", "QNT-30")
@pytest.mark.report("BL-05")
@pytest.mark.parametrize(
    ("scheme", "shape", "length"),
    [
        (QuantScheme(Q.Q8S, QuantStore.NATIVE), (3,), 3 + 4),
        (QuantScheme(Q.Q4S, QuantStore.NATIVE), (3,), 3 + 4),
        (QuantScheme(Q.Q4F, U32(0)), (3, 3), 3 * 4 + 4),
        (QuantScheme(Q.Q2F, U32(1)), (17, 3), 3 * 2 * 4 + 4),
        (QuantScheme(Q.Q8F, U32(0)), (), 4 + 4),
        (QuantScheme(Q.Q8F, U32(1)), (), None),
        (QuantScheme(Q.Q8F, U32(2)), (4, 4), None),
        (QuantScheme(Q.E2M1, NATIVE_PACKED(0)), (2, 5), 2 * 3 + 4),
        (QuantScheme(Q.Q4S, NATIVE_PACKED(0)), (2, 5), 10 + 4),
        (QuantScheme(Q.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.UE4M3), (4,), 4 + 1),
        (blocks([2, 4], ScaleDtype.F16), (3, 8), 24 + 2 * 2 * 2),
        (blocks([4], ScaleDtype.BF16), (3, 8), 24 + 6 * 2),
        (
            QuantScheme(
                Q.E2M1,
                NATIVE_PACKED(0),
                per_tensor=ScaleDtype.F32,
                per_block=(BlockSize([16]), ScaleDtype.UE4M3),
            ),
            (8, 32),
            128 + 16 + 4,
        ),
        (blocks([2, 4], ScaleDtype.F16), (8,), None),
        (blocks([0, 4], ScaleDtype.F16), (8, 8), None),
        (QuantScheme(Q.Q8S, QuantStore.NATIVE), (2**63, 2), None),
        (QuantScheme(Q.Q8S, QuantStore.NATIVE), (2**64 - 1,), None),
        (QuantScheme(Q.Q8S, U32(0)), (2**63, 4), None),
    ],
)  # fmt: skip
def test_quantised_tensors_take_words_scales_and_the_scale_of_the_whole(
    scheme: QuantScheme, shape: tuple[int, ...], length: int | None
) -> None:
    assert byte_length(DType.qfloat(scheme), shape) == length
