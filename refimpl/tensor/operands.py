"""How the operands of one operation must agree: hardware, context, kind, dtype, shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import ArgumentTypeError, DeviceMismatchError
from . import gradient
from .arguments import failed, failure
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
        if other.dtype is not first.dtype and other.dtype != first.dtype:
            raise failed(
                operation,
                "The provided tensors do not have the same dtype.",
                f"Lhs tensor dtype {first.dtype}, Rhs tensor dtype {other.dtype}.",
                hint=f"cast one of them: tensor.cast(DType.parse({first.dtype.name!r}))",
            )


def common_shape(operation: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape; extents of 1 and missing leading axes are repeated."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = list(padded[0])
    for other in padded[1:]:
        for axis, (have, want) in enumerate(zip(result, other, strict=True)):
            if have != want and 1 not in (have, want):
                raise failed(
                    operation,
                    "The provided tensors have incompatible shapes.",
                    f"Incompatible size at dimension '{axis}' => '{have} != {want}', which can't be "
                    f"broadcasted. Lhs tensor shape {debug_shape(shapes[0])}, "
                    f"Rhs tensor shape {debug_shape(shapes[1])}.",
                )
            result[axis] = want if have == 1 else have
    return tuple(result)


def debug_shape(shape: tuple[int, ...]) -> str:
    """A shape as Rust's `Debug` writes it."""
    return f"Shape {{ dims: {list(shape)} }}"


def refuse_matmul(lhs: AnyTensor, rhs: AnyTensor) -> NoReturn:
    """Say why two tensors are no matrices that can be multiplied.

    Raises:
        TensorError: always.
    """
    rank = min(lhs.rank, rhs.rank)
    if rank < 2:
        raise failed(
            "Matmul", f"Matmul requires tensors with at least 2 dimensions, but got {rank} dimension(s)."
        )
    if lhs.shape[-1] != rhs.shape[-2]:
        raise failed(
            "Matmul",
            f"The inner dimension of matmul should be the same, but got {lhs.shape[-1]} and {rhs.shape[-2]}.",
            f"Lhs shape {debug_shape(lhs.shape)}, rhs shape {debug_shape(rhs.shape)}.",
        )
    common_shape("Matmul", lhs.shape[:-2], rhs.shape[:-2])
    raise failed("Matmul", f"The shapes {list(lhs.shape)} and {list(rhs.shape)} do not fit.")
