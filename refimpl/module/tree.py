"""Any form of value as the root of a module tree."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from ..param.traversal import ModuleMapper, ModuleVisitor
from ..tensor.device import Device
from .display import DisplaySettings, debug_form, render
from .fields import form
from .module import CLONE, MATERIALIZE, TRAIN, VALID
from .trait import ModuleTrait
from .walk import Devices, Operation, ShareRepeats, form_of

T = TypeVar("T")


class Tree(ModuleTrait, Generic[T]):
    """A parameter, tensor, tuple or constant that stands alone, with everything a module can do.

    The root adds nothing to paths: a bare parameter has the empty path, the first element of a tuple `0`.
    Without `hint` a tuple is a list; with it the value is what the annotation says, as a field's is.

    >>> Tree((1, 2)).num_params()
    0
    >>> print(Tree((1, 2), tuple[int, int]))
    (L0, L1) {
      0: 1
      1: 2
    }

    Raises:
        ArgumentTypeError: `value` is nothing that a module may hold, or not what `hint` says.
        ModuleDefinitionError: `hint` is nothing that a module may hold.

    Burn: Module for Param, Vec, ...
    Clauses: MOD-11.
    """

    def __init__(self, value: T, hint: Any = None) -> None:
        self._form = form_of(value) if hint is None else form("the root", hint)
        self._form.check(value, "the root")
        self._value = value
        self.visit(ShareRepeats())

    @property
    def value(self) -> T:
        """What stands at the root."""
        return self._value

    def visit(self, visitor: ModuleVisitor) -> None:
        """The events of the value."""
        self._form.visit(self._value, visitor)

    def map(self, mapper: ModuleMapper) -> Self:
        """The tree with its parameters mapped."""
        return self._with(self._form.map(self._value, mapper))

    def collect_devices(self, devices: Devices) -> Devices:
        """`devices`, and those of the value that are not among them yet."""
        return self._form.collect_devices(self._value, devices)

    def num_params(self) -> int:
        """The count of the value."""
        return self._form.num_params(self._value)

    def to_device(self, device: Device) -> Self:
        """The tree on `device`."""
        return self._rebuild(
            Operation(lambda node: node.to_device(device), lambda tensor: tensor.to_device(device))
        )

    def fork(self, device: Device) -> Self:
        """The tree on `device` as new leaves."""
        return self._rebuild(
            Operation(lambda node: node.fork(device), lambda tensor: tensor.to_device(device))
        )

    def valid(self) -> Self:
        """The tree for validation."""
        return self._rebuild(VALID)

    def train(self) -> Self:
        """The tree for training."""
        return self._rebuild(TRAIN)

    def materialize(self) -> Self:
        """The tree with every reparameterization folded in."""
        return self._rebuild(MATERIALIZE)

    def clone(self) -> Self:
        """The tree again."""
        return self._rebuild(CLONE)

    def format(self, settings: DisplaySettings | None = None) -> str:
        """The value as text."""
        given = DisplaySettings() if settings is None else settings
        return render(self._form, self._value, given)

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        return debug_form(self._form, self._value)

    def _rebuild(self, operation: Operation) -> Self:
        return self._with(self._form.rebuild(self._value, operation))

    def _with(self, value: Any) -> Self:
        if value is self._value:
            return self
        made = object.__new__(type(self))
        made._form, made._value = self._form, value
        return made
