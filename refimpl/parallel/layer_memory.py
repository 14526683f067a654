"""How many bytes the layers of a model hold, and how many a device can."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias, TypeVar

from ..errors import ArgumentTypeError, CapacityOverflowError, InvalidArgumentError
from ..tensor.device import Device
from .memory import U64_MAX

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class AfterHidden:
    """The bytes of an output layer that runs on the device after the last hidden layer's run.

    Burn: burn_core::module::parallel::OutputMemory::AfterHidden
    Clauses: PLC-5.
    """

    bytes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", u64("the output layer's bytes", self.bytes))

    def __repr__(self) -> str:
        return f"AfterHidden({self.bytes})"


@dataclass(frozen=True, slots=True, repr=False)
class WithInput:
    """The bytes of an output layer that runs on the input layer's device, as one with shared weights must.

    Bytes that the two share are counted once: give 0, or what the output layer holds besides.

    Burn: burn_core::module::parallel::OutputMemory::WithInput
    Clauses: PLC-5.
    """

    bytes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", u64("the output layer's bytes", self.bytes))

    def __repr__(self) -> str:
        return f"WithInput({self.bytes})"


OutputMemory: TypeAlias = AfterHidden | WithInput


@dataclass(frozen=True, slots=True, repr=False)
class LayerMemory:
    """How many bytes each layer of a model holds on its device.

    Burn: burn_core::module::parallel::LayerMemory
    Clauses: PLC-5.
    """

    input: int
    hidden: tuple[int, ...]
    output: OutputMemory

    def __post_init__(self) -> None:
        object.__setattr__(self, "input", u64("the input layer's bytes", self.input))
        hidden = several("the hidden layers' bytes", self.hidden)
        object.__setattr__(self, "hidden", tuple(u64("a hidden layer's bytes", size) for size in hidden))
        if not isinstance(self.output, AfterHidden | WithInput):
            raise ArgumentTypeError(
                f"the output layer's bytes are AfterHidden(n) or WithInput(n), got {self.output!r}",
                clause="PLC-5",
            )

    def in_fill_order(self) -> tuple[int, ...]:
        """Each layer's bytes in the order they fill devices; an output with the input counts there.

        Raises:
            CapacityOverflowError: input and output together are more than 64 bits.

        Clauses: PLC-6, PLC-12.
        """
        if isinstance(self.output, AfterHidden):
            return (self.input, *self.hidden, self.output.bytes)
        both = self.input + self.output.bytes
        if both > U64_MAX:
            raise CapacityOverflowError(
                f"the input layer and the output layer with it hold {both} bytes, more than 2^64-1",
                clause="PLC-12",
            )
        return (both, *self.hidden)

    def __repr__(self) -> str:
        return f"LayerMemory {{ input: {self.input}, hidden: {list(self.hidden)}, output: {self.output} }}"


@dataclass(frozen=True, slots=True, repr=False)
class DeviceMemory:
    """A device and how many bytes it can hold.

    Burn: burn_core::module::parallel::DeviceMemory
    Clauses: PLC-5.
    """

    device: Device
    capacity: int

    def __post_init__(self) -> None:
        check_device(self.device)
        object.__setattr__(self, "capacity", u64("capacity", self.capacity))

    def __repr__(self) -> str:
        return f"DeviceMemory {{ device: {self.device}, capacity: {self.capacity} }}"


def check_device(device: object) -> None:
    """Refuse what is no device."""
    if not isinstance(device, Device):
        raise ArgumentTypeError(
            f"a placement is made of Device values, got {device!r}",
            clause="PLC-1",
            hint='Device.parse("sim:0")',
        )


def several(what: str, values: Iterable[T]) -> tuple[T, ...]:
    """`values` as a tuple."""
    if not isinstance(values, Iterable):
        raise ArgumentTypeError(f"{what} are several, one after the other, got {values!r}", clause="PLC-1")
    return tuple(values)


def u64(what: str, value: SupportsIndex) -> int:
    """`value` as the unsigned 64-bit integer it is in Burn."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentError(f"{what} is an integer, got {value!r}", clause="PLC-5")
    number = operator.index(value)
    if not 0 <= number <= U64_MAX:
        raise InvalidArgumentError(f"{what} is from 0 to 2^64-1, got {number}", clause="PLC-5")
    return number
