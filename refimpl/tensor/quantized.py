"""Quantised tensors: codes with scales, kept as the bytes that a file holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import TensorError
from . import gradient, packing, quantizing
from .calibration import Calibration, QParams, compute_q_params, compute_range
from .core import AnyTensor
from .data import TensorData
from .device import Device
from .dtype import DType, Kind
from .float_tensor import Tensor
from .gradient import GradState
from .namespace import space_of
from .scheme import QuantScheme
from .settings import locked_settings


class QuantizedTensor(Tensor):
    """A tensor of codes and scales. Its bytes are the serialised form; `shape` is the logical one.

    What rearranges elements keeps the codes, if one scale serves them all, and quantises anew if blocks have
    their own. Whatever computes with the values gives a float tensor. There is no gradient to keep.

    Burn: burn_tensor::Tensor of dtype QFloat, on burn_flex
    Clauses: QNT-21, QNT-28, QNT-33, QNT-34, QNT-35, REC-20, REC-23.
    """

    __slots__ = ("_logical",)
    _logical: tuple[int, ...]
    kind: ClassVar[Kind] = Kind.QUANTIZED

    @classmethod
    def _carried(cls, data: TensorData, device: Device) -> Self:
        return cls._of(data.to_numpy(), data.dtype, data.shape, device)

    @classmethod
    def _of(cls, data: NDArray[Any], dtype: DType, shape: tuple[int, ...], device: Device) -> Self:
        made = cls._made(space_of(device).from_host(data), device, dtype, gradient.fresh(device))
        made._logical = shape
        return made

    @classmethod
    def _encoded(cls, tensor: Tensor, scheme: QuantScheme, q_params: QParams) -> Self:
        data = quantizing.encode(tensor.to_numpy(), scheme, q_params)
        return cls._of(data, DType.qfloat(scheme), tensor.shape, tensor.device)

    @classmethod
    def _requantized_as(cls, tensor: Tensor, scheme: QuantScheme) -> Self:
        range_ = compute_range(scheme, tensor, Calibration.MIN_MAX)
        return cls._encoded(tensor, scheme, compute_q_params(scheme, range_))

    @classmethod
    def _restored(
        cls,
        raw: bytes,
        shape: tuple[int, ...],
        dtype: DType,
        device: Device,
        state: str,  # noqa: ARG003
    ) -> Self:
        return cls._of(np.frombuffer(raw, np.uint8), dtype, shape, device)

    def _again(self, array: Any, device: Device, state: GradState) -> Self:
        made = self._made(array, device, self.dtype, state)
        made._logical = self._logical
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical extents, outermost first."""
        return self._logical

    @property
    def scheme(self) -> QuantScheme:
        """How the values became codes."""
        assert self.dtype.scheme is not None
        return self.dtype.scheme

    def to_data(self) -> TensorData:
        """The serialised codes and scales.

        Clauses: QNT-28.
        """
        return TensorData(self.dtype, self._logical, self.to_numpy().data)

    # --- The values and what they are made of -----------------------------------------------------------

    def dequantize(self, dtype: DType | None = None) -> Tensor:
        """The values, in the device's float dtype or another; an untracked tensor.

        Burn: burn_tensor::Tensor::dequantize
        Clauses: QNT-21, QNT-22, QNT-35.
        """
        target = locked_settings(self.device).float_dtype if dtype is None else dtype
        out = np.empty(self._logical, target.numpy)
        quantizing.decode(self.to_numpy(), self.scheme, self._logical, out)
        state = gradient.fresh(self.device)
        return Tensor._made(space_of(self.device).from_host(out), self.device, target, state)

    def codes(self) -> NDArray[Any]:
        """The codes in the shape of the tensor: i8; those of small floats are their bits (QNT-19, QNT-20)."""
        stored, _, _ = quantizing.parts(self.to_numpy(), self.scheme, self._logical)
        return packing.unpack(stored, self.scheme, self._logical).view(np.int8)

    def scales(self) -> NDArray[Any]:
        """The innermost scales, f32: `[1]`, or one a block in the shape of the grid (QNT-9)."""
        _, stored, _ = quantizing.parts(self.to_numpy(), self.scheme, self._logical)
        return stored.reshape(quantizing.grid(self.scheme, self._logical))

    def global_scale(self) -> float | None:
        """The scale of the whole tensor that the block scales are multiplied by, of two levels (QNT-15)."""
        _, _, whole = quantizing.parts(self.to_numpy(), self.scheme, self._logical)
        return None if whole is None else float(whole)

    def quantize(self, scheme: QuantScheme, q_params: QParams) -> NoReturn:  # noqa: ARG002
        """Refused: a quantised tensor is dequantised first (QNT-36)."""
        compute_range(scheme, self, Calibration.MIN_MAX)
        raise AssertionError("unreachable")

    def quantize_dynamic(self, scheme: QuantScheme) -> QuantizedTensor:
        """The values, quantised anew (QNT-26)."""
        return self.dequantize().quantize_dynamic(scheme)

    # --- Gradients: none ---------------------------------------------------------------------------------

    def set_require_grad(self, require_grad: bool) -> Self:  # noqa: ARG002
        """This tensor: a quantised one has no gradient (QNT-35)."""
        return self

    def detach(self) -> Tensor:  # type: ignore[override]
        """The values as a float tensor: Burn detaches the dense form (pinned, PAR-58)."""
        return self.dequantize().detach()

    # --- What rearranges elements (QNT-33) ---------------------------------------------------------------

    def _rearranged(self, change: Callable[[Any], Any], scheme: QuantScheme) -> Self:
        """The codes moved by `change` under one scale; with blocks the values, quantised anew."""
        if scheme.per_block is not None:
            moved: Tensor = change(self.dequantize(DType.F32))
            return type(self)._requantized_as(moved, scheme)
        codes = self.codes()
        holder = AnyTensor.classes[Kind.INT]._made(codes, self.device.inner(), DType.I8, GradState.PLAIN)
        moved_codes = change(holder)._array
        tail = self.to_numpy()[-scheme.scale_dtype.nbytes :]
        packed = packing.pack(np.ascontiguousarray(moved_codes).view(np.uint8), scheme)
        return self._of(np.concatenate([packed, tail]), DType.qfloat(scheme), moved_codes.shape, self.device)

    def reshape(self, shape: Sequence[int] | int) -> Self:
        """The same elements under another shape; a packing axis that is gone becomes the innermost."""
        rank = 1 if isinstance(shape, int) else len(shape)
        kept = self.scheme.store.axis < rank
        scheme = self.scheme if kept else self.scheme.with_packing_axis(0)
        return self._rearranged(lambda t: t.reshape(shape), scheme)

    def swap_dims(self, dim1: int, dim2: int) -> Self:
        """The elements with two axes exchanged; the block's extents and the packing axis follow."""
        axes = list(range(self.rank))
        axes[dim1], axes[dim2] = axes[dim2], axes[dim1]
        return self.permute(axes)

    def permute(self, axes: Sequence[int]) -> Self:
        """The elements with their axes in another order; the block's extents and the packing axis follow."""
        order = [axis % self.rank for axis in axes]
        return self._rearranged(lambda t: t.permute(order), self.scheme.permuted(order))

    def transpose(self) -> Self:
        """The last two axes exchanged."""
        return self.swap_dims(-2, -1)

    def flip(self, axes: Sequence[int]) -> Self:
        """The elements in reverse along `axes`."""
        return self._rearranged(lambda t: t.flip(axes), self.scheme)

    def expand(self, shape: Sequence[int]) -> Self:
        """Extents of 1 repeated."""
        return self._rearranged(lambda t: t.expand(shape), self.scheme)

    def select(self, dim: int, indices: Any) -> Self:
        """The elements at `indices` along axis `dim`."""
        plain = indices.inner()
        return self._rearranged(lambda t: t.select(dim, plain), self.scheme)

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """`length` elements along axis `dim`, from `start` on."""
        return self._rearranged(lambda t: t.narrow(dim, start, length), self.scheme)

    def __getitem__(self, index: Any) -> Self:
        return self._rearranged(lambda t: t[index], self.scheme)

    # --- What quantises anew (QNT-34) --------------------------------------------------------------------

    def _requantized(self, result: Tensor) -> Any:
        return type(self)._requantized_as(result, self.scheme)

    def _extreme(self, name: str, dim: int | None) -> Self:
        result: Self = self._requantized(self.dequantize()._extreme(name, dim))
        return result

    def __abs__(self) -> Self:
        result: Self = self._requantized(abs(self.dequantize()))
        return result

    def repeat_dim(self, dim: int, times: int) -> Self:
        """The elements several times along axis `dim`, quantised anew."""
        result: Self = self._requantized(self.dequantize().repeat_dim(dim, times))
        return result

    # --- What computes: a float tensor (QNT-34, QNT-35) ---------------------------------------------------

    def _binary(self, function: Callable[..., Any], other: Any, name: str) -> Any:
        mine = self._beside(other)
        return mine._binary(function, _dense(other, mine.dtype), name)

    def _compare(self, function: Callable[..., Any], other: Any, name: str) -> Any:
        mine = self._beside(other)
        return mine._compare(function, _dense(other, mine.dtype), name)

    def matmul(self, other: Any) -> Any:
        """The product of the values, a float tensor."""
        mine = self._beside(other)
        return mine.matmul(_dense(other, mine.dtype))

    __matmul__ = matmul

    def _beside(self, other: Any) -> Tensor:
        """The values in the dtype of a float operand, else in the device's."""
        floats = isinstance(other, Tensor) and not isinstance(other, QuantizedTensor)
        return self.dequantize(other.dtype if floats else None)

    def _reduce(self, name: str, dim: int | None, operation: str) -> Any:
        return self.dequantize()._reduce(name, dim, operation)

    def _map(self, function: Callable[..., Any]) -> Any:
        return self.dequantize()._map(function)

    def _place(self, name: str, dim: int) -> Any:
        return self.dequantize()._place(name, dim)

    def _widened(self) -> Any:
        return self.dequantize()

    # --- What Burn refuses (QNT-35) ----------------------------------------------------------------------

    def cast(self, dtype: DType) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        raise TensorError(
            "Should be Float primitive kind", clause="QNT-35", hint="a quantised tensor is dequantised first"
        )

    int = bool = cast  # type: ignore[assignment]

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


def _dense(operand: Any, dtype: DType) -> Any:
    return operand.dequantize(dtype) if isinstance(operand, QuantizedTensor) else operand


AnyTensor.classes[Kind.QUANTIZED] = QuantizedTensor
