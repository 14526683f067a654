"""What traverses a module tree, and what a node of one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from ..errors import ArgumentTypeError, PanicError
from ..tensor.device import Device
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .flag import Flag

if TYPE_CHECKING:
    from .param import Param
    from .param_id import ParamId


class ModuleVisitor:
    """Reads parameters in traversal order; every method does nothing unless overridden.

    Burn: burn_core::module::ModuleVisitor
    Clauses: MOD-2, MOD-3, MOD-4, MOD-5, MOD-6.
    """

    __slots__ = ("__dict__",)

    def visit_float(self, param: Param[Tensor]) -> None:
        """Called with each float parameter, running states included."""

    def visit_int(self, param: Param[IntTensor]) -> None:
        """Called with each int parameter."""

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        """Called with each bool parameter."""

    def visit_flag(self, flag: Param[Flag]) -> None:
        """Called with each flag."""

    def enter_module(self, name: str, container_type: str) -> None:
        """Called before the child `name` of a container such as `Struct:Linear`, `Vec` or `Enum:Pool`."""

    def exit_module(self, name: str, container_type: str) -> None:
        """Called after the child, with the same arguments."""

    def visit_float_with_path(self, path: tuple[str, ...], id: ParamId, tensor: Tensor) -> None:
        """For drivers outside: no traversal calls it (MOD-3)."""

    def visit_int_with_path(self, path: tuple[str, ...], id: ParamId, tensor: IntTensor) -> None:
        """For drivers outside: no traversal calls it (MOD-3)."""

    def visit_bool_with_path(self, path: tuple[str, ...], id: ParamId, tensor: BoolTensor) -> None:
        """For drivers outside: no traversal calls it (MOD-3)."""


class ParamIdLister(ModuleVisitor):
    """The ids of float, int and bool parameters in traversal order, doubles kept, flags left out."""

    def __init__(self) -> None:
        self.ids: list[ParamId] = []

    def visit_float(self, param: Param[Tensor]) -> None:
        """Keep its id."""
        self.ids.append(param.id)

    def visit_int(self, param: Param[IntTensor]) -> None:
        """Keep its id."""
        self.ids.append(param.id)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        """Keep its id."""
        self.ids.append(param.id)


class ModuleMapper:
    """Rewrites parameters in traversal order; every `map_*` returns its argument unless overridden.

    Burn: burn_core::module::ModuleMapper
    Clauses: MOD-2, MOD-7.
    """

    __slots__ = ("__dict__",)

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """The float parameter that takes the place of `param`."""
        return param

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        """The int parameter that takes the place of `param`."""
        return param

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        """The bool parameter that takes the place of `param`."""
        return param

    def map_flag(self, flag: Param[Flag]) -> Param[Flag]:
        """The flag that takes the place of `flag`."""
        return flag

    def enter_module(self, name: str, container_type: str) -> None:
        """Called before the child `name` of a container."""

    def exit_module(self, name: str, container_type: str) -> None:
        """Called after the child, with the same arguments."""


class _PathKeeper:
    """The names entered and not left: the path of the event that happens now (MOD-4)."""

    __slots__ = ("_names",)

    _names: list[str]

    def __new__(cls, *args: object, **options: object) -> Self:  # noqa: ARG004
        """An object that knows its path even where a subclass forgets `super().__init__()`."""
        made = super().__new__(cls)
        made._names = []
        return made

    @property
    def path(self) -> str:
        """The dotted path of the current parameter; empty for a parameter that is itself the root."""
        return ".".join(self._names)

    def enter_module(self, name: str, container_type: str) -> None:  # noqa: ARG002
        """Push `name`."""
        self._names.append(name)

    def exit_module(self, name: str, container_type: str) -> None:  # noqa: ARG002
        """Pop it.

        Raises:
            PanicError: a subclass enters without `super().enter_module(...)`.
        """
        try:
            self._names.pop()
        except IndexError:
            raise PanicError(
                f"{type(self).__name__} leaves {name!r}, which it never entered",
                clause="MOD-4",
                hint="an `enter_module` of its own calls `super().enter_module(name, container_type)`",
            ) from None


class PathVisitor(_PathKeeper, ModuleVisitor):
    """A visitor that knows where it is: `self.path`."""

    __slots__ = ()


class PathMapper(_PathKeeper, ModuleMapper):
    """A mapper that knows where it is: `self.path`."""

    __slots__ = ()


class ModuleNode(ABC):
    """A node of a module tree: what Burn's `Module` trait requires of a type.

    `visit`, `collect_devices`, `num_params` and `valid` read; every other method gives the node that
    takes this one's place.

    Burn: burn_core::module::Module
    Clauses: MOD-1.
    """

    __slots__ = ()

    @abstractmethod
    def visit(self, visitor: ModuleVisitor) -> None:
        """Show every parameter to `visitor`."""

    @abstractmethod
    def map(self, mapper: ModuleMapper) -> Self:
        """This node with every parameter that `mapper` gives; itself when nothing changed."""

    @abstractmethod
    def collect_devices(self, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """`devices`, and those of this node that are not among them yet (MOD-40)."""

    @abstractmethod
    def to_device(self, device: Device) -> Self:
        """This node on `device`: a recorded move (MOD-53)."""

    @abstractmethod
    def fork(self, device: Device) -> Self:
        """This node on `device` as new leaves (MOD-53)."""

    @abstractmethod
    def valid(self) -> Self:
        """This node for validation: plain tensors, flags off (MOD-48)."""

    @abstractmethod
    def train(self) -> Self:
        """This node for training, as it is configured (MOD-49)."""

    @abstractmethod
    def materialize(self) -> Self:
        """This node with every reparameterization folded into its weight (MOD-52)."""

    @abstractmethod
    def clone(self) -> Self:
        """This node again; lazy parameters share their initialisation, running states their value."""

    def devices(self) -> tuple[Device, ...]:
        """The devices of this node, in order of first occurrence."""
        return self.collect_devices(())

    def num_params(self) -> int:
        """How many float elements the node holds; nothing is initialised (MOD-35)."""
        counter = ParamCounter()
        self.visit(counter)
        return counter.count


class ParamCounter(ModuleVisitor):
    """Counts the elements of float parameters; nothing is initialised (MOD-35, MOD-36)."""

    def __init__(self) -> None:
        self.count = 0

    def visit_float(self, param: Param[Tensor]) -> None:
        """Count one parameter."""
        elements = 1
        for extent in param.lazy_shape():
            elements *= extent
        self.count += elements


def no_visitor(wanted: str, given: object) -> ArgumentTypeError:
    """The error for a traversal by something that is no visitor or mapper."""
    return ArgumentTypeError(
        f"a module is walked by a {wanted}, got {given!r}",
        clause="MOD-2",
        hint=f"make a subclass of {wanted}, and give an instance of it",
    )
