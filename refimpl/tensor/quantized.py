"""Quantised tensors, carried: their arithmetic and their values come with the quantisation chapter."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

from ..errors import TensorError
from . import gradient
from .core import AnyTensor
from .data import TensorData
from .device import Device
from .dtype import DType, Kind
from .float_tensor import Tensor
from .gradient import GradState


class QuantizedTensor(Tensor):
    """A tensor of codes and scales, carried as its serialised bytes: moved, saved, not computed with.

    `array` holds the bytes; `shape` is the logical one. It has no gradient:
    to ask for one does nothing.

    Clauses: REC-20, REC-23, QNT-28, QNT-35.
    """

    __slots__ = ("_logical",)
    _logical: tuple[int, ...]
    kind: ClassVar[Kind] = Kind.QUANTIZED

    @classmethod
    def _carried(cls, data: TensorData, device: Device) -> Self:
        made = cls._made(data.to_numpy(), device, data.dtype, gradient.fresh(device))
        made._logical = data.shape
        return made

    def _again(self, array: Any, device: Device, state: GradState) -> Self:
        made = self._made(array, device, self.dtype, state)
        made._logical = self._logical
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical extents, outermost first."""
        return self._logical

    def to_data(self) -> TensorData:
        """The serialised codes and scales.

        Clauses: QNT-28.
        """
        return TensorData(self.dtype, self._logical, self.to_numpy().data)

    def set_require_grad(self, require_grad: bool) -> Self:  # noqa: ARG002
        """This tensor: a quantised one has no gradient (QNT-35)."""
        return self

    def cast(self, dtype: DType) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        raise TensorError(
            "Should be Float primitive kind", clause="QNT-35", hint="a quantised tensor is dequantised first"
        )

    def full_like(self, value: object) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like()

    def random_like(self, distribution: object = None) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like()

    def _refuse_like(self) -> NoReturn:
        raise TensorError(
            f"Quantized tensors are not supported by this operation. Got dtype {self.dtype}. "
            "Dequantize the tensor first.",
            clause="QNT-35",
        )

    def _refuse(self, *_operands: object, **_named: object) -> NoReturn:
        raise TensorError(
            f"a quantised tensor of {self.dtype} is carried, not computed with",
            clause="QNT-34",
            hint="load the record with float weights to compute with them",
        )

    detach = int = bool = _refuse
    _binary = _compare = _reduce = _map = _with = _extreme = _place = __matmul__ = _widened = _refuse


AnyTensor.classes[Kind.QUANTIZED] = QuantizedTensor
