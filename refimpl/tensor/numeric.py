"""Arithmetic, comparisons and reductions: the same for floats and integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from numpy import ndarray

from ..errors import ArgumentTypeError, GradientError, TensorError
from . import gradient
from .arguments import as_dim
from .cast import saturated
from .core import AnyTensor, Number, make
from .creation import number
from .dtype import DType, Kind
from .gradient import LEAF, NON_LEAF
from .namespace import Space
from .operands import common_shape, no_extreme, of_operands, same_dtype
from .quiet import no_memory
from .settings import locked_settings
from .shaping import ShapedTensor

if TYPE_CHECKING:
    from .bool_tensor import BoolTensor
    from .int_tensor import IntTensor

_add: Final = operator.add
_sub: Final = operator.sub
_mul: Final = operator.mul
_F32: Final = DType.F32


class NumericTensor(ShapedTensor):
    """A tensor whose elements are numbers.

    An operand is a tensor of the same kind and dtype, or a number, rounded to the dtype first. Extents
    of 1, and missing leading axes, are repeated. Tensors of two devices are refused.
    """

    __slots__ = ()

    # -- arithmetic

    def _binary(self, function: Callable[..., Any], other: Self | Number, name: str) -> Self:
        device, dtype, state = self.device, self.dtype, self.grad_state
        if isinstance(other, NumericTensor):
            if other.device is not device or other.grad_state is not state or state is LEAF:
                try:
                    device, state = of_operands(name, self, other)
                except GradientError:  # which is told last
                    common_shape(name, self.shape, other.shape)
                    raise
            if other.dtype is not dtype:
                if other.dtype.scheme is not None:  # the values, in this tensor's dtype (QNT-35)
                    return self._binary(function, other.dequantize(dtype), name)  # type: ignore[attr-defined]
                _same_kind(name, self, other)
                common_shape(name, self.shape, other.shape)
                same_dtype(name, self, other)
            operand = other._array
        else:
            operand = self._scalar(other, dtype)
            if state is LEAF:
                state = NON_LEAF
        try:
            array = device.space.quiet.run(function, self._array, operand)
        except ValueError:
            common_shape(name, self.shape, operand.shape)
            raise
        except MemoryError as error:
            raise no_memory(error) from error
        if type(array) is not ndarray:  # NumPy gives a scalar for arrays of rank 0
            array = device.space.asarray(array)
        return make(type(self), array, device, dtype, state)

    def __add__(self, other: Self | Number) -> Self:
        return self._binary(_add, other, "Add")

    def __sub__(self, other: Self | Number) -> Self:
        return self._binary(_sub, other, "Sub")

    def __mul__(self, other: Self | Number) -> Self:
        return self._binary(_mul, other, "Mul")

    def __mod__(self, other: Self | Number) -> Self:
        return self._binary(operator.mod, other, "Rem")

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Self:
        return self._binary(_reversed_sub, other, "Sub")

    def __neg__(self) -> Self:
        return self._with(self._run(operator.neg, self._array))

    def __abs__(self) -> Self:
        return self._with(self._run(operator.abs, self._array))

    def add(self, other: Self | Number) -> Self:
        """The sum, element by element."""
        return self + other

    def sub(self, other: Self | Number) -> Self:
        """The difference, element by element."""
        return self - other

    def mul(self, other: Self | Number) -> Self:
        """The product, element by element."""
        return self * other

    def remainder(self, other: Self | Number) -> Self:
        """The remainder, with the sign of the divisor."""
        return self % other

    def neg(self) -> Self:
        """The elements with the other sign."""
        return -self

    def abs(self) -> Self:
        """The elements without their sign."""
        return self.__abs__()

    add_scalar, sub_scalar, mul_scalar, remainder_scalar = add, sub, mul, remainder

    # -- comparisons

    def _compare(self, function: Callable[..., Any], other: Self | Number, name: str) -> BoolTensor:
        device = self.device
        if isinstance(other, NumericTensor):
            device, _ = of_operands(name, self, other)
            _same_kind(name, self, other)
            same_dtype(name, self, other)
            operand = other._array
            common_shape(name, self.shape, other.shape)
        else:
            operand = self._scalar(other, self.dtype)
        return as_bool(self._run(function, self._array, operand), self)._in_context(device)

    def __eq__(self, other: Self | Number) -> BoolTensor:  # type: ignore[override]  # element by element
        return self._compare(operator.eq, other, "Equal")

    def __ne__(self, other: Self | Number) -> BoolTensor:  # type: ignore[override]
        return self._compare(operator.ne, other, "NotEqual")

    def __lt__(self, other: Self | Number) -> BoolTensor:
        return self._compare(operator.lt, other, "Lower")

    def __le__(self, other: Self | Number) -> BoolTensor:
        return self._compare(operator.le, other, "Lower_equal")

    def __gt__(self, other: Self | Number) -> BoolTensor:
        return self._compare(operator.gt, other, "Greater")

    def __ge__(self, other: Self | Number) -> BoolTensor:
        return self._compare(operator.ge, other, "Greater_equal")

    __hash__ = object.__hash__  # a tensor is one value, whatever its elements equal

    def equal(self, other: Self | Number) -> BoolTensor:
        """Whether the elements are equal, one by one."""
        return self == other

    def not_equal(self, other: Self | Number) -> BoolTensor:
        """Whether the elements differ, one by one."""
        return self != other

    def lower(self, other: Self | Number) -> BoolTensor:
        """Whether the elements are below those of `other`, one by one."""
        return self < other

    def lower_equal(self, other: Self | Number) -> BoolTensor:
        """Whether the elements are at most those of `other`, one by one."""
        return self <= other

    def greater(self, other: Self | Number) -> BoolTensor:
        """Whether the elements are above those of `other`, one by one."""
        return self > other

    def greater_equal(self, other: Self | Number) -> BoolTensor:
        """Whether the elements are at least those of `other`, one by one."""
        return self >= other

    # -- reductions

    def _reduce(self, name: str, dim: int | None = None) -> Self:
        """One element, of shape [1], or axis `dim` reduced to an extent of 1.

        F16 and BF16 are accumulated in F32 and rounded once.
        """
        dtype, space, array = self.dtype, self._space, self._array
        axis = None if dim is None else as_dim(dim, self.rank, f"{name.title()} Dim")
        half = dtype.itemsize == 2 and dtype.is_float
        elements = array = space.astype(array, _F32) if half else array
        array = self._run(space.reduce, name, array, axis, _F32 if half else dtype)
        if name == "sum" and (dtype, axis) in (
            (DType.F32, None),
            (DType.F64, None),
            (DType.F32, self.rank - 1),
        ):
            array = _from_minus_zero(space, elements, axis, array)
        if axis is None:
            array = space.xp.reshape(space.asarray(array), (1,))
        return self._with(space.astype(array, dtype) if half else array)

    def sum(self) -> Self:
        """The sum of all elements, of shape [1]; integers wrap."""
        return self._reduce("sum")

    def sum_dim(self, dim: int) -> Self:
        """The sums along axis `dim`, which is kept with extent 1."""
        return self._reduce("sum", dim)

    def prod(self) -> Self:
        """The product of all elements, of shape [1]; integers wrap."""
        return self._reduce("prod")

    def prod_dim(self, dim: int) -> Self:
        """The products along axis `dim`, which is kept with extent 1."""
        return self._reduce("prod", dim)

    def max(self) -> Self:
        """The greatest element, of shape [1]; NaN if one is.

        Raises:
            TensorError: the tensor is empty.
        """
        return self._extreme("max", None)

    def max_dim(self, dim: int) -> Self:
        """The greatest elements along axis `dim`, which is kept with extent 1."""
        return self._extreme("max", dim)

    def min(self) -> Self:
        """The least element, of shape [1]; NaN if one is.

        Raises:
            TensorError: the tensor is empty.
        """
        return self._extreme("min", None)

    def min_dim(self, dim: int) -> Self:
        """The least elements along axis `dim`, which is kept with extent 1."""
        return self._extreme("min", dim)

    def _extreme(self, name: str, dim: int | None) -> Self:
        if dim is None and self.size == 0:
            raise no_extreme(name, None, self.grad_state)
        if dim is not None and self.shape[axis := as_dim(dim, self.rank, f"{name.title()} Dim")] == 0:
            raise no_extreme(name, axis, self.grad_state)
        return self._reduce(name, dim)

    def argmax(self, dim: int) -> IntTensor:
        """The places of the greatest elements along axis `dim`, which is kept with extent 1."""
        return self._place("argmax", dim)

    def argmin(self, dim: int) -> IntTensor:
        """The places of the least elements along axis `dim`, which is kept with extent 1."""
        return self._place("argmin", dim)

    def _place(self, name: str, dim: int) -> IntTensor:
        axis, space = as_dim(dim, self.rank, name.title()), self._space
        if self.shape[axis] == 0:
            raise TensorError(f"{name}: dimension {axis} has size 0")
        dtype = locked_settings(self.device).int_dtype
        array = self._array
        if self.dtype.is_float and self.dtype.itemsize == 2:
            array = space.astype(array, _F32)
        found = self._run(getattr(space.xp, name), array, axis=axis, keepdims=True)
        made: IntTensor = AnyTensor.classes[Kind.INT]._made(  # type: ignore[assignment]
            space.astype(space.asarray(found), dtype), self.device, dtype, gradient.fresh(self.device)
        )
        return made

    # -- other kinds

    def bool(self) -> BoolTensor:
        """True where the element is not zero."""
        return self != 0

    def _cast_to(self, kind: Kind, dtype: DType) -> AnyTensor:
        """The elements as another kind or dtype, by the rules of a tensor's cast."""
        space = self._space
        array = space.from_host(saturated(space.to_host(self._array), self.dtype, dtype))
        if kind is Kind.FLOAT and self.kind is Kind.FLOAT:
            state = gradient.of_operation(self.grad_state, self.grad_state)
        else:
            state = gradient.fresh(self.device)
        return AnyTensor.classes[kind]._made(array, self.device, dtype, state)


def as_bool(truth: Any, like: AnyTensor) -> BoolTensor:
    """The bool tensor of an array of truths, beside `like`, in the device's store."""
    space, dtype = like.device.space, locked_settings(like.device).bool_dtype
    array = space.astype(space.asarray(truth), dtype)
    made: BoolTensor = AnyTensor.classes[Kind.BOOL]._made(  # type: ignore[assignment]
        array, like.device, dtype, gradient.fresh(like.device)
    )
    return made


def _reversed_sub(lhs: Any, rhs: Any) -> Any:
    return rhs - lhs


def _same_kind(operation: str, lhs: AnyTensor, rhs: AnyTensor) -> None:
    if lhs.kind is not rhs.kind:
        raise ArgumentTypeError(
            f"{operation} takes tensors of one kind, got {type(lhs).__name__} and {type(rhs).__name__}",
            hint="convert one of them: tensor.float() or tensor.int()",
        )


__all__ = ["NumericTensor", "as_bool", "number"]


def _from_minus_zero(space: Space, elements: Any, axis: int | None, totals: Any) -> Any:
    """The sums as if they began with -0.0, as Rust's do: so much come no elements, and negative zeros, to."""
    nothing = totals == 0
    if not space.xp.any(nothing):
        return totals
    nothing &= space.xp.all(space.xp.signbit(elements), axis=axis, keepdims=axis is not None)
    return space.xp.where(nothing, -space.xp.abs(totals), totals)
