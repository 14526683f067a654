"""Values from outside: arrays, nested lists, numbers, tensor data; copied, so that no caller changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError
from .core import AnyTensor
from .data import TensorData
from .dtype import DType


def read(value: Any) -> tuple[NDArray[Any], DType]:
    """`value` as an array of its own in row-major order, with its dtype: of a number F64, I64, U64 or Bool.

    Raises:
        ArgumentTypeError: the elements are no numbers: text, objects, complex numbers, a ragged list.
        InvalidArgumentError: an integer has more than 64 bits.
    """
    reader = _of_data if isinstance(value, TensorData) else _of_values
    return reader(value)


def names_its_dtype(value: object) -> bool:
    """Whether `value` says what its elements are: an array and tensor data do, lists and numbers do not."""
    return any(hasattr(value, name) for name in ("dtype", "__array__", "__array_interface__"))


def _of_data(data: TensorData) -> tuple[NDArray[Any], DType]:
    return data.to_numpy().copy(), data.dtype


def _of_values(value: Any) -> tuple[NDArray[Any], DType]:
    _refuse_hidden(value)
    try:
        array = np.array(value, order="C", copy=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentTypeError(
            f"a tensor is made of numbers in equal rows, got {type(value).__name__}: {error}",
            hint="pass a NumPy array, or nested lists of numbers whose rows are equally long",
        ) from error
    if array.dtype == object and any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in array.flat):
        raise InvalidArgumentError("an integer of more than 64 bits has no place in a tensor")
    if not array.size and not names_its_dtype(value):
        array = array.astype(np.float64)
    try:
        dtype = DType.of(array.dtype.newbyteorder("<"))
    except Exception as error:
        if array.ndim == 0 and array.dtype == object:
            raise ArgumentTypeError(
                f"a tensor is made of numbers, got {type(value).__name__}",
                clause="BPK-7",
                hint=_way_out(value),
            ) from error
        raise ArgumentTypeError(
            f"a tensor is made of numbers, got elements of {array.dtype}",
            clause="BPK-7",
            hint="cast the array first: array.astype('float32')",
        ) from error
    return np.ascontiguousarray(array, dtype.numpy).reshape(array.shape), dtype


def _refuse_hidden(value: Any) -> None:
    """Refuse what NumPy would read as plain numbers although it says more: a mask, a device.

    Raises:
        ArgumentTypeError: a masked array, or a list of tensors.
    """
    if hasattr(value, "filled") and hasattr(value, "mask") and np.any(value.mask):
        raise ArgumentTypeError(
            "a masked array has values that are not there",
            clause="BPK-7",
            hint="say what stands in their place: array.filled(0.0)",
        )
    first = value
    while isinstance(first, (list, tuple)) and first and first[0] is not first:
        first = first[0]
    if first is not value and isinstance(first, AnyTensor):
        raise ArgumentTypeError(
            f"from_data takes values, got a {type(value).__name__} of {type(first).__name__}",
            hint="Tensor.stack(tensors, dim) and Tensor.cat(tensors, dim) keep device and gradient state",
        )


def _way_out(value: object) -> str:
    if hasattr(value, "val") and hasattr(value, "is_initialized"):
        return "a parameter's tensor is param.val()"
    return "pass a NumPy array, a number, or nested lists of numbers"
