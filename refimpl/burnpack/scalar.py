"""Typed scalars stored beside the tensors."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from ..errors import ArgumentTypeError, InvalidArgumentError

_I64: Final = (-(1 << 63), (1 << 63) - 1)
_U64: Final = (0, (1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class IntScalar:
    """A signed integer of 64 bits."""

    value: int

    def __post_init__(self) -> None:
        _check_integer("Int", self.value, _I64)


@dataclass(frozen=True, slots=True)
class UIntScalar:
    """An unsigned integer of 64 bits."""

    value: int

    def __post_init__(self) -> None:
        _check_integer("UInt", self.value, _U64)


@dataclass(frozen=True, slots=True)
class BoolScalar:
    """A boolean."""

    value: bool

    def __post_init__(self) -> None:
        if not isinstance(self.value, bool):
            raise ArgumentTypeError(f"a Bool scalar holds a bool, got {self.value!r}", clause="BPK-8")


@dataclass(frozen=True, slots=True, eq=False)
class FloatScalar:
    """A float of 64 bits; two are equal when their bits are."""

    value: float

    def __post_init__(self) -> None:
        if not isinstance(self.value, float):
            raise ArgumentTypeError(f"a Float scalar holds a float, got {self.value!r}", clause="BPK-8")

    @property
    def bits(self) -> int:
        """The bits of the float."""
        return int.from_bytes(struct.pack(">d", self.value), "big")

    def __eq__(self, other: object) -> bool:
        return self.bits == other.bits if isinstance(other, FloatScalar) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.bits)


Scalar = IntScalar | UIntScalar | FloatScalar | BoolScalar


def scalar(value: Scalar | bool | float) -> Scalar:
    """The scalar that a plain Python value becomes, as Burn's conversions from i64, u64, f64 and bool.

    An integer is an `Int` where that fits and a `UInt` where only that does.

    >>> scalar(5), scalar(2**64 - 1), scalar(True)
    (IntScalar(value=5), UIntScalar(value=18446744073709551615), BoolScalar(value=True))

    Raises:
        InvalidArgumentError: an integer that 64 bits do not hold.
        ArgumentTypeError: another type.

    Burn: burn_pack::Scalar
    Clauses: BPK-8, BPK-9.
    """
    if isinstance(value, (IntScalar, UIntScalar, FloatScalar, BoolScalar)):
        return value
    if isinstance(value, bool):
        return BoolScalar(value)
    if isinstance(value, int):
        return UIntScalar(int(value)) if value > _I64[1] else IntScalar(int(value))
    if isinstance(value, float):
        return FloatScalar(float(value))
    raise ArgumentTypeError(
        f"a scalar is a bool, an int or a float, got {type(value).__name__}", clause="BPK-8"
    )


def scalar_int(found: Scalar, *, bits: int = 64, signed: bool = True) -> int:
    """The integer that `found` holds, where one of that many bits can.

    Raises:
        InvalidArgumentError: it holds no integer, or one out of range.

    Burn: burn_pack::Scalar, TryFrom for the integers
    Clauses: BPK-9.
    """
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not isinstance(found, (IntScalar, UIntScalar)) or not low <= found.value <= high:
        raise _misfit()
    return found.value


def scalar_float(found: Scalar) -> float:
    """The float nearest to the number that `found` holds; only a bool is refused.

    Burn: burn_pack::Scalar, TryFrom for f64
    Clauses: BPK-9.
    """
    if isinstance(found, BoolScalar):
        raise _misfit()
    return float(found.value)


def scalar_bool(found: Scalar) -> bool:
    """The bool that `found` holds.

    Burn: burn_pack::Scalar, TryFrom for bool
    Clauses: BPK-9.
    """
    if not isinstance(found, BoolScalar):
        raise _misfit()
    return found.value


def _misfit() -> InvalidArgumentError:
    return InvalidArgumentError("scalar value does not fit the requested type", clause="BPK-9")


def _check_integer(kind: str, value: object, bounds: tuple[int, int]) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"a scalar of kind {kind} holds an integer, got {value!r}", clause="BPK-8")
    if not bounds[0] <= value <= bounds[1]:
        raise InvalidArgumentError(
            f"a scalar of kind {kind} is from {bounds[0]} to {bounds[1]}, got {value}", clause="BPK-8"
        )
