"""What every tensor is: an array on a device, with a dtype and a gradient state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError, TensorError
from ..immutable import Value
from . import observer
from .arguments import check_device
from .data import TensorData
from .device import Device
from .dtype import DType, Kind
from .gradient import LEAF, NON_LEAF, PLAIN, UNTRACKED, GradState
from .namespace import Space, space_of
from .observer import NOBODY
from .quiet import no_memory

if TYPE_CHECKING:
    pass

#: A number of Python's. Named here because tensors have methods called `float`, `int` and `bool`.
Number = float | int | bool
_new: Final = object.__new__


class AnyTensor(Value):
    """A tensor of any kind: a value, never changed after it is made.

    `device` is the hardware with the tensor's own autodiff context. Storage can be shared between tensors
    and is never written to; arrays handed out are read-only.

    Burn: burn_tensor::Tensor
    Clauses: DEV-8.
    """

    __slots__ = ("__weakref__", "_array", "device", "dtype", "grad_state")

    _array: Any
    device: Device
    dtype: DType
    grad_state: GradState

    # To refuse that an attribute is set takes 70 ns a tensor, of the 2.5 us that a small layer may take.
    __setattr__ = object.__setattr__  # type: ignore[assignment]
    __delattr__ = object.__delattr__  # type: ignore[assignment]

    #: What the elements mean, and how a message calls such a tensor.
    kind: ClassVar[Kind]
    #: An operand that is a NumPy array meets a refusal with a hint, not NumPy's element-wise guess.
    __array_ufunc__: ClassVar[None] = None
    #: The class of each kind.
    classes: ClassVar[dict[Kind, type[AnyTensor]]] = {}

    def __new__(cls, *_args: object, **_named: object) -> Self:
        """Refused: a tensor is made of data, by `from_data`."""
        raise ArgumentTypeError(
            f"{cls.__name__} is not made by calling it",
            clause="DEV-8",
            hint=f"take {cls.__name__}.from_data(values, device), or zeros, ones, full, random",
        )

    @classmethod
    def _made(cls, array: Any, device: Device, dtype: DType, state: GradState) -> Self:
        """The tensor of these parts, unchecked."""
        return make(cls, array, device, dtype, state)

    def _again(self, array: Any, device: Device, state: GradState) -> Self:
        """This tensor's values somewhere else, or in another state."""
        return self._made(array, device, self.dtype, state)

    def _with(self, array: Any) -> Self:
        """The result of a recorded operation on this tensor alone, of its kind and dtype."""
        device, state = self.device, self.grad_state
        if type(array) is not np.ndarray:  # NumPy gives a scalar for arrays of rank 0
            array = device.space.asarray(array)
        return self._made(array, device, self.dtype, NON_LEAF if state is LEAF else state)

    @property
    def _space(self) -> Space:
        space: Space = self.device.space
        return space

    # -- what it is

    @property
    def array(self) -> Any:
        """The storage, read-only: NumPy's array, or that of the device's own library."""
        array = self._array
        return read_only(array) if isinstance(array, np.ndarray) else array

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, outermost first."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def is_autodiff(self) -> bool:
        """Whether the tensor has an autodiff context (DEV-9)."""
        return self.grad_state is not PLAIN

    @property
    def is_tracked(self) -> bool:
        """Whether the tensor takes part in the graph."""
        return self.grad_state is LEAF or self.grad_state is NON_LEAF

    @property
    def is_require_grad(self) -> bool:
        """Whether the tensor's gradient is kept: a leaf's."""
        return self.grad_state is LEAF

    # -- where it is

    def to_device(self, device: Device) -> Self:
        """This tensor on the hardware of `device`, in its own context: the tag of `device` is not applied.

        The move is a recorded operation even where the hardware is the same: a leaf gives a non-leaf.

        Clauses: DEV-8, PAR-54.
        """
        here, state = self.device, self.grad_state
        if state is LEAF:
            state = NON_LEAF
        if type(device) is not Device:
            check_device(device)
        if device is here or device.inner() is here.inner():
            return self if state is self.grad_state else self._again(self._array, here, state)
        target = device.with_autodiff_context_from(here) if here.is_autodiff else device.inner()
        there = space_of(target)
        there.dtype(self.dtype)
        array = there.from_host(here.space.to_host(self._array))  # the array itself, where both are the host
        observer.current.moved(here, target, array)
        return self._again(array, target, state)

    def autodiff(self) -> Self:
        """This tensor in an autodiff context, untracked; one that has a context stays as it is (DEV-9)."""
        if self.grad_state is not PLAIN:
            return self
        return self._again(self._array, self.device.autodiff(), UNTRACKED)

    def inner(self) -> Self:
        """This tensor without context and graph; a plain one stays as it is (DEV-9)."""
        if self.grad_state is PLAIN:
            return self
        return self._again(self._array, self.device.inner(), PLAIN)

    def without_autodiff(self) -> Self:
        """This tensor without context and graph: the same as `inner` (DEV-9)."""
        return self.inner()

    @classmethod
    def from_inner(cls, tensor: Self) -> Self:
        """`tensor` in an autodiff context: the same as `autodiff` (DEV-9)."""
        return tensor.autodiff()

    # -- its values

    def to_numpy(self) -> NDArray[Any]:
        """The values as a read-only array in host memory.

        Raises:
            TensorError: the tensor is quantised.
        """
        return self._in_host()

    def _in_host(self) -> NDArray[Any]:
        """What is stored, read-only and in host memory: the values, or the bytes of a quantised tensor."""
        return read_only(self._space.to_host(self._array))

    def to_data(self) -> TensorData:
        """The values as little-endian bytes in row-major order, whatever the layout of the storage.

        Burn: burn_tensor::Tensor::into_data
        Clauses: BPK-10.
        """
        try:
            return TensorData.from_array(self._space.to_host(self._array), self.dtype)
        except MemoryError as error:
            raise no_memory(error) from error

    into_data = to_data

    def item(self) -> Number:
        """The only element, as a number of Python's.

        Raises:
            TensorError: there are more elements, or none.

        Burn: burn_tensor::Tensor::into_scalar
        """
        if self.size != 1:
            raise TensorError(
                "Error while reading data: use `try_into_scalar` instead to catch the error at runtime: "
                f"InvalidShape {{ expected: 1, actual: {self.size} }}",
                hint="take tensor.to_numpy() for the values of all elements",
            )
        value: Number = self.to_numpy().reshape(()).item()
        return value

    into_scalar = item

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise InvalidArgumentError(
                    f"elements of {self.dtype} become {np.dtype(dtype)} only in a copy"
                )
            return array.astype(dtype)
        return self._run(np.copy, array) if copy else array

    def __dlpack__(self, **how: Any) -> Any:
        array = self.array
        if isinstance(array, np.ndarray) and (how.get("max_version") or (0, 0)) < (1, 0):
            array = array.copy()  # before version 1 the protocol cannot say that an array is read-only
        try:
            return array.__dlpack__(**how)
        except BufferError as error:
            raise TensorError(
                f"a tensor of {self.dtype} cannot be exported: {error}",
                hint="cast it first, or pass tensor.to_numpy()",
            ) from error

    def __dlpack_device__(self) -> tuple[int, int]:
        where: tuple[int, int] = self._array.__dlpack_device__()
        return where

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise TensorError(
                f"the truth of a tensor of {self.size} elements is not defined",
                hint="compare whole tensors with `a.equal(b).all()`, or `a is b` for one value",
            )
        return bool(self.item())

    def __iter__(self) -> Iterator[Self]:
        """The parts along the outermost axis, each with all its axes."""
        return (self[i] for i in range(len(self)))  # type: ignore[index]  # every tensor can be sliced

    __hash__ = object.__hash__

    def clone(self) -> Self:
        """This tensor: values are shared (Burn clones a handle)."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = UNTRACKED if self.grad_state is NON_LEAF else self.grad_state
        data = self.to_data()
        return type(self)._restored, (bytes(data.bytes), data.shape, data.dtype, self.device, state.value)

    @classmethod
    def _restored(
        cls, raw: bytes, shape: tuple[int, ...], dtype: DType, device: Device, state: str
    ) -> AnyTensor:
        """The tensor that was pickled; a non-leaf comes back untracked, its graph is gone."""
        array = np.frombuffer(raw, dtype.numpy).reshape(shape)
        return cls._made(space_of(device).from_host(array), device, dtype, GradState(state))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({_some(self._in_host())}, {list(self.shape)}, {self.dtype}, {self.device}"
            + (f", {self.grad_state.value})" if self.is_autodiff else ")")
        )

    # -- operands

    def _run(self, function: Callable[..., Any], *arrays: Any, **named: Any) -> Any:
        try:
            return self.device.space.quiet.run(function, *arrays, **named)
        except MemoryError as error:
            raise no_memory(error) from error


T = TypeVar("T", bound=AnyTensor)


def make(cls: type[T], array: Any, device: Device, dtype: DType, state: GradState) -> T:
    """The tensor of these parts, unchecked: the one place where tensors begin."""
    made: T = _new(cls)
    made._array = array
    made.device = device
    made.dtype = dtype
    made.grad_state = state
    told = observer.current
    if told is not NOBODY:
        told.allocated(device, array)
    return made


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of storage that cannot be made writable: NumPy allows that while any array below it is."""
    below: Any = array
    while isinstance(below, np.ndarray):
        if below.flags.writeable:
            below.flags.writeable = False
        below = below.base
    return array.view()


def _some(array: NDArray[Any]) -> str:
    flat = array.reshape(-1)[:6].tolist()
    return (
        "["
        + ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in flat)
        + (", ...]" if array.size > 6 else "]")
    )
