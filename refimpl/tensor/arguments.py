"""What the arguments of a call on tensors must be, whatever the tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import ArgumentTypeError, InvalidArgumentError, TensorError
from .device import Device
from .dtype import DType


def failed(operation: str, reason: str, details: str = "", hint: str | None = None) -> TensorError:
    """The error of an operation whose operands do not fit, with Burn's text."""
    return TensorError(failure(operation, reason, details), hint=hint)


def failure(operation: str, reason: str, details: str = "") -> str:
    """Burn's text of a failed check of an operation."""
    return failures(operation, [f"{reason} {details}" if details else reason])


def failures(operation: str, reasons: Sequence[str]) -> str:
    """Burn's text of an operation of which several checks failed."""
    numbered = "".join(f"    {number}. {reason} \n" for number, reason in enumerate(reasons, 1))
    return f"=== Tensor Operation Error ===\n  Operation: '{operation}'\n  Reason:\n{numbered}"


def as_int(value: object, what: str) -> int:
    """`value` as an integer; NumPy's integers are integers too.

    Raises:
        ArgumentTypeError: it is none.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise ArgumentTypeError(f"{what} is an integer, got {value!r}")


def as_ints(values: object, what: str) -> list[int]:
    """`values` as integers, one of them or several.

    Raises:
        ArgumentTypeError: one is no integer.
    """
    if isinstance(values, (dict, set, frozenset, bytes, bytearray)):
        raise ArgumentTypeError(
            f"{what} is one of several integers in order, not of {values!r}", hint="[2, 3]"
        )
    return [as_int(value, what) for value in (values if isinstance(values, Iterable) else [values])]


def check_bool(value: object, what: str, clause: str | None = None) -> None:
    """Refuse what is neither True nor False, though Python would take it for one of them.

    Raises:
        ArgumentTypeError: it is neither.
    """
    if value is not True and value is not False:
        raise ArgumentTypeError(f"{what} is True or False, got {value!r}", clause=clause)


def check_device(device: object) -> None:
    """Refuse what is no device.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not isinstance(device, Device):
        raise ArgumentTypeError(
            f"a device is a Device, got {device!r}",
            clause="DEV-1",
            hint='Device("sim", 0), Device.parse("sim:0")',
        )


def check_dtype(dtype: object) -> DType:
    """`dtype`, if it is one.

    Raises:
        ArgumentTypeError: it is none.
    """
    if isinstance(dtype, DType):
        return dtype
    raise ArgumentTypeError(
        f"a dtype is a DType, got {dtype!r}", clause="BPK-7", hint='DType.F32, or DType.of("float32")'
    )


def as_shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    """`shape` as a tuple of extents.

    Raises:
        ArgumentTypeError: an extent is no integer.
        InvalidArgumentError: one is negative.
    """
    dims = as_ints(shape, "an extent of a shape")
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"the extents of a shape are at least 0, got {dims}")
    return tuple(dims)


def as_dim(dim: int, rank: int, operation: str) -> int:
    """The axis `dim`, counted from the end when negative.

    Raises:
        TensorError: there is no such axis.
    """
    axis = as_int(dim, "an axis")
    if not -rank <= axis < rank:
        raise failed(operation, f"BoundsError: dimension {axis} out of bounds: 0..{rank}")
    return axis % rank


def no_second_axis() -> TensorError:
    """Burn counts back from the one axis, past 0."""
    return TensorError(
        f"index out of bounds: the len is 1 but the index is {2**64 - 1}",
        hint="a tensor of one axis has no two to exchange",
    )
