"""Tensors of integers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from ..errors import GradientError, PanicError, TensorError, UnsupportedDTypeError
from . import gradient
from .arguments import as_dim, check_dtype, failed
from .core import AnyTensor, Number
from .creation import integer, memory_for
from .device import Device
from .dtype import DType, Kind
from .namespace import space_of
from .numeric import NumericTensor
from .operands import check_matmul, expect, of_operands, unlike_factors
from .settings import locked_settings

if TYPE_CHECKING:
    from .tensor import Tensor


class IntTensor(NumericTensor):
    """A tensor of integers. Arithmetic wraps at the ends of the dtype, as Burn's does.

    Burn: burn_tensor::Tensor<D, Int>
    """

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.INT

    @classmethod
    def default_dtype(cls, device: Device) -> DType:
        """The device's int dtype (DEV-13)."""
        return locked_settings(device).int_dtype

    @classmethod
    def _class_for(cls, dtype: DType) -> type[Self]:
        return cls if dtype.is_int else MislabelledIntTensor  # type: ignore[return-value]

    @classmethod
    def _scalar(cls, value: Number, dtype: DType) -> Any:
        bits, unsigned = 8 * dtype.itemsize, dtype.name.startswith("U")
        given = integer(value, unsigned)
        if given >= 2**63 and dtype is not DType.U64:
            raise PanicError("called `Option::unwrap()` on a `None` value", hint="it has no place in an i64")
        wrapped = given & ((1 << bits) - 1)
        return wrapped if unsigned or wrapped < 1 << (bits - 1) else wrapped - (1 << bits)

    @classmethod
    def arange(cls, start: int, end: int, device: Device, step: int = 1, dtype: DType | None = None) -> Self:
        """The integers from `start` up to `end`, which is left out.

        Burn: burn_tensor::Tensor::arange
        """
        if not isinstance(step, int) or step < 1:
            raise failed("Arange", f"The step is an integer of at least 1, got {step!r}.")
        chosen = cls._chosen(device, dtype)
        first, last = integer(start), integer(end)
        with memory_for(chosen, (max(0, -(-(last - first) // step)),)):
            host = np.arange(first, last, step).astype(chosen.numpy)
        return cls._made(space_of(device).from_host(host), device, chosen, gradient.fresh(device))

    def __truediv__(self, other: Self | Number) -> Self:
        _refuse_zero(other, "divide by zero")
        xp = self._space.xp

        def truncated(lhs: Any, rhs: Any) -> Any:
            whole = lhs // rhs
            above = (whole * rhs != lhs) & ((lhs < 0) != (rhs < 0))
            return xp.where(above, whole + 1, whole)

        return self._binary(truncated, other, "Div")

    def __rtruediv__(self, other: Number) -> Self:
        return self.full_like(other) / self

    def div(self, other: Self | Number) -> Self:
        """The quotient truncated towards zero, element by element.

        Raises:
            TensorError: a divisor is zero.
        """
        return self / other

    def __mod__(self, other: Self | Number) -> Self:
        _refuse_zero(other, "calculate the remainder with a divisor of zero")
        return super().__mod__(other)

    def mean(self) -> Self:
        """The mean of all elements, truncated towards zero, of shape [1]."""
        if self.size == 0:
            raise TensorError("int_mean: cannot take mean of empty tensor")
        return self.sum() / self.size

    def mean_dim(self, dim: int) -> Self:
        """The means along axis `dim`, truncated towards zero; the axis is kept with extent 1."""
        extent = self.shape[as_dim(dim, self.rank, "Mean Dim")]
        if extent == 0:
            raise TensorError(
                f"mean_dim: cannot take mean of an empty dimension for the integer type {self.dtype}"
            )
        return self.sum_dim(dim) / extent

    def sign(self) -> Self:
        """-1, 0 or 1."""
        return self._with(self._run(self._space.xp.sign, self._array))

    def __pow__(self, other: Self | Number) -> Self:
        return self._binary(operator.pow, other, "Powi")

    def __matmul__(self, other: Self) -> Self:
        expect("Matmul", IntTensor, other)
        try:
            device, state = of_operands("Matmul", self, other)
        except GradientError:  # which is told last
            check_matmul(self, other)
            raise
        check_matmul(self, other)
        if other.dtype is not self.dtype:
            raise unlike_factors("int_matmul", self, other)
        array = self._run(operator.matmul, self._array, other._array)
        return self._made(array, device, self.dtype, state)

    def cast(self, dtype: DType) -> IntTensor | Tensor:
        """The elements as another int dtype, high bits dropped, or as a float dtype, rounded.

        Raises:
            UnsupportedDTypeError: `dtype` is neither.

        Burn: burn_tensor::Tensor::cast
        """
        if dtype is self.dtype:
            return self
        check_dtype(dtype)
        if not (dtype.is_int or dtype.is_float):
            raise UnsupportedDTypeError(
                f"Expected int data type, got {dtype}", hint="an IntTensor is cast to ints or floats"
            )
        return self._cast_to(Kind.INT if dtype.is_int else Kind.FLOAT, dtype)  # type: ignore[return-value]

    def float(self) -> Tensor:
        """The elements in the device's float dtype."""
        return self._cast_to(Kind.FLOAT, locked_settings(self.device).float_dtype)  # type: ignore[return-value]


def _refuse_zero(divisor: AnyTensor | Number, what: str) -> None:
    """Refuse a divisor of zero."""
    values = divisor._array if isinstance(divisor, AnyTensor) else np.asarray(divisor)
    if (values == 0).any():
        raise TensorError(f"attempt to {what}")


class MislabelledIntTensor(IntTensor):
    """An int tensor whose elements are floats or bools, as a record can give them to an int parameter.

    It is stored, moved and saved. Arithmetic refuses it: Burn panics there.

    Clauses: REC-20.
    """

    __slots__ = ()

    def _binary(self, function: object, other: object, name: object) -> NoReturn:  # noqa: ARG002
        self._refuse()

    _compare = _binary

    def _refuse(self) -> NoReturn:
        raise TensorError(
            f"int_binary_op: unsupported dtype {self.dtype}",
            clause="REC-20",
            hint="load the record with DTypePolicy.CAST_TO_MODULE, or cast(DType.I32)",
        )


AnyTensor.classes[Kind.INT] = IntTensor
