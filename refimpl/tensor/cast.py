"""Conversion of elements: of data, which refuses what has no place, and of tensors, which never does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TensorError
from .dtype import DType
from .quiet import Quiet, no_memory

_QUIET = Quiet()


def convert(array: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    """The elements of data as `target`: what `Tensor::from_data` does before it makes a tensor.

    A float becomes an integer by truncation towards zero. A value that `target` cannot represent is
    refused, save that floats round, and overflow to infinity. F16 and BF16 are rounded from the nearest
    F32 (twice, for F64). A bool is 0 or 1; a number is true unless it is zero.

    Raises:
        TensorError: a value has no place in `target`.

    Burn: burn_std::TensorData::convert_dtype, burn_std::ToElement
    Clauses: REC-21.
    """
    if source is target:
        return array
    return _QUIET.run(_convert, array, source, target)  # type: ignore[no-any-return]


def _convert(array: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    if target.is_bool:
        truth: NDArray[Any] = array != 0
        return truth.astype(target.numpy)
    if source.is_bool and source is not DType.BOOL_NATIVE and target.is_int:
        _check_int(array, target)
    elif source.is_float and target.is_int:
        _check_float(array, target)
        whole: NDArray[Any] = np.trunc(_wide(array))
        return whole.astype(target.numpy)
    elif source.is_int and target.is_int:
        _check_int(array, target)
    return _narrow(array, target)


def narrowed(array: NDArray[Any], target: DType) -> NDArray[Any]:
    """`array` as `target`; F16 and BF16 are rounded from F32, as Burn's `half` does."""
    return _quietly(_narrow, array, target)


def _quietly(function: Callable[..., NDArray[Any]], *arguments: Any) -> NDArray[Any]:
    try:
        return _QUIET.run(function, *arguments)  # type: ignore[no-any-return]
    except MemoryError as error:
        raise no_memory(error) from error


def _narrow(array: NDArray[Any], target: DType) -> NDArray[Any]:
    if target.itemsize == 2 and target.is_float and array.dtype != target.numpy:
        array = array.astype(np.float32)
    result: NDArray[Any] = array.astype(target.numpy)
    return result


def saturated(array: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    """The elements of a tensor as `target`, of floats or ints: what `cast`, `int` and `float` of a tensor do.

    A float becomes an integer by truncation towards zero, held at the ends of the range, NaN becoming 0.
    An integer becomes a narrower one by dropping high bits.

    Burn: burn_flex, `float_into_int`, `int_cast`, `int_into_float`, `float_cast`
    """
    return _quietly(_saturate, array, source, target)


def _saturate(array: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    if not (source.is_float and target.is_int):
        return _narrow(array, target)
    low, beyond = _bounds(target)
    values = np.maximum(np.trunc(array.astype(np.float64)), low)
    above = values >= beyond
    whole: NDArray[Any] = np.where(above | np.isnan(values), 0, values).astype(target.numpy)
    whole[above] = np.iinfo(target.numpy).max
    return whole


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float32) if array.dtype.itemsize == 2 else array


def _bounds(target: DType) -> tuple[float, float]:
    """The least value of an integer dtype, and the first beyond its greatest: exact in f64."""
    bits = 8 * target.itemsize
    unsigned = target.name.startswith("U")
    return (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))


def _check_float(array: NDArray[Any], target: DType) -> None:
    low, beyond = _bounds(target)
    values = np.trunc(_wide(array))  # -0.5 truncates to -0.0, which fits an unsigned dtype
    bad = ~((values >= low) & (values < beyond))  # NaN is not inside any range
    if bad.any():
        sign = "unsigned" if target.name.startswith("U") else "signed"
        raise TensorError(
            f"Float cannot be represented in the target {sign} int type",
            clause="REC-21",
            hint=f"{_first(array, bad)} has no place in {target}",
        )


def _check_int(array: NDArray[Any], target: DType) -> None:
    info = np.iinfo(target.numpy)
    if not array.size or (int(array.min()) >= info.min and int(array.max()) <= info.max):
        return
    bad = np.array([not info.min <= int(value) <= info.max for value in array.ravel()]).reshape(array.shape)
    value = _first(array, bad)
    raise TensorError(
        "Element cannot be represented in the target type: "
        f'"{_rust_name(array.dtype)}"({value}) => "{_rust_name(target.numpy)}"',
        clause="REC-21",
        hint=f"{value} has no place in {target}",
    )


def _rust_name(dtype: np.dtype[Any]) -> str:
    return f"{dtype.kind}{8 * dtype.itemsize}"


def _first(array: NDArray[Any], bad: NDArray[Any]) -> Any:
    return array[bad].ravel()[0].item()
