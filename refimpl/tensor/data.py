"""Bytes with a dtype and a shape: what a tensor is outside every device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError, TensorError, UnsupportedDTypeError
from ..immutable import Value
from .dtype import DType

Buffer = bytes | bytearray | memoryview

_NOTHING: Final = memoryview(b"")
_BYTE: Final = np.dtype(np.uint8)


class TensorData(Value):
    """Little-endian bytes in row-major order, with their dtype and shape.

    The bytes of a `deferred` one are asked for each time they are needed and never kept, so that many
    tensors can be written while one of them is in memory.

    >>> TensorData.from_array(np.array([1.0, 2.0], np.float32))
    TensorData(F32, [2], 8 bytes)

    Burn: burn_std::TensorData
    Clauses: BPK-10, BPK-17.
    """

    __slots__ = ("_bytes", "_provider", "dtype", "nbytes", "shape")

    dtype: DType
    shape: tuple[int, ...]
    nbytes: int

    _bytes: memoryview | None
    _provider: Callable[[], Buffer] | None

    def __new__(cls, dtype: DType, shape: Sequence[int], data: Buffer) -> Self:
        """The bytes of `data`, not copied.

        Raises:
            ArgumentTypeError: an argument is of another type.
            InvalidArgumentError: an extent is negative.
        """
        try:
            view = memoryview(data)
        except TypeError as error:
            raise ArgumentTypeError(
                f"tensor data is made of bytes, got {type(data).__name__}",
                clause="BPK-10",
                hint="TensorData.from_array takes an array",
            ) from error
        if view.ndim != 1 or view.format != "B":
            view = _flat(view)
        return cls.checked(_dtype(dtype), _shape(shape), view)

    @classmethod
    def checked(cls, dtype: DType, shape: tuple[int, ...], data: memoryview) -> Self:
        """Data whose shape was checked and whose bytes are a flat view: the cheap way, for many tensors."""
        made: Self = object.__new__(cls._open)
        made.dtype, made.shape, made.nbytes = dtype, shape, data.nbytes
        made._bytes = data if data.readonly else data.toreadonly()
        made._provider = None
        made.__class__ = cls
        return made

    @classmethod
    def deferred(
        cls, dtype: DType, shape: Sequence[int], nbytes: int, provider: Callable[[], Buffer]
    ) -> Self:
        """Data whose `nbytes` bytes `provider` gives when they are needed."""
        if not callable(provider):
            raise ArgumentTypeError(
                f"deferred data has a function that gives its bytes, got {provider!r}", clause="BPK-17"
            )
        if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < 0:
            raise InvalidArgumentError(
                f"a number of bytes is an integer of at least 0, got {nbytes!r}", clause="BPK-17"
            )
        made: Self = object.__new__(cls._open)
        made.dtype, made.shape, made.nbytes = _dtype(dtype), _shape(shape), nbytes
        made._bytes, made._provider = None, provider
        made.__class__ = cls
        return made

    @classmethod
    def from_array(cls, array: NDArray[Any], dtype: DType | None = None) -> Self:
        """The logical values of `array`, whatever its memory layout.

        `dtype` names the elements where NumPy has one dtype for several of Burn's: `Flex32`, the bool stores.

        Raises:
            UnsupportedDTypeError: Burn has no such elements, or `dtype` has others.
        """
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(
                f"tensor data is made from a NumPy array here, got {type(array).__name__}",
                clause="BPK-10",
                hint="numpy.asarray makes one",
            )
        if dtype is None:
            dtype = DType.of(array.dtype)
        elif array.dtype != _dtype(dtype).numpy:
            raise UnsupportedDTypeError(
                f"an array of {array.dtype} does not hold elements of {dtype}", clause="BPK-10"
            )
        rows = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        return cls.checked(dtype, array.shape, rows.reshape(-1).view(_BYTE).data if rows.size else _NOTHING)

    @property
    def is_deferred(self) -> bool:
        """Whether the bytes are asked for at each use."""
        return self._provider is not None

    @property
    def bytes(self) -> memoryview:
        """The bytes, read-only; a deferred provider is asked for them now."""
        if self._bytes is not None:
            return self._bytes
        assert self._provider is not None
        given = self._provider()
        try:
            return _flat(memoryview(given)).toreadonly()
        except TypeError as error:
            raise ArgumentTypeError(
                f"the function of deferred data gives its bytes, but gave {type(given).__name__}",
                clause="BPK-17",
            ) from error

    def to_numpy(self) -> NDArray[Any]:
        """The values as a read-only array; the serialised bytes for a quantised dtype.

        Raises:
            TensorError: the bytes do not fill the shape, or NumPy has no array of it: more than 64 axes.
        """
        data = self.bytes
        if self.dtype.is_quantized:
            return np.frombuffer(data, np.uint8)
        if data.nbytes != math.prod(self.shape) * self.dtype.itemsize:
            raise TensorError(
                f"Shape {list(self.shape)} with dtype {self.dtype} is invalid for input of size "
                f"{data.nbytes} bytes",
                clause="BPK-12",
                hint=f"its elements take {math.prod(self.shape) * self.dtype.itemsize} bytes",
            )
        try:
            return np.ndarray(self.shape, self.dtype.numpy, data)
        except (ValueError, OverflowError) as error:
            raise TensorError(
                f"no NumPy array has this shape of {len(self.shape)} axes: {error}",
                clause="BPK-6",
                hint="`bytes` are the data",
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.dtype, self.shape, bytes(self.bytes))

    def __deepcopy__(self, memo: object) -> Self:
        """Bytes of its own: whoever gave these may still write to them."""
        return type(self)(self.dtype, self.shape, bytes(self.bytes))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorData):
            return NotImplemented
        return (self.dtype, self.shape) == (other.dtype, other.shape) and self.bytes == other.bytes

    __hash__ = None  # type: ignore[assignment]  # the bytes of a deferred one are not stable

    def __repr__(self) -> str:
        return f"TensorData({self.dtype}, {list(self.shape)}, {self.nbytes} bytes)"


def _flat(view: memoryview) -> memoryview:
    return view.cast("B") if view.nbytes else _NOTHING


def fresh_memory(nbytes: int) -> memoryview:
    """Writable bytes with nothing in them yet, in large pages where NumPy asks the system for those."""
    return np.empty(nbytes, _BYTE).data


def _dtype(dtype: DType) -> DType:
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"a dtype is a DType, got {dtype!r}", clause="BPK-7", hint="DType.F32")
    return dtype


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        dims = tuple(map(index, shape))
    except TypeError as error:
        raise ArgumentTypeError(
            f"a shape is several integers, got {shape!r}", clause="BPK-6", hint="[2, 3]"
        ) from error
    if dims and min(dims) < 0:
        raise InvalidArgumentError(f"the extents of a shape are at least 0, got {list(dims)}", clause="BPK-6")
    return dims
