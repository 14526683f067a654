"""Tensors of truth values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from . import gradient
from .arguments import as_dim
from .core import AnyTensor, Number
from .creation import number
from .device import Device
from .dtype import DType, Kind
from .operands import common_shape, expect, of_operands
from .settings import locked_settings
from .shaping import ShapedTensor

if TYPE_CHECKING:
    from .int_tensor import IntTensor
    from .tensor import Tensor


class BoolTensor(ShapedTensor):
    """A tensor of truth values, in the device's own store of them.

    Burn: burn_tensor::Tensor<D, Bool>
    Clauses: REC-20.
    """

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.BOOL

    @classmethod
    def default_dtype(cls, device: Device) -> DType:
        """The device's store of truth values (DEV-13)."""
        return locked_settings(device).bool_dtype

    @classmethod
    def _target(cls, device: Device, dtype: DType) -> DType:  # noqa: ARG003 - the store is always the device's
        return cls.default_dtype(device)

    @classmethod
    def _scalar(cls, value: Number, dtype: DType) -> Any:
        return np.asarray(number(value) != 0).astype(dtype.numpy)

    def _truth(self) -> Any:
        """The storage as the library's own bool array."""
        return self._space.astype(self._array, DType.BOOL_NATIVE)

    def _in_context(self, device: Device) -> Self:
        if device is self.device:
            return self
        return self._made(self._array, device, self.dtype, gradient.fresh(device))

    def _logical(self, function: Callable[..., Any], other: BoolTensor, name: str) -> Self:
        expect(name, BoolTensor, other)
        device, state = of_operands(name, self, other)
        common_shape(name, self.shape, other.shape)
        array = self._space.asarray(self._run(function, self._truth(), other._truth()))
        return self._made(self._stored(array), device, self.dtype, state)

    def _stored(self, truth: Any) -> Any:
        return truth if self.dtype is DType.BOOL_NATIVE else self._space.astype(truth, self.dtype)

    def __and__(self, other: BoolTensor) -> Self:
        return self._logical(operator.and_, other, "And")

    def __or__(self, other: BoolTensor) -> Self:
        return self._logical(operator.or_, other, "Or")

    def __xor__(self, other: BoolTensor) -> Self:
        return self._logical(operator.xor, other, "Xor")

    def __invert__(self) -> Self:
        array = self._space.asarray(self._run(operator.invert, self._truth()))
        return self._made(self._stored(array), self.device, self.dtype, self.grad_state)

    def __eq__(self, other: BoolTensor) -> Self:  # type: ignore[override]  # element by element
        return self._logical(operator.eq, other, "Equal")

    def __ne__(self, other: BoolTensor) -> Self:  # type: ignore[override]
        return self._logical(operator.ne, other, "NotEqual")

    __hash__ = object.__hash__

    def equal(self, other: BoolTensor) -> Self:
        """Whether the elements are equal, one by one."""
        return self == other

    def not_equal(self, other: BoolTensor) -> Self:
        """Whether the elements differ, one by one."""
        return self != other

    def bool_not(self) -> Self:
        """True where the element is false."""
        return ~self

    def bool_and(self, other: BoolTensor) -> Self:
        """True where both elements are."""
        return self & other

    def bool_or(self, other: BoolTensor) -> Self:
        """True where one of the elements is."""
        return self | other

    def _fold(self, name: str, dim: int | None) -> Self:
        space = self._space
        axis = None if dim is None else as_dim(dim, self.rank, name.title())
        found = self._run(getattr(space.xp, name), self._truth(), axis=axis, keepdims=axis is not None)
        array = space.asarray(found)
        if axis is None:
            array = space.xp.reshape(array, (1,))
        return self._made(self._stored(array), self.device, self.dtype, self.grad_state)

    def any(self) -> Self:
        """Whether one element is true, of shape [1]."""
        return self._fold("any", None)

    def any_dim(self, dim: int) -> Self:
        """Whether one element along axis `dim` is true; the axis is kept with extent 1."""
        return self._fold("any", dim)

    def all(self) -> Self:
        """Whether every element is true, of shape [1]."""
        return self._fold("all", None)

    def all_dim(self, dim: int) -> Self:
        """Whether every element along axis `dim` is true; the axis is kept with extent 1."""
        return self._fold("all", dim)

    def float(self) -> Tensor:
        """1 for true, 0 for false, in the device's float dtype."""
        return self._numbers(Kind.FLOAT, locked_settings(self.device).float_dtype)  # type: ignore[return-value]

    def int(self) -> IntTensor:
        """1 for true, 0 for false, in the device's int dtype."""
        return self._numbers(Kind.INT, locked_settings(self.device).int_dtype)  # type: ignore[return-value]

    def _numbers(self, kind: Kind, dtype: DType) -> AnyTensor:
        array = self._space.astype(self._truth(), dtype)
        return AnyTensor.classes[kind]._made(array, self.device, dtype, self.grad_state)


AnyTensor.classes[Kind.BOOL] = BoolTensor
