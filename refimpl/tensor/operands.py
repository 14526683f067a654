"""How the operands of one operation must agree: hardware, context, kind, dtype, shape."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NoReturn

from ..errors import ArgumentTypeError, DeviceMismatchError, TensorError
from . import gradient
from .arguments import failed, failure, failures
from .device import Device
from .gradient import GradState

if TYPE_CHECKING:
    from .core import AnyTensor


def of_operands(operation: str, *operands: AnyTensor) -> tuple[Device, GradState]:
    """Where the result of an operation on `operands` is, and its state.

    Raises:
        DeviceMismatchError: they are on different hardware, whatever their sizes.
        GradientError: they have different checkpointing strategies.
    """
    device, state = operands[0].device, operands[0].grad_state
    for other in operands[1:]:
        if other.device is not device:
            if other.device != device:
                refuse_devices(operation, device, other.device)
            device = gradient.merged(device, other.device)
        state = gradient.of_operation(state, other.grad_state)
    return device, gradient.of_operation(state, state)


def refuse_devices(operation: str, lhs: Device, rhs: Device) -> NoReturn:
    """Refuse an operation on tensors of two devices, with Burn's text.

    Raises:
        DeviceMismatchError: always.
    """
    raise DeviceMismatchError(
        failure(
            operation,
            "The provided tensors are not on the same device.",
            f"Lhs tensor device {lhs}, Rhs tensor device {rhs}.",
        ),
        clause="DEV-8",
        hint="move one with `to_device` first; a tensor is never moved for you",
    )


def expect(operation: str, cls: type[AnyTensor], tensor: object) -> None:
    """Refuse an operand that is no `cls`.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not isinstance(tensor, cls):
        raise ArgumentTypeError(
            f"{operation} takes a {cls.__name__}, got {type(tensor).__name__}",
            hint=into_tensor(tensor, cls.__name__),
        )


def into_tensor(given: object, name: str = "Tensor") -> str:
    """The way out for something that is no tensor, where a tensor of the class `name` is needed."""
    if hasattr(given, "val") and hasattr(given, "is_initialized"):
        return "an operation takes the value of a parameter: param.val()"
    return f"make a tensor of it first: {name}.from_data(values, device)"


def same_dtype(operation: str, *tensors: AnyTensor) -> None:
    """Refuse tensors of different dtypes, with Burn's text: nothing is promoted.

    Raises:
        TensorError: they differ.
    """
    first = tensors[0]
    for other in tensors[1:]:
        if other.dtype != first.dtype:
            raise failed(
                operation,
                "The provided tensors do not have the same dtype.",
                f"Lhs tensor dtype {first.dtype}, Rhs tensor dtype {other.dtype}.",
                hint=f"cast one of them: tensor.cast(DType.parse({first.dtype.name!r}))",
            )


def common_shape(operation: str, *shapes: tuple[int, ...]) -> None:
    """Refuse shapes without a common one; extents of 1 and missing leading axes are repeated.

    Raises:
        TensorError: two differ in an axis, counted in the longest.
    """
    for lhs, rhs in combinations(shapes, 2):
        axes = reversed(range(max(len(lhs), len(rhs))))
        found = [
            "The provided tensors have incompatible shapes. Incompatible size at dimension "
            f"'{axis}' => '{have} != {want}', which can't be broadcasted. "
            f"Lhs tensor shape {debug_shape(lhs)}, Rhs tensor shape {debug_shape(rhs)}."
            for axis, have, want in zip(axes, reversed(lhs), reversed(rhs), strict=False)
            if have != want and 1 not in (have, want)
        ]
        if found:
            raise TensorError(failures(operation, found[::-1]))


def debug_shape(shape: tuple[int, ...]) -> str:
    """A shape as Rust's `Debug` writes it."""
    return f"Shape {{ dims: {list(shape)} }}"


def check_matmul(lhs: AnyTensor, rhs: AnyTensor) -> None:
    """Refuse two tensors that are no matrices which can be multiplied, with all of Burn's reasons.

    Raises:
        TensorError: they are none.
    """
    rank = min(lhs.rank, rhs.rank)
    if rank < 2:
        raise no_matrices(lhs, rhs)
    found = []
    if lhs.shape[-1] != rhs.shape[-2]:
        sizes = f"{lhs.shape[-1]} and {rhs.shape[-2]}"
        found.append(f"The inner dimension of matmul should be the same, but got {sizes}.")
    for axis, (have, want) in enumerate(zip(lhs.shape[-rank:-2], rhs.shape[-rank:-2], strict=True)):
        if have != want and 1 not in (have, want):
            found.append(f"Tensors are not broadcastable along batch dimension {axis}: {have} and {want}.")
    if found:
        facts = f"Lhs shape {debug_shape(lhs.shape)}, rhs shape {debug_shape(rhs.shape)}."
        raise TensorError(failures("Matmul", [f"{reason} {facts}" for reason in found]))


def no_matrices(lhs: AnyTensor, rhs: AnyTensor) -> TensorError:
    """That one of two tensors has fewer than two axes."""
    rank = min(lhs.rank, rhs.rank)
    reason = f"Matmul requires tensors with at least 2 dimensions, but got {rank} dimension(s)."
    return failed("Matmul", reason)


def unlike_factors(operation: str, lhs: AnyTensor, rhs: AnyTensor) -> TensorError:
    """That two matrices have different dtypes, with Burn's text: nothing is promoted."""
    return TensorError(
        f"assertion `left == right` failed: {operation}: dtype mismatch\n"
        f"  left: {lhs.dtype}\n right: {rhs.dtype}",
        hint=f"cast one of them: tensor.cast(DType.parse({lhs.dtype.name!r}))",
    )


def no_extreme(name: str, axis: int | None, state: GradState, clause: str | None = None) -> TensorError:
    """That nothing has no greatest element: Burn looks for it along an axis when the tensor has a context."""
    if axis is None and state is GradState.PLAIN:
        return TensorError(f"{name}: cannot reduce an empty tensor", clause=clause)
    tracked = state in (GradState.LEAF, GradState.NON_LEAF)
    how = f"{name}_dim_with_indices" if tracked else f"{name}_dim"
    return TensorError(f"{how}: dimension {axis or 0} has size 0", clause=clause)
