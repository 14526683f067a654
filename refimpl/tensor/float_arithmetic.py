"""Arithmetic of floats, and functions of each element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from ..errors import GradientError
from .arguments import as_dim
from .cast import narrowed
from .core import AnyTensor, Number, make
from .creation import real
from .dtype import DType, Kind
from .erf import erf
from .gradient import LEAF
from .namespace import Space
from .numeric import NumericTensor, as_bool
from .operands import check_matmul, expect, no_matrices, of_operands, unlike_factors
from .quiet import no_memory

if TYPE_CHECKING:
    from .bool_tensor import BoolTensor

_matmul: Final = operator.matmul
_F32: Final = DType.F32


class FloatArithmetic(NumericTensor):
    """A tensor whose elements are floats; F16 and BF16 are computed in F32 and rounded."""

    __slots__ = ()

    @classmethod
    def _scalar(cls, value: Number, dtype: DType) -> Any:
        rounded = narrowed(np.asarray(real(value)), dtype)
        return rounded if dtype is DType.BF16 else float(rounded)

    # -- arithmetic of floats

    def __truediv__(self, other: Self | Number) -> Self:
        return self._binary(operator.truediv, other, "Div")

    def __rtruediv__(self, other: Number) -> Self:
        return self._binary(_reversed_div, other, "Div")

    def __pow__(self, other: Self | Number) -> Self:
        return self._binary(_power, other, "Powf")

    def div(self, other: Self | Number) -> Self:
        """The quotient, element by element."""
        return self / other

    def powf(self, other: Self | Number) -> Self:
        """The power, element by element."""
        return self**other

    div_scalar, powf_scalar = div, powf

    def matmul(self, other: Self) -> Self:
        """The product of matrices, over the last two axes; leading axes are repeated where they are 1.

        Raises:
            TensorError: a rank below 2, inner extents or dtypes that differ.
            DeviceMismatchError: the tensors are on different hardware.
        """
        device, dtype, state = self.device, self.dtype, self.grad_state
        if not isinstance(other, FloatArithmetic):
            expect("Matmul", AnyTensor.classes[Kind.FLOAT], other)  # type: ignore[unreachable]  # for callers untyped
        if other.device is not device or other.grad_state is not state or state is LEAF:
            try:
                device, state = of_operands("Matmul", self, other)
            except GradientError:  # which is told last
                check_matmul(self, other)
                raise
        if other.dtype is not dtype or dtype.itemsize == 2:
            return self._narrow_matmul(other)
        lhs, rhs = self._array, other._array
        try:
            array = device.space.quiet.run(_matmul, lhs, rhs)
        except ValueError:
            check_matmul(self, other)
            raise
        except MemoryError as error:
            raise no_memory(error) from error
        if min(lhs.ndim, rhs.ndim) < 2:  # NumPy multiplies vectors as well
            raise no_matrices(self, other)
        return make(type(self), array, device, dtype, state)

    __matmul__ = matmul

    def _narrow_matmul(self, other: Self) -> Self:
        if other.dtype.scheme is not None:  # the values, in this tensor's dtype (QNT-35)
            return self @ other.dequantize(self.dtype)  # type: ignore[attr-defined, no-any-return]
        if other.dtype != self.dtype:
            check_matmul(self, other)
            raise unlike_factors("matmul", self, other)
        return (self._widened() @ other._widened())._narrowed(self.dtype)

    def _widened(self) -> Self:
        """F16 and BF16 as F32, which holds every value of theirs."""
        if self.dtype.itemsize == 2:
            return self._made(self._space.astype(self._array, _F32), self.device, _F32, self.grad_state)
        return self

    def _narrowed(self, dtype: DType) -> Self:
        if dtype is self.dtype:
            return self
        return self._made(self._space.astype(self._array, dtype), self.device, dtype, self.grad_state)

    # -- functions of each element

    def _map(self, function: Callable[..., Any]) -> Self:
        space: Space = self.device.space
        dtype = self.dtype
        if dtype.itemsize == 2:
            wide = self._run(function, space.astype(self._array, _F32))
            return self._with(space.astype(space.asarray(wide), dtype))
        return self._with(self._run(function, self._array))

    def exp(self) -> Self:
        """The exponential."""
        return self._map(self._space.xp.exp)

    def log(self) -> Self:
        """The natural logarithm; of a negative number NaN, of zero minus infinity."""
        return self._map(self._space.xp.log)

    def log1p(self) -> Self:
        """The natural logarithm of one more."""
        return self._map(self._space.xp.log1p)

    def sqrt(self) -> Self:
        """The square root; of a negative number NaN."""
        return self._map(self._space.xp.sqrt)

    def square(self) -> Self:
        """The square."""
        return self * self

    def recip(self) -> Self:
        """The reciprocal; of zero infinity."""
        return 1.0 / self

    def sin(self) -> Self:
        """The sine."""
        return self._map(self._space.xp.sin)

    def cos(self) -> Self:
        """The cosine."""
        return self._map(self._space.xp.cos)

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self._map(self._space.xp.tanh)

    def floor(self) -> Self:
        """The greatest integer that is not above."""
        return self._map(self._space.xp.floor)

    def ceil(self) -> Self:
        """The least integer that is not below."""
        return self._map(self._space.xp.ceil)

    def round(self) -> Self:
        """The nearest integer, ties to even."""
        return self._map(self._space.xp.round)

    def sign(self) -> Self:
        """-1, 0 or 1; 0 for NaN, as Burn has it."""
        xp = self._space.xp
        return self._map(lambda x: xp.where(x == x, xp.sign(x), xp.zeros_like(x)))

    def erf(self) -> Self:
        """The error function, to the precision of the dtype."""
        return self._map(self._erf)

    def _erf(self, array: Any) -> Any:
        return self._space.astype(erf(self._space, array), _F32 if self.dtype.itemsize == 2 else self.dtype)

    def is_nan(self) -> BoolTensor:
        """Whether the elements are NaN, one by one."""
        return as_bool(self._run(operator.ne, self._array, self._array), self)

    # -- reductions of floats

    def mean(self) -> Self:
        """The mean of all elements, of shape [1]; of none NaN."""
        return self._averaged(self._widened().sum(), self.size)

    def mean_dim(self, dim: int) -> Self:
        """The means along axis `dim`, which is kept with extent 1."""
        axis = as_dim(dim, self.rank, "Mean Dim")
        return self._averaged(self._widened().sum_dim(axis), self.shape[axis])

    def _averaged(self, total: Self, count: int) -> Self:
        return (total / float(count))._narrowed(self.dtype)

    def var(self, dim: int) -> Self:
        """The variance along axis `dim`, the sum of squares divided by one less than the count."""
        axis = as_dim(dim, self.rank, "Var")
        return self._variance(axis, max(self.shape[axis] - 1, 0))

    def var_bias(self, dim: int) -> Self:
        """The variance along axis `dim`, the sum of squares divided by the count."""
        axis = as_dim(dim, self.rank, "Var")
        return self._variance(axis, self.shape[axis])

    def var_mean_bias(self, dim: int) -> tuple[Self, Self]:
        """`var_bias` and `mean_dim` along axis `dim`."""
        return self.var_bias(dim), self.mean_dim(dim)

    def _variance(self, axis: int, count: int) -> Self:
        return (self - self.mean_dim(axis)).square().sum_dim(axis) / float(count)


def _reversed_div(lhs: Any, rhs: Any) -> Any:
    return rhs / lhs


def _power(lhs: Any, rhs: Any) -> Any:
    return lhs**rhs
