"""Quantised tensors: codes with scales, kept as the bytes that a file holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any, ClassVar, Final, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgumentError, TensorError
from ..rust_text import debug_shape
from . import gradient, packing, quantizing
from .arguments import as_dim, as_ints, check_dtype, failed, no_second_axis
from .blocks import aligned
from .calibration import Calibration, QParams, compute_q_params, compute_range
from .core import AnyTensor, Number
from .data import TensorData
from .device import Device
from .dtype import DType, Kind
from .float_tensor import Tensor
from .gradient import GradState
from .namespace import space_of
from .operands import expect
from .reuse import uninitialized
from .scheme import BlockSize, QuantScheme
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
        """The tensor that serialised `data` holds, if they are as many bytes as its layout takes (QNT-30)."""
        array, scheme = data.to_numpy(), data.dtype.scheme
        assert scheme is not None
        needed = quantizing.byte_length(scheme, data.shape)
        if array.size != needed:
            raise TensorError(
                f"Shape {list(data.shape)} with dtype {data.dtype} is invalid for input of size "
                f"{array.size} bytes",
                clause="QNT-30",
                hint=f"its layout takes {needed} bytes",
            )
        quantizing.check_scales(scheme, data.shape)
        try:
            np.broadcast_to(np.uint8(), data.shape)  # what it is dequantised to must be an array
            array = quantizing.as_kept(array, scheme, data.shape)
        except (ValueError, OverflowError) as error:
            raise TensorError(
                f"no NumPy array has this shape of {len(data.shape)} axes: {error}", clause="BPK-6"
            ) from error
        return cls._of(array, data.dtype, data.shape, device)

    @classmethod
    def _of(cls, data: NDArray[Any], dtype: DType, shape: tuple[int, ...], device: Device) -> Self:
        made = cls._made(space_of(device).from_host(data), device, dtype, gradient.fresh(device))
        object.__setattr__(made, "_logical", shape)
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
        object.__setattr__(made, "_logical", self._logical)
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
        return TensorData(self.dtype, self._logical, self._in_host().data)

    def to_numpy(self) -> NoReturn:
        """Refused: the stored bytes are not the values.

        Raises:
            TensorError: always; the hint names what gives values, codes, scales and bytes.
        """
        self._refuse_export()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._refuse_export()

    def __dlpack__(self, **how: Any) -> NoReturn:
        self._refuse_export()

    def _refuse_export(self) -> NoReturn:
        """Other libraries know no codes with scales: they would take the stored bytes for the values."""
        raise TensorError(
            f"a tensor of {self.dtype} is no array of values",
            clause="QNT-21",
            hint="`dequantize()` gives the values, `codes()` and `scales()` what they are made of, "
            "`to_data()` the stored bytes",
        )

    # --- The values and what they are made of -----------------------------------------------------------

    def dequantize(self, dtype: DType | None = None) -> Tensor:
        """The values, in the device's float dtype or another; an untracked tensor.

        Burn: burn_tensor::Tensor::dequantize
        Clauses: QNT-21, QNT-22, QNT-35.
        """
        target = locked_settings(self.device).float_dtype if dtype is None else check_dtype(dtype)
        if not target.is_float:
            raise InvalidArgumentError(
                f"a quantised tensor is dequantised to floats, not to {target}", clause="QNT-21"
            )
        out = uninitialized(self._logical, target.numpy)
        quantizing.decode(self._in_host(), self.scheme, self._logical, out)
        state = gradient.fresh(self.device)
        return Tensor._made(space_of(self.device).from_host(out), self.device, target, state)

    def codes(self) -> NDArray[Any]:
        """The codes in the shape of the tensor: i8; those of small floats are their bits (QNT-19, QNT-20)."""
        stored, _, _ = quantizing.parts(self._in_host(), self.scheme, self._logical)
        return packing.unpack(stored, self.scheme, self._logical).view(np.int8)

    def scales(self) -> NDArray[Any]:
        """The innermost scales, f32: `[1]`, or one a block in the shape of the grid (QNT-9)."""
        _, stored, _ = quantizing.parts(self._in_host(), self.scheme, self._logical)
        return stored.reshape(quantizing.grid(self.scheme, self._logical))

    def global_scale(self) -> float | None:
        """The scale of the whole tensor that the block scales are multiplied by, of two levels (QNT-15)."""
        _, _, whole = quantizing.parts(self._in_host(), self.scheme, self._logical)
        return None if whole is None else float(whole)

    def quantize(self, scheme: QuantScheme, q_params: QParams) -> QuantizedTensor:
        """The values, quantised anew; only a range cannot be computed of codes (QNT-24, QNT-36)."""
        return self.dequantize().quantize(scheme, q_params)

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
            _check_whole_blocks(moved.shape, scheme.per_block[0])
            # A NaN is left out of the peak of its block here, and only here (QNT-27).
            present = moved.mask_fill(moved.is_nan(), 0.0)
            range_ = compute_range(scheme, present, Calibration.MIN_MAX)
            return type(self)._encoded(moved, scheme, compute_q_params(scheme, range_))
        codes = self.codes()
        holder = AnyTensor.classes[Kind.INT]._made(codes, self.device.inner(), DType.I8, GradState.PLAIN)
        moved_codes = change(holder)._array
        tail = self._in_host()[-scheme.scale_dtype.nbytes :]
        packed = packing.pack(np.ascontiguousarray(moved_codes).view(np.uint8), scheme)
        return self._of(np.concatenate([packed, tail]), DType.qfloat(scheme), moved_codes.shape, self.device)

    def reshape(self, shape: Sequence[int] | int) -> Self:
        """The same elements under another shape; a packing axis that is gone becomes the innermost."""
        shape = (shape,) if isinstance(shape, int) else shape
        kept = self.scheme.store.axis < len(shape)
        scheme = self.scheme if kept else self.scheme.with_packing_axis(0)
        return self._rearranged(lambda t: t.reshape(shape), scheme)

    def unsqueeze_dim(self, dim: int) -> Self:
        """A new axis of extent 1 before axis `dim`: a reshape."""
        shape = list(self.shape)
        shape.insert(as_dim(dim, self.rank + 1, "Unsqueeze"), 1)
        return self.reshape(shape)

    def squeeze_dim(self, dim: int) -> Self:
        """The axis `dim`, of extent 1, taken away: a reshape."""
        at = as_dim(dim, self.rank, "Squeeze")
        if self.shape[at] != 1:
            raise failed("Squeeze", f"Can't squeeze dimension {at} because its size is not 1")
        return self.reshape(self.shape[:at] + self.shape[at + 1 :])

    def permute(self, axes: Sequence[int]) -> Self:
        """The elements with their axes in another order; the block's extents and the packing axis follow.

        In the order that they have this tensor itself: nothing is quantised anew.
        """
        order = [as_dim(axis, self.rank, "Permute") for axis in as_ints(axes, "an axis")]
        if order == list(range(self.rank)):
            return self
        return self._rearranged(lambda t: t.permute(order), self.scheme.permuted(order))

    def transpose(self) -> Self:
        """The last two axes exchanged.

        Raises:
            TensorError: There is one axis alone.
        """
        if self.rank == 1:
            raise no_second_axis()
        return self.swap_dims(-2, -1)

    def flip(self, axes: Sequence[int]) -> Self:
        """The elements in reverse along `axes`."""
        return self._rearranged(lambda t: t.flip(axes), self.scheme)

    def select(self, dim: int, indices: Any) -> Self:
        """The elements at `indices` along axis `dim`."""
        expect("Select", AnyTensor.classes[Kind.INT], indices)
        plain = indices.inner()
        return self._rearranged(lambda t: t.select(dim, plain), self.scheme)

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """`length` elements along axis `dim`, from `start` on."""
        return self._rearranged(lambda t: t.narrow(dim, start, length), self.scheme)

    def __getitem__(self, index: Any) -> Self:
        return self._rearranged(lambda t: t[index], self.scheme)

    # --- What quantises anew (QNT-34) --------------------------------------------------------------------

    def _requantized(self, result: Tensor) -> Any:
        gone = self.scheme.store.axis >= result.rank
        return type(self)._requantized_as(result, self.scheme.with_packing_axis(0) if gone else self.scheme)

    @classmethod
    def _concatenated(cls, tensors: Sequence[Tensor], dim: int) -> Any:
        """Quantised tensors one after the other, quantised anew by the scheme of the first."""
        first = tensors[0]
        kinds = {isinstance(tensor, QuantizedTensor) for tensor in tensors}
        if len(kinds) > 1:
            ours = isinstance(first, QuantizedTensor)
            raise TensorError(
                "internal error: entered unreachable code" if ours else "Should be float, got quantized",
                clause="QNT-34",
                hint="dequantise the quantised ones first",
            )
        assert isinstance(first, QuantizedTensor)
        return first._requantized(Tensor.cat([tensor.dequantize() for tensor in tensors], dim))

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

    def _reduce(self, name: str, dim: int | None = None) -> Any:
        return self.dequantize()._reduce(name, dim)

    def _map(self, function: Callable[..., Any]) -> Any:
        return self.dequantize()._map(function)

    def _place(self, name: str, dim: int) -> Any:
        return self.dequantize()._place(name, dim)

    def _widened(self) -> Any:
        return self.dequantize()

    def item(self) -> Number:
        """Refused, as in Burn: codes are no number (QNT-32)."""
        if self.size == 1:
            raise TensorError(
                "Error while reading data: use `try_into_scalar` instead to catch the error at runtime: "
                f"Data(UnsupportedConversion {{ from: {self.dtype}, to: F32 }})",
                clause="QNT-32",
                hint="tensor.dequantize().item()",
            )
        return super().item()

    into_scalar = item

    # --- What Burn refuses (QNT-35) ----------------------------------------------------------------------

    def cast(self, dtype: DType) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        raise TensorError(
            "Should be Float primitive kind", clause="QNT-35", hint="a quantised tensor is dequantised first"
        )

    def full_like(self, value: object) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like("Full Like")

    def zeros_like(self) -> NoReturn:
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like("Zeros Like")

    def ones_like(self) -> NoReturn:
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like("Ones Like")

    def random_like(self, distribution: object = None) -> NoReturn:  # noqa: ARG002
        """Refused, as in Burn (QNT-35)."""
        self._refuse_like("Random Like")

    def _refuse_like(self, operation: str) -> NoReturn:
        raise failed(
            operation,
            f"Quantized tensors are not supported by this operation. Got dtype {self.dtype}. "
            "Dequantize the tensor first.",
        )


def _check_whole_blocks(shape: tuple[int, ...], block: BlockSize) -> None:
    extents = aligned(block, len(shape))
    if any(extent == 0 or dim % extent for dim, extent in zip(shape, extents, strict=True)):
        raise TensorError(
            f"tensor {debug_shape(shape)} is not a whole number of {block!r} blocks", clause="QNT-27"
        )


def _on_the_values(tensor: QuantizedTensor, method: Callable[..., Any], *operands: Any, **named: Any) -> Any:
    """A method of a float tensor, on the values of a quantised one (QNT-34)."""
    dense = tensor.dequantize()
    return method(dense, *(_dense(operand, dense.dtype) for operand in operands), **named)


# Of these the body in `Tensor` looks at the stored array or at its dtype; the others are made of the above.
_STORED: Final = (
    "__neg__",
    "bool",
    "erf",
    "expand",
    "gelu",
    "gelu_approximate",
    "int",
    "is_nan",
    "log_softmax",
    "mask_fill",
    "mask_where",
    "mean",
    "mean_dim",
    "quiet_softmax",
    "relu",
    "sigmoid",
    "sign",
    "softmax",
    "var",
    "var_bias",
    "var_mean_bias",
)
for _name in _STORED:
    setattr(QuantizedTensor, _name, partialmethod(_on_the_values, getattr(Tensor, _name)))


def _dense(operand: Any, dtype: DType) -> Any:
    return operand.dequantize(dtype) if isinstance(operand, QuantizedTensor) else operand


AnyTensor.classes[Kind.QUANTIZED] = QuantizedTensor
