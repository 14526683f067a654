"""From values to the range that codes must cover, and from the range to scales."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import AlreadyQuantizedError, ArgumentTypeError, TensorError
from .blocks import BlockLayout
from .data import TensorData
from .dtype import DType
from .float_tensor import Tensor
from .operands import no_extreme
from .scales import SMALLEST, max_representable
from .scheme import QuantScheme, ScaleDtype

#: Values that are looked at together, so that the second look finds them in the cache.
_PIECE: Final = 1 << 16


class Calibration(Enum):
    """How the range is found: the least and the greatest value, or the mean of the absolute values.

    Burn: burn_std::tensor::quantization::Calibration
    Clauses: QNT-11, QNT-40.
    """

    MIN_MAX = "MinMax"
    ABS_MEAN = "AbsMean"


@dataclass(frozen=True, slots=True)
class CalibrationRange:
    """The least and the greatest value, of the tensor or of each block, in the dtype of the tensor.

    Shapes: `[1]` for the whole tensor, the grid of blocks otherwise.

    Clauses: QNT-11.
    """

    min: Tensor
    max: Tensor

    def __post_init__(self) -> None:
        _check_floats("a range is a least and a greatest value", self.min, self.max)


@dataclass(frozen=True, slots=True)
class QParams:
    """The scales of a tensor or of its blocks, and of two levels the scale of the whole (F32).

    Burn: burn_std::tensor::quantization::QParams
    Clauses: QNT-13, QNT-15.
    """

    scales: Tensor
    global_scale: Tensor | None = None

    def __post_init__(self) -> None:
        given = (self.scales,) if self.global_scale is None else (self.scales, self.global_scale)
        _check_floats("scales are given", *given)


def compute_range(scheme: QuantScheme, tensor: Tensor, calibration: Calibration) -> CalibrationRange:
    """The range of `tensor`, or of each of its blocks.

    Raises:
        PanicError: the tensor is quantised already.
        TensorError: a block does not divide the tensor, the tensor is empty, or `AbsMean` meets two levels.

    Burn: burn_tensor::quantization::compute_range
    Clauses: QNT-11, QNT-12, QNT-16, QNT-36.
    """
    _check(scheme, tensor, calibration)
    if calibration is Calibration.ABS_MEAN and scheme.has_two_levels:
        raise TensorError(
            "AbsMean calibration has no two-level form: BitNet's gamma is a mean over the whole "
            "tensor or block, which a per-tensor scale cannot decompose",
            clause="QNT-12",
            hint="calibrate a two-level scheme with MinMax",
        )
    layout = BlockLayout.of(tensor.shape, scheme)
    grid = (1,) if scheme.per_block is None else layout.grid
    values = tensor.to_numpy()
    if calibration is Calibration.ABS_MEAN:
        mean = _mean_of_all(values) if scheme.per_block is None else _mean_of_blocks(values, layout)
        return CalibrationRange(_tensor(-mean, grid, tensor), _tensor(mean, grid, tensor))
    if scheme.per_block is None and not values.size:
        raise no_extreme("min", None, tensor.grad_state, "QNT-12")
    least, greatest = _extremes(values, layout, whole=scheme.per_block is None)
    return CalibrationRange(_tensor(least, grid, tensor), _tensor(greatest, grid, tensor))


def compute_q_params(scheme: QuantScheme, range: CalibrationRange) -> QParams:
    """The scales that let the codes cover `range`, in its dtype; of two levels normalised by one more.

    Raises:
        TensorError: block scales of a dtype as wide as f32 with a scale of the whole tensor.

    Burn: burn_backend::quantization::compute_q_params
    Clauses: QNT-13, QNT-14, QNT-15.
    """
    check_scheme(scheme)
    if not isinstance(range, CalibrationRange):
        raise ArgumentTypeError(
            f"scales are computed from a CalibrationRange, got {range!r}",
            clause="QNT-13",
            hint="compute_range(scheme, tensor, calibration) gives one",
        )
    least, greatest = np.abs(range.min.to_numpy()), np.abs(range.max.to_numpy())
    low, high = scheme.value.range
    kind = least.dtype
    with np.errstate(all="ignore"):
        peak = np.where(least < greatest, greatest, least)
        scales = _halved_steps(peak, high - low, kind)
        if not scheme.has_two_levels:
            return QParams(_tensor(scales, scales.shape, range.min))
        return _two_levels(scales, scheme.scale_dtype, range.min)


def _halved_steps(peak: NDArray[Any], width: float, kind: np.dtype[Any]) -> NDArray[Any]:
    """`peak * 2 / width`: two operations, each rounded to the dtype, the width rounded to it first."""
    scales: NDArray[Any] = (peak * kind.type(2)) / kind.type(width)
    return scales


def _two_levels(scales: NDArray[Any], dtype: ScaleDtype, like: Tensor) -> QParams:
    if max_representable(dtype) > np.float32(65504.0):
        raise TensorError(
            f"block scales in {dtype.value} reach f32's range, which a per-tensor scale cannot absorb",
            clause="QNT-15",
            hint="with two levels the block scales are F16 or UE4M3",
        )
    if not scales.size:
        raise no_extreme("max", None, like.grad_state, "QNT-15")
    wide = scales.astype(np.float32)
    whole = np.maximum(wide.max() / max_representable(dtype), SMALLEST).astype(np.float32)
    normalised = (wide / whole).astype(scales.dtype)
    global_scale = Tensor.from_data(TensorData.from_array(whole.reshape(1)), like.device, DType.F32)
    return QParams(_tensor(normalised, scales.shape, like), global_scale)


def _extremes(values: NDArray[Any], layout: BlockLayout, *, whole: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the greatest value of each block; a NaN in a block is both."""
    if values.dtype.itemsize == 2:
        narrow = values.dtype
        least, greatest = _extremes(values.astype(np.float32), layout, whole=whole)
        return least.astype(narrow), greatest.astype(narrow)
    if whole:
        flat = values.reshape(-1)
        pieces = [flat[at : at + _PIECE] for at in range(0, flat.size, _PIECE)]
        both = np.array([(piece.min(), piece.max()) for piece in pieces])
        return both[:, 0].min(), both[:, 1].max()
    folded, scales = layout.folded()
    least, greatest = np.empty(scales, values.dtype), np.empty(scales, values.dtype)
    if not values.size:
        return least, greatest
    axes = tuple(axis for axis, (v, s) in enumerate(zip(folded, scales, strict=True)) if v != s)
    kept = [axis for axis in range(len(folded)) if axis not in axes]
    view = values.reshape(folded)
    rows = max(1, _PIECE // max(1, view[:1].size))
    for row in range(0, folded[0], rows):
        beside = _beside(view[row : row + rows], axes, kept)
        for extreme, out in ((np.minimum, least), (np.maximum, greatest)):
            found = extreme.reduce(beside, axis=0)
            if found.ndim > len(kept):
                found = extreme(found[..., 0], found[..., 1])
            out[row : row + rows] = found.reshape(out[row : row + rows].shape)
    return least, greatest


def _beside(view: NDArray[Any], axes: tuple[int, ...], kept: list[int]) -> NDArray[Any]:
    """The values with those of a block first, so that blocks are compared side by side.

    Runs of f32 that are even are moved two at a time, as one f64: the last axis then has the two.
    """
    pairs_up = view.ndim == 2 and axes == (1,) and view.dtype == np.float32 and view.shape[1] % 2 == 0
    if pairs_up and view.flags.c_contiguous:
        pairs = np.ascontiguousarray(view.view(np.float64).T)
        return pairs.view(np.float32).reshape(*pairs.shape, 2)
    beside = np.ascontiguousarray(view.transpose(*axes, *kept))
    return beside.reshape(-1, *beside.shape[len(axes) :])


def _mean_of_all(values: NDArray[Any]) -> NDArray[Any]:
    """The mean of the absolute values, summed from left to right; half floats are summed in f32."""
    kind = values.dtype
    flat = np.abs(values.reshape(-1))
    wide = flat.astype(np.float32) if kind.itemsize == 2 else flat
    with np.errstate(all="ignore"):
        total = _sum(wide.reshape(1, -1))[0]
        return np.asarray((total / total.dtype.type(wide.size)).astype(kind))


def _mean_of_blocks(values: NDArray[Any], layout: BlockLayout) -> NDArray[Any]:
    """The mean of the absolute values of each block: one block axis after the other, rounded between."""
    kind = values.dtype
    split: NDArray[Any] = np.abs(values).reshape(layout.split)
    with np.errstate(all="ignore"):
        for axis in range(1, split.ndim, 2):
            extent = split.shape[axis]
            if extent > 1:
                rows = np.moveaxis(split, axis, -1)
                wide = rows.astype(np.float32) if kind.itemsize == 2 else rows
                totals = _sum(wide.reshape(-1, extent)).reshape(rows.shape[:-1])
                means = (totals / totals.dtype.type(extent)).astype(kind)
                split = np.expand_dims(means, axis)
    return split


def _sum(rows: NDArray[Any]) -> NDArray[Any]:
    """The sum of each row, strictly from left to right, a piece at a time."""
    totals = np.zeros(rows.shape[0], rows.dtype)
    for start in range(0, rows.shape[1], 1 << 18):
        piece = rows[:, start : start + (1 << 18)]
        running = np.concatenate([totals[:, None], piece], axis=1)
        totals = np.add.accumulate(running, axis=1)[:, -1]
    return totals


def _tensor(values: NDArray[Any], shape: tuple[int, ...], like: Tensor) -> Tensor:
    """What an operation on `like` gives: of a tracked tensor it is tracked."""
    data = TensorData.from_array(np.asarray(values).reshape(shape))
    return like._with(Tensor.from_data(data, like.device, like.dtype)._array)


def _check(scheme: object, tensor: object, calibration: object) -> None:
    check_scheme(scheme)
    if not isinstance(tensor, Tensor) or not isinstance(calibration, Calibration):
        raise ArgumentTypeError(
            f"a range is computed of a float Tensor by a Calibration, got {tensor!r} and {calibration!r}",
            clause="QNT-11",
        )
    refuse_quantized(tensor)


def check_scheme(scheme: object) -> None:
    """Refuse what is no scheme.

    Raises:
        ArgumentTypeError: as above.
    """
    if not isinstance(scheme, QuantScheme):
        raise ArgumentTypeError(
            f"a tensor is quantised by a QuantScheme, got {scheme!r}",
            clause="QNT-5",
            hint="QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE)",
        )


def _check_floats(what: str, *tensors: object) -> None:
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_float:
            raise ArgumentTypeError(f"{what} as float tensors, got {tensor!r}", clause="QNT-13")


def refuse_quantized(tensor: Tensor) -> None:
    """Refuse a tensor that is quantised already.

    Raises:
        AlreadyQuantizedError: it is.

    Clauses: QNT-36.
    """
    if tensor.dtype.is_quantized:
        raise AlreadyQuantizedError(
            "internal error: entered unreachable code",
            clause="QNT-36",
            hint="the tensor is quantised already: dequantise it first, or leave it out by a group",
        )
