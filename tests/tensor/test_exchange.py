from __future__ import annotations

from typing import Any

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, InvalidArgumentError, TensorError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

CPU = Device("cpu")


class OldConsumer:
    """A library that speaks DLPack before version 1: it names no version."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return self._tensor.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()


def test_numpy_reads_a_tensor_without_a_copy_and_cannot_write_to_it() -> None:
    tensor = Tensor.from_data([1.0, 2.0], CPU)
    array = np.from_dlpack(tensor)  # type: ignore[arg-type]

    assert np.shares_memory(array, tensor.array)
    assert not array.flags.writeable
    assert tensor.__dlpack_device__() == (1, 0)


def test_a_library_that_cannot_be_told_read_only_gets_a_copy() -> None:
    tensor = Tensor.from_data([1.0, 2.0], CPU)
    array = np.from_dlpack(OldConsumer(tensor))  # type: ignore[arg-type]

    assert not np.shares_memory(array, tensor.array)
    assert array.tolist() == [1, 2]


def test_a_dtype_that_dlpack_cannot_carry_from_numpy_is_refused() -> None:
    with pytest.raises(TensorError, match="BF16 cannot be exported"):
        Tensor.ones([1], CPU, DType.BF16).__dlpack__()


def test_another_librarys_array_is_copied_in() -> None:
    source = array_api_strict.asarray([1.0, 2.0], dtype=array_api_strict.float32)
    tensor = Tensor.from_dlpack(source)

    assert (tensor.dtype, str(tensor.device), tensor.to_numpy().tolist()) == (DType.F32, "cpu", [1, 2])
    array = np.ones(2, np.int16)
    ints = IntTensor.from_dlpack(array, Device("sim", 1))
    array[:] = 0
    assert (ints.dtype, str(ints.device), ints.to_numpy().tolist()) == (DType.I16, "sim:1", [1, 1])


@pytest.mark.parametrize("source", [1.0, object(), np.ones(1, ml_dtypes.bfloat16)])
def test_what_cannot_be_exchanged_is_refused(source: object) -> None:
    with pytest.raises(ArgumentTypeError, match="cannot be read through DLPack"):
        Tensor.from_dlpack(source)


def test_numpy_makes_an_array_of_a_tensor() -> None:
    tensor = Tensor.from_data([1.5, 2.5], CPU)

    assert np.shares_memory(np.asarray(tensor), tensor.array)
    assert np.asarray(tensor, np.int32).tolist() == [1, 2]
    copied = np.array(tensor)
    copied[0] = 9.0
    assert tensor.to_numpy().tolist() == [1.5, 2.5]
    assert np.asarray(BoolTensor.ones([1], CPU)).dtype == np.bool_


def test_another_dtype_without_a_copy_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="only in a copy"):
        np.array(Tensor.ones([1], CPU), np.int8, copy=False)


def test_numpy_functions_do_not_take_tensors_apart() -> None:
    with pytest.raises(TypeError):
        np.add(np.ones(1), Tensor.ones([1], CPU))
