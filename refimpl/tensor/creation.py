"""Making tensors: from data, of one value, at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    RefimplError,
    ResourceError,
    TensorError,
    UnsupportedDTypeError,
)
from . import gradient
from .arguments import as_shape, check_device, check_dtype
from .cast import convert
from .core import AnyTensor, Number
from .data import TensorData
from .device import Device
from .dtype import DType
from .namespace import space_of
from .operands import into_tensor
from .random import DEFAULT, Distribution, sample
from .reading import names_its_dtype, read
from .settings import locked_settings


class CreatedTensor(AnyTensor):
    """A tensor that can be made from nothing but values and a device.

    The first tensor on a device locks the device's default dtypes (DEV-13).
    """

    __slots__ = ()

    @classmethod
    def from_data(cls, data: object, device: Device, dtype: DType | None = None) -> Self:
        """The tensor of `data` on `device`, in the autodiff context of `device`, untracked.

        Args:
            data: A NumPy array or any array-like, tensor data, nested lists, a number. It is copied.
            device: Where the tensor is to be, and in which autodiff context.
            dtype: The dtype of the elements. Without one an array keeps its own where that is of this kind,
                and the device's default is taken otherwise. Bool tensors always take the device's default.

        Raises:
            ArgumentTypeError: the elements are no numbers.
            TensorError: an element has no place in the dtype.

        Burn: burn_tensor::Tensor::from_data
        Clauses: DEV-8, DEV-13, REC-20, REC-21.
        """
        if isinstance(data, AnyTensor):
            raise ArgumentTypeError(
                f"from_data takes values, got a {type(data).__name__}",
                hint="take to_device(), cast() or float()",
            )
        check_device(device)
        array, source = read(data)
        target = cls._unsaid(data, source, device) if dtype is None else check_dtype(dtype)
        return cls._from_array(array, source, device, target)

    @classmethod
    def _unsaid(cls, data: object, source: DType, device: Device) -> DType:
        """The dtype of a tensor of `data`, for which the maker names none."""
        return source if names_its_dtype(data) and cls._holds(source) else cls.default_dtype(device)

    @classmethod
    def from_record_data(cls, data: TensorData, device: Device, dtype: DType) -> Self:
        """The tensor that a parameter takes from an entry of a record, `dtype` being its target.

        Float: a quantised entry stays quantised whatever the target; else the target is a float dtype. Int:
        the target is not checked, so an F32 entry can give an int tensor of F32. Bool: always the device's
        default store. The bytes of `data` become the storage where nothing is to be converted; so
        nobody may write to them afterwards.

        Raises:
            TensorError: a float parameter meets another target, or an element has no place in it.

        Burn: burn_tensor::Tensor::from_data, called with a dtype by a record
        Clauses: REC-20, REC-21.
        """
        check_device(device)
        if not isinstance(data, TensorData):
            raise ArgumentTypeError(f"from_record_data takes tensor data, got {type(data).__name__}")
        return cls._from_array(data.to_numpy(), data.dtype, device, check_dtype(dtype))

    @classmethod
    def _from_array(cls, array: NDArray[Any], source: DType, device: Device, dtype: DType) -> Self:
        locked_settings(device)
        target = cls._target(device, dtype)
        space = space_of(device)
        space.dtype(target)
        if source.is_quantized or target.is_quantized:
            raise TensorError(
                f"Failed to convert TensorData to {target}: "
                f"Unsupported data conversion from {source} to {target}",
                clause="REC-20",
            )
        placed = space.from_host(convert(array, source, target))
        return cls._class_for(target)._made(placed, device, target, gradient.fresh(device))

    @classmethod
    def default_dtype(cls, device: Device) -> DType:
        """The dtype of a tensor of this kind whose maker names none (DEV-13)."""
        raise NotImplementedError

    @classmethod
    def _holds(cls, dtype: DType) -> bool:
        return dtype.kind is cls.kind

    @classmethod
    def _target(cls, device: Device, dtype: DType) -> DType:  # noqa: ARG003 - bool tensors ask the device
        return dtype

    @classmethod
    def _class_for(cls, dtype: DType) -> type[Self]:  # noqa: ARG003 - int tensors ask the dtype
        return cls

    @classmethod
    def from_dlpack(cls, source: object, device: Device | None = None) -> Self:
        """A copy of the array of another library, exchanged by DLPack; on the host if no device is named.

        Raises:
            ArgumentTypeError: `source` cannot be exchanged, or holds elements that NumPy does not know.
        """
        try:
            array = np.from_dlpack(source)  # type: ignore[arg-type]
        except (AttributeError, TypeError, BufferError, RuntimeError, ValueError) as error:
            raise ArgumentTypeError(
                f"{type(source).__name__} cannot be read through DLPack: {error}",
                hint="convert it to a NumPy array on the host first, bfloat16 to float32",
            ) from error
        return cls.from_data(array, device if device is not None else Device.default())

    # -- of one value

    @classmethod
    def full(
        cls, shape: Sequence[int] | int, value: Number, device: Device, dtype: DType | None = None
    ) -> Self:
        """`value` everywhere, rounded to the dtype."""
        return cls._full(as_shape(shape), value, device, cls._chosen(device, dtype))

    @classmethod
    def zeros(cls, shape: Sequence[int] | int, device: Device, dtype: DType | None = None) -> Self:
        """Zero everywhere."""
        return cls.full(shape, 0, device, dtype)

    @classmethod
    def ones(cls, shape: Sequence[int] | int, device: Device, dtype: DType | None = None) -> Self:
        """One everywhere."""
        return cls.full(shape, 1, device, dtype)

    @classmethod
    def random(
        cls,
        shape: Sequence[int] | int,
        distribution: Distribution = DEFAULT,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> Self:
        """Values of `distribution`, from the device's own stream of random numbers.

        Burn: burn_tensor::Tensor::random
        """
        where = device if device is not None else Device.default()
        chosen = cls._chosen(where, dtype)
        space = space_of(where)
        dims = as_shape(shape)
        with memory_for(chosen, dims):
            array = space.from_host(sample(distribution, dims, chosen, where))
        return cls._made(array, where, chosen, gradient.fresh(where))

    def full_like(self, value: Number) -> Self:
        """`value` everywhere: shape, dtype and device of this tensor."""
        return self._full(self.shape, value, self.device, self.dtype)

    def zeros_like(self) -> Self:
        """Zero everywhere: shape, dtype and device of this tensor."""
        return self.full_like(0)

    def ones_like(self) -> Self:
        """One everywhere: shape, dtype and device of this tensor."""
        return self.full_like(1)

    def random_like(self, distribution: Distribution = DEFAULT) -> Self:
        """Values of `distribution`: shape, dtype and device of this tensor."""
        return type(self).random(self.shape, distribution, self.device, self.dtype)

    @classmethod
    def _chosen(cls, device: Device, dtype: DType | None) -> DType:
        check_device(device)
        return cls.default_dtype(device) if dtype is None else cls._named(device, dtype)

    @classmethod
    def _named(cls, device: Device, dtype: DType) -> DType:
        if not cls._holds(check_dtype(dtype)):
            raise UnsupportedDTypeError(
                f"a {cls.__name__} has no elements of {dtype}",
                hint=f"take a dtype of its kind: {cls.default_dtype(device)}",
            )
        return cls._target(device, dtype)

    @classmethod
    def _full(cls, shape: tuple[int, ...], value: Number, device: Device, dtype: DType) -> Self:
        space = space_of(device)
        space.dtype(dtype)
        element = np.asarray(cls._scalar(value, dtype)).astype(dtype.numpy)
        with memory_for(dtype, shape):
            array = space.from_host(np.full(shape, element, dtype.numpy))
        return cls._made(array, device, dtype, gradient.fresh(device))

    @classmethod
    def _scalar(cls, value: Number, dtype: DType) -> Any:
        """`value` as one element: rounded to the dtype, and such that an array library keeps the dtype."""
        raise NotImplementedError


@contextmanager
def memory_for(dtype: DType, shape: tuple[int, ...]) -> Iterator[None]:
    """Say of what cannot be allocated in here which tensor it is.

    Raises:
        ResourceError: there is no memory for so many elements.
    """
    try:
        yield
    except RefimplError:  # some of ours are ValueErrors too
        raise
    except (ValueError, MemoryError) as error:
        raise ResourceError(f"no memory for a tensor of {dtype} and shape {list(shape)}: {error}") from error


def number(value: object) -> Number:
    """`value` as a number of Python's; NumPy's scalars are numbers too.

    Raises:
        ArgumentTypeError: it is none.
    """
    return value if isinstance(value, (float, int)) else _of_numpy(value)


def _of_numpy(value: object) -> Number:
    if not isinstance(value, (np.number, np.bool_)) or isinstance(value, np.complexfloating):
        raise ArgumentTypeError(
            f"an operand is a tensor of the same kind or a number, got {type(value).__name__}",
            hint=into_tensor(value),
        )
    plain: Number = value.item()
    return plain


def real(value: object) -> float:
    """`value` as a float of Python's.

    Raises:
        InvalidArgumentError: an integer beyond every float.
    """
    given = number(value)
    try:
        return float(given)
    except OverflowError as error:
        raise InvalidArgumentError(f"{value!r:.40}... is beyond every float") from error


def integer(value: object, unsigned: bool = False) -> int:
    """`value` as an integer of 64 bits; a float is truncated towards zero, as Burn's element conversion does.

    Raises:
        TensorError: it has no place there.
        InvalidArgumentError: it is an integer of more than 64 bits.

    Clauses: REC-21.
    """
    given = number(value)
    kind, low, high = ("unsigned", 0, 2**64) if unsigned else ("signed", -(2**63), 2**63)
    if isinstance(given, float) and not low - 1 < given < high:  # NaN is in no range
        raise TensorError(f"Float cannot be represented in the target {kind} int type", clause="REC-21")
    found = int(given)
    if not -(2**63) <= found < 2**64:
        raise InvalidArgumentError(f"an operand is {kind} here, of 64 bits, got {found}")
    if not low <= found < high:
        target, source = ("u64", "i64") if unsigned else ("i64", "u64")
        raise TensorError(
            f'Element cannot be represented in the target type: "{source}"({found}) => "{target}"',
            clause="REC-21",
            hint=f"an operand is {kind} here, of 64 bits",
        )
    return found
