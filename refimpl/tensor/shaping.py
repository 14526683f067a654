"""Operations that move elements and change none: the same for every kind of tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from ..errors import ArgumentTypeError, InvalidArgumentError, TensorError
from . import gradient
from .arguments import as_dim, as_int, as_ints, failed, failures, no_second_axis
from .core import AnyTensor, Number
from .creation import CreatedTensor
from .dtype import Kind
from .operands import common_shape, debug_shape, expect, of_operands, same_dtype
from .quiet import no_memory

if TYPE_CHECKING:
    from .bool_tensor import BoolTensor
    from .int_tensor import IntTensor

Index = int | slice | None
_AXIS = slice(None)


class ShapedTensor(CreatedTensor):
    """A tensor whose elements can be rearranged.

    Axes count from the end when negative. Results keep dtype and device; a tracked tensor gives a non-leaf.
    """

    __slots__ = ()

    def reshape(self, shape: Sequence[int] | int) -> Self:
        """The same elements in row-major order under another shape; one extent can be -1.

        Raises:
            TensorError: the number of elements differs.
        """
        dims = as_ints(shape, "an extent of a shape")
        if any(d < 0 for d in dims):
            dims = self._inferred(dims)
        if math.prod(dims) != self.size:
            raise failed(
                "Reshape",
                "The given shape doesn't have the same number of elements as the current shape. "
                f"Current shape: {list(self.shape)}, target shape: {dims}.",
            )
        return self._with(
            _within_numpys_limits("Reshape", self._run, self._space.xp.reshape, self._array, tuple(dims))
        )

    def _inferred(self, dims: list[int]) -> list[int]:
        """`dims` with the extent that stands for -1."""
        facts = f"Current shape: {list(self.shape)}, target dimensions: {dims}."
        wrong = {
            "The given shape cannot contain negative dimensions (other than -1).": min(dims) < -1,
            "Repeated -1 in reshape.": dims.count(-1) > 1,
        }
        if any(wrong.values()):
            found = [f"{reason} {facts}" for reason, holds in wrong.items() if holds]
            raise TensorError(failures("Reshape", found))
        known = math.prod(d for d in dims if d != -1)
        if known == 0:
            reason = "Cannot infer a dimension when another resolved dimension is zero."
            raise failed("Reshape", reason, f"{facts} Specify all dimensions explicitly.")
        if self.size % known:
            raise failed("Reshape", "Cannot infer a valid target shape.", facts)
        return [self.size // known if d == -1 else d for d in dims]

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """The axes from `start` to `end`, both included, as one."""
        first, last = as_dim(start, self.rank, "Flatten"), as_dim(end, self.rank, "Flatten")
        if first > last:
            raise failed(
                "Flatten", f"The start dim ({first}) must be smaller than or equal to the end dim ({last})"
            )
        dims = self.shape
        return self.reshape((*dims[:first], math.prod(dims[first : last + 1]), *dims[last + 1 :]))

    def transpose(self) -> Self:
        """The last two axes exchanged; a tensor of one axis stays as it is.

        Raises:
            TensorError: Floats of one axis on an autodiff device, where Burn panics.
        """
        if self.rank > 1:
            return self.swap_dims(-2, -1)
        if self.dtype.is_float and self.device.is_autodiff:
            raise no_second_axis()
        return self

    @property
    def T(self) -> Self:  # noqa: N802 - the name that everyone knows
        """The last two axes exchanged: `transpose()`."""
        return self.transpose()

    def swap_dims(self, dim1: int, dim2: int) -> Self:
        """Two axes exchanged; one with itself leaves this tensor."""
        axes = list(range(self.rank))
        one, two = as_dim(dim1, self.rank, "Swap Dims"), as_dim(dim2, self.rank, "Swap Dims")
        axes[one], axes[two] = two, one
        return self.permute(axes)

    def permute(self, axes: Sequence[int]) -> Self:
        """The axes in another order: axis `i` of the result is axis `axes[i]` of this tensor.

        In the order that they have this tensor itself: no operation is recorded, and nothing quantised anew.
        """
        order = _axes("Permute", axes, self.rank)
        if len(order) != self.rank:
            raise InvalidArgumentError(f"{list(order)} do not name each of the {self.rank} axes once")
        if order == tuple(range(self.rank)):
            return self
        return self._with(self._run(self._space.xp.permute_dims, self._array, order))

    def flip(self, axes: Sequence[int]) -> Self:
        """The order of the elements along `axes` reversed."""
        return self._with(self._run(self._space.xp.flip, self._array, axis=_axes("flip", axes, self.rank)))

    def unsqueeze_dim(self, dim: int) -> Self:
        """A new axis of extent 1 before axis `dim`; the end is `rank` or -1."""
        at = as_dim(dim, self.rank + 1, "Unsqueeze")
        return self._with(self._run(self._space.xp.expand_dims, self._array, axis=at))

    def unsqueeze(self, rank: int) -> Self:
        """New leading axes of extent 1, up to `rank` axes.

        Raises:
            TensorError: there are more axes already.
        """
        if as_int(rank, "a rank") < self.rank:
            raise failed("Unsqueeze", f"Can't unsqueeze a tensor of rank {self.rank} to rank {rank}.")
        return self.reshape((1,) * (rank - self.rank) + self.shape)

    def squeeze_dim(self, dim: int) -> Self:
        """The axis `dim`, of extent 1, taken away."""
        at = as_dim(dim, self.rank, "Squeeze")
        if self.shape[at] != 1:
            raise failed("Squeeze", f"Can't squeeze dimension {at} because its size is not 1")
        return self._with(self._run(self._space.xp.squeeze, self._array, axis=at))

    def squeeze(self) -> Self:
        """Every axis of extent 1 taken away."""
        return self.reshape([d for d in self.shape if d != 1])

    def expand(self, shape: Sequence[int]) -> Self:
        """The elements repeated along axes of extent 1, and along new leading axes; -1 keeps an extent."""
        extents = as_ints(shape, "an extent of a shape")
        new = len(extents) - self.rank
        if new < 0:
            raise TensorError(
                "Broadcast arguments must be greater than the number of dimensions! "
                f"got {len(extents)}, need at least {self.rank}"
            )
        for extent in reversed(extents):
            if extent < -1 or extent == 0:
                raise TensorError(f"Broadcast arguments must be positive or -1! Got {extent}")
        had = (1,) * new + self.shape
        kept = zip((0,) * new + self.shape, extents, strict=True)
        wanted = tuple(have if want == -1 else want for have, want in kept)
        if 0 in wanted:
            raise TensorError(f"Cannot substitute -1 for a non-existing dimension! Got {list(wanted)}")
        for axis, (have, want) in enumerate(zip(had, wanted, strict=True)):
            if have not in (1, want) and want != 1:
                raise failed(
                    "Expand",
                    "The provided tensor can't be broadcasted to the target shape.",
                    f"Incompatible size at dimension '{len(had) - axis - 1}' => '{have} != {want}', "
                    f"which can't be broadcasted. Tensor shape {debug_shape(self.shape)}, "
                    f"Target shape {debug_shape(wanted)}.",
                    "axes are counted from the last one here",
                )
        for axis, (have, want) in enumerate(zip(had, wanted, strict=True)):
            if have not in (1, want):
                raise TensorError(f"expand: cannot expand dimension {axis} from {have} to {want}")
        return self._with(
            _within_numpys_limits("Expand", self._run, self._space.xp.broadcast_to, self._array, wanted)
        )

    def repeat_dim(self, dim: int, times: int) -> Self:
        """The whole tensor `times` times in a row along axis `dim`; no time at all it is a new tensor."""
        if as_int(times, "a number of times") < 0:
            raise InvalidArgumentError(f"a tensor is repeated at least 0 times, not {times}")
        at = as_dim(dim, self.rank, "Repeat")
        reps = tuple(times if i == at else 1 for i in range(self.rank))
        try:
            repeated = self._run(self._space.xp.tile, self._array, reps)
        except ValueError as error:  # more elements than an array of NumPy can have
            raise no_memory(error) from error
        return self._with(repeated) if times else self._fresh(repeated)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Self:
        """The elements within ranges; every axis is kept, also under an integer (Burn's `slice`).

        A range with a negative step is gone through from its last element: `[1:4:-1]` are 3, 2 and 1. Nothing
        at all is a new tensor, whatever this one's gradient state.

        >>> Tensor.zeros([2, 3], Device("cpu"))[1, :2].shape
        (1, 2)
        """
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) > self.rank:
            raise TensorError(
                f"Too many slices provided for shape, got {len(parts)} but expected at most {self.rank}"
            )
        ranges = [
            _range(part, extent) if isinstance(part, slice) else _at(part, extent)
            for part, extent in zip(parts, self.shape, strict=False)
        ]
        array = self._array[(*ranges, ...)]
        return self._fresh(array) if 0 in array.shape else self._with(array)

    def _fresh(self, array: Any) -> Self:
        """A result without elements that Burn makes anew: it has no part in a graph."""
        return self._made(array, self.device, self.dtype, gradient.fresh(self.device))

    def slice(self, ranges: Sequence[Index] | Index) -> Self:
        """The elements within ranges: `tensor[ranges]`."""
        return self[tuple(ranges) if isinstance(ranges, Sequence) else ranges]

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """`length` elements along axis `dim`, from `start` on."""
        at = as_dim(dim, self.rank, "Narrow")
        start, length = as_int(start, "a start"), as_int(length, "a length")
        extent = self.shape[at]
        outside, beyond = not 0 <= start < extent, start + length > extent
        reasons = {
            "length must be greater than 0": length <= 0,
            f"start exceeds the size of the tensor along this dimension (Size={extent})": outside,
            f"start + length exceeds the size of the tensor along this dimension (Size={extent})": beyond,
        }
        if any(reasons.values()):
            found = [
                f"Can't narrow at dimension {at}, {reason}" for reason, holds in reasons.items() if holds
            ]
            raise TensorError(failures("Narrow", found))
        return self[(*[_AXIS] * at, slice(start, start + length))]

    def chunk(self, chunks: int, dim: int) -> list[Self]:
        """At most `chunks` parts along axis `dim`, each as long as the first but the last."""
        at = as_dim(dim, self.rank, "Chunk")
        if as_int(chunks, "a number of chunks") < 1:
            raise failed("Chunk", f"A tensor is cut into at least one part, not {chunks}.")
        extent = self.shape[at]
        step = max(1, -(-extent // chunks))
        return [self.narrow(at, start, min(step, extent - start)) for start in range(0, extent, step)]

    def select(self, dim: int, indices: IntTensor) -> Self:
        """The elements at `indices` along axis `dim`: the look-up of an embedding.

        Raises:
            TensorError: an index is beyond the axis.
            InvalidArgumentError: `indices` are of another rank than 1.
        """
        at = as_dim(dim, self.rank, "Select")
        expect("Select", AnyTensor.classes[Kind.INT], indices)
        device, state = of_operands("Select", self, indices)
        if indices.rank != 1:
            raise InvalidArgumentError(f"the indices are of rank 1, got shape {list(indices.shape)}")
        xp, places, extent = self._space.xp, indices._array, self.shape[at]
        outside = places[(places < 0) | (places >= extent)]
        if outside.size:
            raise TensorError(f"index {int(outside[0])} out of bounds for dimension of size {extent}")
        array = self._run(xp.take, self._array, places, axis=at)
        return self._made(array, device, self.dtype, state)

    @classmethod
    def cat(cls, tensors: Sequence[Self], dim: int) -> Self:
        """The tensors one after the other along axis `dim`.

        Raises:
            TensorError: there are none, or their other extents or dtypes differ.
            DeviceMismatchError: they are on different hardware.
        """
        tensors = several("Cat", tensors)
        first: Self = next(iter(tensors)) if tensors else _of_nothing()
        for tensor in tensors:
            expect("Cat", cls, tensor)
        at = as_dim(dim, first.rank, "Cat")
        shapes = ", ".join(debug_shape(t.shape) for t in tensors)
        if len({(t.shape[:at], t.shape[at + 1 :], t.rank) for t in tensors}) > 1:
            raise failed(
                "Cat",
                "Can't concatenate tensors with different shapes, except for the provided dimension",
                f"Provided dimension ({at}), tensors shapes: [{shapes}]",
            )
        full = [t for t in tensors if t.shape[at]]  # the others are not looked at any more
        if not full:
            return first._fresh(first._array)
        device, state = of_operands("Cat", *full)
        want = next(iter(full)).dtype
        for have in (t.dtype for t in full):
            if have != want:
                raise TensorError(
                    f"assertion `left == right` failed: cat: dtype mismatch: expected {want}, got {have}\n"
                    f"  left: {have}\n right: {want}",
                    hint=f"cast one of them: tensor.cast(DType.parse({want.name!r}))",
                )
        array = first._run(first._space.xp.concat, [t._array for t in full], axis=at)
        return first._made(array, device, want, state)

    @classmethod
    def stack(cls, tensors: Sequence[Self], dim: int = 0) -> Self:
        """The tensors, of one shape, along a new axis `dim`."""
        tensors = several("Stack", tensors)
        for tensor in tensors:
            expect("Stack", cls, tensor)
        if len({t.shape for t in tensors}) > 1:
            raise failed(
                "Stack", "Can't stack tensors with different shapes", f"{[list(t.shape) for t in tensors]}"
            )
        return cls.cat([t.unsqueeze_dim(dim) for t in tensors], dim)

    def mask_where(self, mask: BoolTensor, value: Self) -> Self:
        """The elements of `value` where `mask` is true, those of this tensor elsewhere."""
        expect("Mask Where", AnyTensor.classes[Kind.BOOL], mask)
        expect("Mask Where", type(self), value)
        device, state = of_operands("Mask Where", self, value, mask)
        same_dtype("Mask Where", self, value)
        common_shape("Mask Where", self.shape, value.shape, mask.shape)
        chosen = self._run(self._space.xp.where, mask._truth(), value._array, self._array)
        return self._made(self._space.asarray(chosen), device, self.dtype, state)

    def mask_fill(self, mask: BoolTensor, value: Number) -> Self:
        """`value` where `mask` is true, the elements of this tensor elsewhere."""
        return ShapedTensor.mask_where(self, mask, self._full(self.shape, value, self.device, self.dtype))


def several(operation: str, tensors: Any) -> tuple[Any, ...]:
    """`tensors` one after the other; one tensor alone is refused, since it would be taken apart.

    Raises:
        ArgumentTypeError: they are not several.
    """
    if isinstance(tensors, AnyTensor) or not isinstance(tensors, Iterable):
        raise ArgumentTypeError(
            f"{operation} takes several tensors, got {type(tensors).__name__}",
            hint="put them into a list: [first, second]",
        )
    return tuple(tensors)


def _within_numpys_limits(operation: str, run: Callable[..., Any], *arguments: Any) -> Any:
    """A new shape, refused where the array library has no such arrays: too many axes, too many elements."""
    try:
        return run(*arguments)
    except ValueError as error:
        raise failed(operation, f"The array library has no such array: {error}.") from error


def _axes(operation: str, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    found = tuple(as_dim(axis, rank, operation.title()) for axis in as_ints(axes, "an axis"))
    if len(set(found)) != len(found):
        raise failed(operation, "The axes must be unique.", f"The axes '{list(found)}' are not unique.")
    return found


def _of_nothing() -> NoReturn:
    raise failed("Cat", "Can't concatenate an empty list of tensors.")


def _range(part: slice, extent: int) -> slice:
    """A range cut to its axis; with a negative step from its last element on, as Burn goes through it."""
    for end in (part.start, part.stop, part.step):
        if end is not None and (not isinstance(end, (int, np.integer)) or isinstance(end, bool)):
            raise ArgumentTypeError(f"an end of a range is an integer, got {end!r}")
    start, stop, _ = slice(part.start, part.stop).indices(extent)
    step = 1 if part.step is None else part.step
    if step > 0:
        return slice(start, stop, step)
    if step == 0:
        raise TensorError("Step cannot be zero")
    return slice(stop - 1, start - 1 if start else None, step) if start < stop else slice(0)


def _at(part: object, extent: int) -> slice:
    """What stands for a range: nothing for a whole axis, an integer for the one element there."""
    if part is None:
        return _AXIS
    if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
        raise ArgumentTypeError(
            f"a tensor is indexed by ranges and integers, got {type(part).__name__}",
            hint="for a list of places take select(dim, indices), for a condition mask_where",
        )
    if not -extent <= part < extent:
        raise failed("Slice", f"index {part} is out of bounds for an axis of {extent} elements.")
    at = part % extent
    return slice(at, at + 1)
