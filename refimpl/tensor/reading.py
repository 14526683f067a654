"""Values from outside: arrays, nested lists, numbers, tensor data; copied, so that no caller changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError
from .data import TensorData
from .dtype import DType


def read(value: object) -> tuple[NDArray[Any], DType, bool]:
    """`value` as an array of its own in row-major order, its dtype, and whether it names that dtype itself.

    An array and tensor data do; a list or a number of Python does not: it is read as F64, I64, U64 or Bool.

    Raises:
        ArgumentTypeError: the elements are no numbers: text, objects, complex numbers, a ragged list.
        InvalidArgumentError: an integer has more than 64 bits.
    """
    if isinstance(value, TensorData):
        array = value.to_numpy()
        return (array if isinstance(value.bytes.obj, bytes) else array.copy()), value.dtype, True
    named = hasattr(value, "dtype") or hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    try:
        array = np.array(value, order="C", copy=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentTypeError(
            f"a tensor is made of numbers in equal rows, got {type(value).__name__}: {error}",
            hint="pass a NumPy array, or nested lists of numbers whose rows are equally long",
        ) from error
    if array.dtype == object and array.size and all(isinstance(v, int) for v in array.ravel()):
        raise InvalidArgumentError("an integer of more than 64 bits has no place in a tensor")
    if not named and not array.size:
        array = array.astype(np.float64)
    try:
        dtype = DType.of(array.dtype.newbyteorder("<"))
    except Exception as error:
        raise ArgumentTypeError(
            f"a tensor is made of numbers, got elements of {array.dtype}",
            clause="BPK-7",
            hint="cast the array first: array.astype('float32')",
        ) from error
    return np.ascontiguousarray(array, dtype.numpy).reshape(array.shape), dtype, named
