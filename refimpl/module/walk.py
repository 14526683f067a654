"""The one traversal: how each form of value that a field may hold is walked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..errors import ArgumentTypeError
from ..param.param import Param
from ..param.traversal import ModuleMapper, ModuleNode, ModuleVisitor, ParamCounter
from ..tensor.device import Device
from ..tensor.tensor import BoolTensor, IntTensor, Tensor

#: A tensor held bare, without a parameter around it (PAR-66).
PlainTensor = Tensor | IntTensor | BoolTensor
Devices = tuple[Device, ...]
TENSOR_KINDS: Final = (Tensor, IntTensor, BoolTensor)
CONSTANT_KINDS: Final = (bool, int, float, str)


class Operation(NamedTuple):
    """What an operation without events does with a node, and what with a tensor held bare."""

    on_node: Callable[[Any], Any]
    on_tensor: Callable[[Any], Any]


class Form(ABC):
    """A form of value: how it is visited, mapped, rebuilt, counted and checked.

    `map` and `rebuild` return the very value they got when nothing below it changed.

    Clauses: MOD-12, MOD-13, MOD-15.
    """

    @abstractmethod
    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """Show the parameters of `value`, with the events of its containers."""

    @abstractmethod
    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """`value` with its parameters mapped, with the same events."""

    @abstractmethod
    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """`devices`, and those of `value` that are not among them yet (MOD-40)."""

    @abstractmethod
    def rebuild(self, value: Any, operation: Operation) -> Any:
        """`value` with every node and tensor replaced by what `operation` gives, without events."""

    @abstractmethod
    def num_params(self, value: Any) -> int:
        """How many float elements `value` counts (MOD-39)."""

    @abstractmethod
    def check(self, value: Any, where: str) -> None:
        """Refuse a value that has another form than the field declares."""


class Node(Form):
    """A value that walks itself: a module, a parameter, a running state."""

    def __init__(self, *kinds: type[Any], holds: type[Any] | None = None) -> None:
        self.kinds = kinds or (ModuleNode,)
        self.holds = holds

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """The node's own events."""
        value.visit(visitor)

    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """What the node's own `map` gives."""
        return value.map(mapper)

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With the node's own."""
        found: Devices = value.collect_devices(devices)
        return found

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """What takes the node's place."""
        return operation.on_node(value)

    def num_params(self, value: Any) -> int:
        """The node's own count."""
        count: int = value.num_params()
        return count

    def check(self, value: Any, where: str) -> None:
        """The declared class, and for a parameter the declared kind of value."""
        if not isinstance(value, self.kinds):
            hint = "write a tuple: modules are values" if isinstance(value, (list, dict, set)) else None
            raise _unfit(where, " or ".join(k.__name__ for k in self.kinds), value, hint)
        if self.holds is not None and isinstance(value, Param) and value.kind is not self.holds:
            raise _unfit(where, f"Param[{self.holds.__name__}]", f"Param[{value.kind.__name__}]", None)


class Bare(Form):
    """A tensor without a parameter: it moves, and changes its context, and is in no event (PAR-66)."""

    def __init__(self, *kinds: type[Any]) -> None:
        self.kinds = kinds or TENSOR_KINDS

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """Nothing."""

    def map(self, value: Any, mapper: ModuleMapper) -> Any:  # noqa: ARG002
        """The tensor itself."""
        return value

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With the tensor's device."""
        return devices if value.device in devices else (*devices, value.device)

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """What takes the tensor's place."""
        return operation.on_tensor(value)

    def num_params(self, value: Any) -> int:  # noqa: ARG002
        """None: bare tensors are no parameters (MOD-36)."""
        return 0

    def check(self, value: Any, where: str) -> None:
        """The declared class of tensor."""
        if not isinstance(value, self.kinds):
            raise _unfit(where, " or ".join(k.__name__ for k in self.kinds), value, None)


class Constant(Form):
    """A number, a text or a boolean that stands where a module could: an empty module (MOD-24, MOD-33)."""

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """Nothing."""

    def map(self, value: Any, mapper: ModuleMapper) -> Any:  # noqa: ARG002
        """The constant itself."""
        return value

    def collect_devices(self, value: Any, devices: Devices) -> Devices:  # noqa: ARG002
        """None to add."""
        return devices

    def rebuild(self, value: Any, operation: Operation) -> Any:  # noqa: ARG002
        """The constant itself."""
        return value

    def num_params(self, value: Any) -> int:  # noqa: ARG002
        """None."""
        return 0

    def check(self, value: Any, where: str) -> None:
        """One of the four kinds of constant."""
        if not isinstance(value, CONSTANT_KINDS):
            raise _unfit(where, "a bool, int, float or str", value, None)


@dataclass(frozen=True)
class Optional(Form):
    """`X | None`: transparent when there is an X, nothing when there is none (MOD-12)."""

    inner: Form

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """The events of the value itself."""
        if value is not None:
            self.inner.visit(value, visitor)

    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """The mapped value; None stays None."""
        return None if value is None else self.inner.map(value, mapper)

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With those of the value, if there is one."""
        return devices if value is None else self.inner.collect_devices(value, devices)

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """The rebuilt value; None stays None."""
        return None if value is None else self.inner.rebuild(value, operation)

    def num_params(self, value: Any) -> int:
        """A count by visiting: an overridden `num_params` below is not asked (MOD-39)."""
        return 0 if value is None else counted(self, value)

    def check(self, value: Any, where: str) -> None:
        """None, or the inner form."""
        if value is not None:
            self.inner.check(value, where)


@dataclass(frozen=True)
class Sequence(Form):
    """`tuple[X, ...]`: Rust's `Vec`, or its array where the field says so (MOD-13)."""

    inner: Form
    container: str = "Vec"

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """Each element between its index."""
        enter, leave, inner, container = visitor.enter_module, visitor.exit_module, self.inner, self.container
        nodes = type(inner) is Node  # asked themselves: one call less an element
        for index, item in enumerate(value):
            name = str(index)
            enter(name, container)
            if nodes:
                item.visit(visitor)
            else:
                inner.visit(item, visitor)
            leave(name, container)

    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """Each element mapped between its index."""
        items = []
        for index, item in enumerate(value):
            name = str(index)
            mapper.enter_module(name, self.container)
            items.append(self.inner.map(item, mapper))
            mapper.exit_module(name, self.container)
        return _same_or_new(value, items)

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With those of each element."""
        for item in value:
            devices = self.inner.collect_devices(item, devices)
        return devices

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """Each element rebuilt."""
        return _same_or_new(value, [self.inner.rebuild(item, operation) for item in value])

    def num_params(self, value: Any) -> int:
        """The sum over the elements."""
        return sum(self.inner.num_params(item) for item in value)

    def check(self, value: Any, where: str) -> None:
        """A tuple of the inner form."""
        if type(value) is not tuple:
            raise _unfit(where, "a tuple", value, "write a tuple: modules are values")
        for index, item in enumerate(value):
            self.inner.check(item, f"{where}.{index}")


@dataclass(frozen=True)
class Tuple(Form):
    """`tuple[A, B]`: from two to ten elements, each of its own form (MOD-13, MOD-14, MOD-25)."""

    inners: tuple[Form, ...]

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """Each element between its index, constants too."""
        for index, (item, inner) in enumerate(zip(value, self.inners, strict=True)):
            name = str(index)
            visitor.enter_module(name, "Tuple")
            inner.visit(item, visitor)
            visitor.exit_module(name, "Tuple")

    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """Each element mapped between its index."""
        items = []
        for index, (item, inner) in enumerate(zip(value, self.inners, strict=True)):
            name = str(index)
            mapper.enter_module(name, "Tuple")
            items.append(inner.map(item, mapper))
            mapper.exit_module(name, "Tuple")
        return _same_or_new(value, items)

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With those of each element."""
        for item, inner in zip(value, self.inners, strict=True):
            devices = inner.collect_devices(item, devices)
        return devices

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """Each element rebuilt."""
        items = [inner.rebuild(item, operation) for item, inner in zip(value, self.inners, strict=True)]
        return _same_or_new(value, items)

    def num_params(self, value: Any) -> int:
        """A count by visiting: an overridden `num_params` below is not asked (MOD-39)."""
        return counted(self, value)

    def check(self, value: Any, where: str) -> None:
        """A tuple of just these forms."""
        if type(value) is not tuple or len(value) != len(self.inners):
            raise _unfit(where, f"a tuple of {len(self.inners)}", value, "write a tuple: modules are values")
        for index, (item, inner) in enumerate(zip(value, self.inners, strict=True)):
            inner.check(item, f"{where}.{index}")


class Dynamic(Form):
    """A field declared as a type variable: walked as the value it holds (MOD-24)."""

    def visit(self, value: Any, visitor: ModuleVisitor) -> None:
        """The events of the form that the value has."""
        form_of(value).visit(value, visitor)

    def map(self, value: Any, mapper: ModuleMapper) -> Any:
        """The value mapped in the form that it has."""
        return form_of(value).map(value, mapper)

    def collect_devices(self, value: Any, devices: Devices) -> Devices:
        """With those of the form that the value has."""
        return form_of(value).collect_devices(value, devices)

    def rebuild(self, value: Any, operation: Operation) -> Any:
        """The value rebuilt in the form that it has."""
        return form_of(value).rebuild(value, operation)

    def num_params(self, value: Any) -> int:
        """The count of the form that the value has."""
        return form_of(value).num_params(value)

    def check(self, value: Any, where: str) -> None:
        """Any form that a module may have."""
        try:
            form_of(value).check(value, where)
        except ArgumentTypeError as error:
            raise _unfit(where, "a module, a tensor or a constant", value, error.hint) from None


NODE: Final = Node()
BARE: Final = Bare()
CONSTANT: Final = Constant()
DYNAMIC: Final = Dynamic()
_EMPTY: Final = Optional(CONSTANT)
_LIST: Final = Sequence(DYNAMIC)


def form_of(value: Any) -> Form:
    """The form of a value whose declaration says nothing: a tuple is a `Vec`.

    Raises:
        ArgumentTypeError: it is nothing that a module may hold.
    """
    if isinstance(value, TENSOR_KINDS):  # the usual signal between layers; an abstract class takes longer
        return BARE
    if isinstance(value, ModuleNode):
        return NODE
    if isinstance(value, CONSTANT_KINDS):
        return CONSTANT
    if value is None:
        return _EMPTY
    if type(value) is tuple:
        return _LIST
    raise _unfit(
        "this value",
        "a module, a tensor or a constant",
        value,
        "write a tuple: modules are values" if isinstance(value, (list, dict, set)) else None,
    )


def counted(form: Form, value: Any) -> int:
    """The elements of the float parameters that visiting `value` shows (MOD-35, MOD-36)."""
    counter = ParamCounter()
    form.visit(value, counter)
    return counter.count


class ShareRepeats(ModuleVisitor):
    """Counts a parameter that it meets twice, and that is not initialised, as shared: as a clone would be.

    Clauses: PAR-52, MOD-10.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def visit_float(self, param: Param[Any]) -> None:
        """Look at the cell of `param`."""
        param.share_if_in(self._seen)

    visit_int = visit_bool = visit_float


def _same_or_new(old: Any, items: list[Any]) -> Any:
    return old if all(new is item for new, item in zip(items, old, strict=True)) else tuple(items)


def _unfit(where: str, wanted: str, value: Any, hint: str | None) -> ArgumentTypeError:
    got = value if isinstance(value, str) and value.startswith("Param[") else type(value).__name__
    return ArgumentTypeError(f"{where} must be {wanted}, got {got}", clause="MOD-23", hint=hint)
