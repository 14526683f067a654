"""Tensors of floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..errors import TensorError, UnsupportedDTypeError
from . import gradient
from .activations import Activations
from .arguments import check_bool, check_device, check_dtype
from .core import AnyTensor
from .data import TensorData
from .device import Device
from .dtype import DType, Kind
from .gradient import LEAF
from .int_tensor import IntTensor
from .random import seed
from .settings import locked_settings
from .shaping import several

if TYPE_CHECKING:
    from .bool_tensor import BoolTensor
    from .calibration import QParams
    from .quantized import QuantizedTensor
    from .scheme import QuantScheme


class Tensor(Activations):
    """A tensor of floats. Arithmetic is in the tensor's dtype; F16 and BF16 are computed in F32 and rounded.

    >>> Tensor.from_data([1.0, 2.0], Device("cpu")) + 1.0
    Tensor([2, 3], [2], F32, cpu)

    Burn: burn_tensor::Tensor<D>
    Clauses: DEV-8, DEV-9, DEV-10.
    """

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.FLOAT

    # -- making

    @classmethod
    def default_dtype(cls, device: Device) -> DType:
        """The device's float dtype (DEV-13)."""
        return locked_settings(device).float_dtype

    @classmethod
    def from_record_data(cls, data: TensorData, device: Device, dtype: DType) -> Self:
        """As for every kind; quantised data stays quantised, whatever the target (REC-20)."""
        if isinstance(data, TensorData) and data.dtype.is_quantized:
            check_device(device)
            locked_settings(device)
            return AnyTensor.classes[Kind.QUANTIZED]._carried(data, device)  # type: ignore[attr-defined, no-any-return]
        return super().from_record_data(data, device, dtype)

    @classmethod
    def from_data(cls, data: object, device: Device, dtype: DType | None = None) -> Self:
        """As for every kind; quantised data stays quantised, whatever the dtype (REC-20)."""
        if isinstance(data, TensorData) and data.dtype.is_quantized:
            copied = TensorData(data.dtype, data.shape, bytes(data.bytes))
            return cls.from_record_data(copied, device, data.dtype)
        return super().from_data(data, device, dtype)

    @classmethod
    def _target(cls, device: Device, dtype: DType) -> DType:  # noqa: ARG003
        if not dtype.is_float:
            raise TensorError(
                f"Expected float dtype, got {dtype}",
                clause="REC-20",
                hint="an IntTensor or a BoolTensor holds those",
            )
        return dtype

    @staticmethod
    def seed(device: Device, number: int) -> None:
        """Start the random numbers of `device` anew (`Distribution`)."""
        seed(device, number)

    # -- gradients

    def set_require_grad(self, require_grad: bool) -> Self:
        """This tensor as a leaf, or untracked; a leaf that stays one is the same tensor.

        Raises:
            GradientError: True on a plain tensor, or on a non-leaf.

        Clauses: PAR-40.
        """
        if type(require_grad) is not bool:
            check_bool(require_grad, "whether a gradient is required", "PAR-40")  # type: ignore[unreachable]
        before = self.grad_state
        after = gradient.required(before) if require_grad else gradient.untracked(before)
        return self if after is before else self._made(self._array, self.device, self.dtype, after)

    def require_grad(self) -> Self:
        """This tensor as a leaf: `set_require_grad(True)`."""
        return self.set_require_grad(True)

    def detach(self) -> Self:
        """The start of a new lineage: a leaf gives another leaf, a non-leaf an untracked tensor.

        Clauses: PAR-57.
        """
        before = self.grad_state
        after = gradient.detached(before)
        return (
            self if after is before is not LEAF else self._made(self._array, self.device, self.dtype, after)
        )

    # -- quantisation

    def quantize(self, scheme: QuantScheme, q_params: QParams) -> QuantizedTensor:
        """The tensor in codes of `scheme` under given scales; it has no gradient.

        Raises:
            TensorError: the parameters do not fit the scheme, or the scheme does not fit the shape.

        Burn: burn_tensor::Tensor::quantize
        Clauses: QNT-17, QNT-18, QNT-24, QNT-25.
        """
        made: QuantizedTensor = AnyTensor.classes[Kind.QUANTIZED]._encoded(self, scheme, q_params)  # type: ignore[attr-defined]
        return made

    def quantize_dynamic(self, scheme: QuantScheme) -> QuantizedTensor:
        """`quantize` under the scales that the least and the greatest value give.

        Burn: burn_tensor::Tensor::quantize_dynamic
        Clauses: QNT-26.
        """
        made: QuantizedTensor = AnyTensor.classes[Kind.QUANTIZED]._requantized_as(self, scheme)  # type: ignore[attr-defined]
        return made

    def dequantize(self, dtype: DType | None = None) -> Tensor:  # noqa: ARG002
        """This tensor: only a quantised one has other values (QNT-21)."""
        return self

    @classmethod
    def cat(cls, tensors: Sequence[Self], dim: int) -> Self:
        """As for every kind; quantised tensors are quantised anew by the scheme of the first (QNT-34)."""
        tensors = several("Cat", tensors)
        if any(isinstance(tensor, Tensor) and tensor.dtype.is_quantized for tensor in tensors):
            joined: Self = AnyTensor.classes[Kind.QUANTIZED]._concatenated(tensors, dim)  # type: ignore[attr-defined]
            return joined
        return super().cat(tensors, dim)

    def _compare(self, function: Callable[..., Any], other: Any, name: str) -> BoolTensor:
        """As for every kind; a quantised operand is compared by its values in this dtype (QNT-35)."""
        return super()._compare(function, _dense(other, self.dtype), name)

    def mask_where(self, mask: BoolTensor, value: Self) -> Self:
        """As for every kind; a quantised `value` gives its values in this dtype (QNT-35)."""
        return super().mask_where(mask, _dense(value, self.dtype))

    # -- other dtypes

    def cast(self, dtype: DType) -> Tensor | IntTensor:
        """The elements as another float dtype, rounded, or as an int dtype, truncated and held in its range.

        Raises:
            UnsupportedDTypeError: `dtype` is neither.

        Burn: burn_tensor::Tensor::cast
        """
        if dtype is self.dtype:
            return self
        check_dtype(dtype)
        if not (dtype.is_int or dtype.is_float):
            raise UnsupportedDTypeError(
                f"Expected float data type, got {dtype}", hint="a Tensor is cast to floats or ints"
            )
        return self._cast_to(dtype.kind, dtype)  # type: ignore[return-value]

    def int(self) -> IntTensor:
        """The elements in the device's int dtype, truncated towards zero."""
        return self._cast_to(Kind.INT, locked_settings(self.device).int_dtype)  # type: ignore[return-value]


def _dense(operand: Any, dtype: DType) -> Any:
    return operand.dequantize(dtype) if isinstance(operand, Tensor) else operand


AnyTensor.classes[Kind.FLOAT] = Tensor
