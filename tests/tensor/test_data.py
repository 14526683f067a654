from __future__ import annotations

import pickle
import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from refimpl.errors import InvalidArgumentError, TensorError, UnsupportedDTypeError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType, Kind
from refimpl.tensor.scheme import QuantScheme

DENSE = [
    DType.F64, DType.F32, DType.FLEX32, DType.F16, DType.BF16, DType.I64, DType.I32, DType.I16, DType.I8,
    DType.U64, DType.U32, DType.U16, DType.U8, DType.BOOL_NATIVE, DType.BOOL_U8, DType.BOOL_U32,
]  # fmt: skip


@pytest.mark.clause("BPK-10")
@pytest.mark.parametrize("dtype", DENSE, ids=str)
def test_a_dtype_is_known_by_its_name_its_kind_and_its_size(dtype: DType) -> None:
    assert DType.parse(repr(dtype)) is dtype
    assert dtype.numpy.itemsize == dtype.itemsize
    assert [dtype.is_float, dtype.is_int, dtype.is_bool].count(True) == 1
    assert not dtype.is_quantized
    assert dtype.numpy.newbyteorder("<") == dtype.numpy


def test_numpys_dtypes_name_burns() -> None:
    assert DType.of(np.float32) is DType.F32
    assert DType.of(np.dtype(ml_dtypes.bfloat16)) is DType.BF16
    assert DType.of(bool) is DType.BOOL_NATIVE


@pytest.mark.parametrize("bad", [np.complex64, "S3", object, "M8[s]", np.float128, "no dtype"])
def test_elements_that_burn_does_not_have_are_refused(bad: Any) -> None:
    with pytest.raises(UnsupportedDTypeError, match="no dtype of Burn"):
        DType.of(bad)


def test_a_name_that_no_dtype_has_is_refused_with_the_names() -> None:
    with pytest.raises(UnsupportedDTypeError, match="'f32'") as caught:
        DType.parse("f32")

    assert "F32" in str(caught.value.hint)


def test_quantised_dtypes_are_equal_by_their_scheme() -> None:
    one, other = DType.qfloat(QuantScheme()), DType.qfloat(QuantScheme())

    assert one == other
    assert hash(one) == hash(other)
    assert one.kind is Kind.QUANTIZED
    assert one != DType.F32
    assert DType.F32 != "F32"


def test_data_is_bytes_with_a_dtype_and_a_shape() -> None:
    data = TensorData(DType.F32, [1, 2], struct.pack("<2f", 1.0, 2.0))

    assert (data.nbytes, data.shape, data.to_numpy().tolist()) == (8, (1, 2), [[1.0, 2.0]])
    assert repr(data) == "TensorData(F32, [1, 2], 8 bytes)"


def test_data_of_an_array_has_its_logical_values() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3).T

    assert bytes(TensorData.from_array(array).bytes) == struct.pack("<6h", 0, 3, 1, 4, 2, 5)


def test_an_array_of_other_elements_is_refused() -> None:
    with pytest.raises(UnsupportedDTypeError, match="does not hold elements of F64"):
        TensorData.from_array(np.ones(1, np.float32), DType.F64)


def test_stores_that_numpy_does_not_tell_apart_are_named() -> None:
    assert TensorData.from_array(np.ones(1, np.uint8), DType.BOOL_U8).dtype is DType.BOOL_U8
    assert TensorData.from_array(np.ones(1, np.float32), DType.FLEX32).dtype is DType.FLEX32


def test_bytes_that_do_not_fill_the_shape_are_refused_with_both_numbers() -> None:
    with pytest.raises(TensorError, match="is invalid for input of size 7 bytes") as caught:
        TensorData(DType.F32, [2], bytes(7)).to_numpy()

    assert "8 bytes" in str(caught.value.hint)


def test_an_extent_below_zero_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at least 0"):
        TensorData(DType.F32, [-1], b"")


@pytest.mark.clause("BPK-17")
def test_deferred_bytes_are_asked_for_each_time_and_never_kept() -> None:
    asked: list[int] = []

    def provide() -> bytes:
        asked.append(1)
        return bytes(8)

    data = TensorData.deferred(DType.F32, [2], 8, provide)
    assert (data.is_deferred, data.nbytes, asked) == (True, 8, [])
    assert data.bytes.readonly
    assert len(data.bytes) == 8
    assert len(asked) == 2
    assert TensorData.deferred(DType.F32, [0], 0, lambda: b"").bytes == b""


def test_equality_is_that_of_dtype_shape_and_bytes() -> None:
    one = TensorData(DType.F32, [1], bytes(4))

    assert one == TensorData.deferred(DType.F32, [1], 4, lambda: bytes(4))
    assert one != TensorData(DType.I32, [1], bytes(4))
    assert one != TensorData(DType.F32, [1, 1], bytes(4))
    assert one != TensorData(DType.F32, [1], b"\x01\0\0\0")
    assert one != "data"


def test_quantised_data_is_read_as_its_bytes() -> None:
    data = TensorData(DType.qfloat(QuantScheme()), [2], bytes(range(6)))

    assert data.to_numpy().tolist() == [0, 1, 2, 3, 4, 5]


def test_a_pickle_holds_the_bytes_even_of_deferred_data() -> None:
    for data in (
        TensorData(DType.F32, [2], bytes(range(8))),
        TensorData.deferred(DType.F32, [2], 8, lambda: bytes(range(8))),
    ):
        assert pickle.loads(pickle.dumps(data)) == data
