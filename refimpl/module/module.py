"""Modules: classes whose annotated fields are traversed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import (
    Any,
    ClassVar,
    Final,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import ArgumentTypeError, ModuleDefinitionError
from ..param.traversal import ModuleMapper, ModuleVisitor, no_visitor
from ..tensor.device import Device
from .definition import refuse_names, refuse_shared_nodes, wrap_init
from .display import Content, DisplaySettings, debug_struct, format_module
from .fields import Field, Role, field, form
from .trait import ModuleTrait
from .walk import NODE, Devices, Form, Node, Operation, ShareRepeats

VALID = Operation(lambda node: node.valid(), lambda tensor: tensor.inner())
TRAIN = Operation(lambda node: node.train(), lambda tensor: tensor.autodiff())
MATERIALIZE = Operation(lambda node: node.materialize(), lambda tensor: tensor)
CLONE = Operation(lambda node: node.clone(), lambda tensor: tensor)


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
class Module(ModuleTrait):
    """The base of modules: a subclass becomes a frozen, keyword-only dataclass.

    Fields are traversed in the order they are written. A field is a module, a parameter, a tensor or a
    running state; one of those in `X | None`, `tuple[X, ...]` or `tuple[X, Y]`; a constant (`bool`, `int`,
    `float`, `str` and containers of them); or anything at all in `Skip[...]`.

    >>> class Linear(Module):
    ...     weight: Param[Tensor]
    ...     bias: Param[Tensor] | None

    Raises:
        ModuleDefinitionError: a field is none of these; at the definition if every name resolves then,
            otherwise when the first instance is made. Also a parameter or a module that is an attribute of
            the class: without an annotation it would be no field, as a default all instances would share it.
        ArgumentTypeError: the constructor is called without names, or with others than those of the fields.

    Burn: #[derive(Module)]
    Clauses: MOD-18, MOD-19, MOD-20, MOD-29, MOD-30, MOD-31, MOD-32.
    """

    _fields: ClassVar[tuple[Field, ...] | None] = None
    #: name in events, name of the attribute, container type, form
    _table: ClassVar[tuple[tuple[str, str, str, Form], ...]] = ()
    _scope: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_init = "__init__" in vars(cls)
        try:
            dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
        except SyntaxError as error:  # of a class that `type(...)` made
            raise ModuleDefinitionError(
                f"{cls.__name__}: a field has a name that no class statement can have", clause="MOD-18"
            ) from error
        except (TypeError, ValueError) as error:
            raise ModuleDefinitionError(f"{cls.__name__}: {error}", clause="MOD-18") from error
        refuse_names(cls, Module)
        refuse_shared_nodes(cls)
        cls._fields, cls._table = None, ()
        cls._scope = _defining_locals()
        wrap_init(cls, complete, own=own_init)
        try:
            cls._resolve()
        except NameError:  # a class that is defined later: looked up when the first instance is made
            return

    @classmethod
    def _resolve(cls) -> None:
        """Make the field table of the class, once."""
        try:
            hints = get_type_hints(cls, localns={**cls._scope, cls.__name__: cls}, include_extras=True)
        except NameError:
            raise
        except Exception as error:  # an annotation in quotes may be any expression
            raise ModuleDefinitionError(
                f"{cls.__name__}: an annotation cannot be read: {type(error).__name__}: {error}",
                clause="MOD-18",
            ) from error
        bound = _type_arguments(cls)
        fields = []
        for declared in dataclasses.fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
            hint = hints[declared.name]
            made = field(cls.__name__, declared.name, hint)
            if made.role is Role.MODULE and hint in bound:
                bound_form = form(f"{cls.__name__}.{declared.name}", bound[hint])
                made = dataclasses.replace(made, form=bound_form)
            fields.append(made)
        cls._fields = tuple(fields)
        owner = cls._container_type()
        cls._table = tuple(
            (cls._entered_as(f.name), f.name, owner, NODE if isinstance(f.form, Node) else f.form)
            for f in fields
            if f.form is not None
        )
        cls._scope = {}

    @classmethod
    def _module_fields(cls) -> tuple[Field, ...]:
        """The fields of the class with their roles, in order.

        Raises:
            ModuleDefinitionError: an annotation names something that does not exist.
        """
        if cls._fields is None:
            try:
                cls._resolve()
            except NameError as error:
                raise ModuleDefinitionError(
                    f"{cls.__name__}: {error}",
                    clause="MOD-18",
                    hint="every name in an annotation must be known at the top of the file of the class, or "
                    "defined before it in the same function",
                ) from None
        assert cls._fields is not None
        return cls._fields

    @classmethod
    def _container_type(cls) -> str:
        """What visitors are told when they enter a field of this class (MOD-6)."""
        return f"Struct:{cls.__name__}"

    @classmethod
    def _entered_as(cls, field: str) -> str:
        """The name that visitors are told for a field."""
        return field

    # --- The traversal ---------------------------------------------------------------------------------

    def visit(self, visitor: ModuleVisitor) -> None:
        """Show every field between its name, in the order of declaration.

        Burn: Module::visit
        Clauses: MOD-4, MOD-5, MOD-6, MOD-8, MOD-9, MOD-10, MOD-17, MOD-18, MOD-19.
        """
        try:
            enter, leave, values = visitor.enter_module, visitor.exit_module, self.__dict__
        except AttributeError:
            raise no_visitor("ModuleVisitor", visitor) from None
        if isinstance(visitor, type):  # which has the methods too, unbound
            raise no_visitor("ModuleVisitor", visitor)
        for name, key, owner, shape in self._table:
            enter(name, owner)
            if shape is NODE:
                values[key].visit(visitor)
            else:
                shape.visit(values[key], visitor)
            leave(name, owner)

    def map(self, mapper: ModuleMapper) -> Self:
        """The module with every field mapped between its name; itself when nothing changed.

        Burn: Module::map
        Clauses: MOD-7, MOD-9.
        """
        try:
            enter, leave, values = mapper.enter_module, mapper.exit_module, self.__dict__
        except AttributeError:
            raise no_visitor("ModuleMapper", mapper) from None
        if isinstance(mapper, type):
            raise no_visitor("ModuleMapper", mapper)
        changed: dict[str, Any] | None = None
        for name, key, owner, shape in self._table:
            old = values[key]
            enter(name, owner)
            new = old.map(mapper) if shape is NODE else shape.map(old, mapper)
            leave(name, owner)
            if new is not old:
                if changed is None:
                    changed = dict(values)
                changed[key] = new
        return self if changed is None else self._again(changed)

    def _rebuild(self, operation: Operation) -> Self:
        values = self.__dict__
        changed: dict[str, Any] | None = None
        for _, key, _, shape in self._table:
            old = values[key]
            new = shape.rebuild(old, operation)
            if new is not old:
                if changed is None:
                    changed = dict(values)
                changed[key] = new
        return self if changed is None else self._again(changed)

    def _again(self, values: dict[str, Any]) -> Self:
        made = object.__new__(type(self))
        object.__setattr__(made, "__dict__", values)
        return made

    def collect_devices(self, devices: Devices) -> Devices:
        """`devices`, and those of the fields that are not among them yet.

        Burn: Module::collect_devices
        Clauses: MOD-40, MOD-41, MOD-42.
        """
        for _, key, _, shape in self._table:
            devices = shape.collect_devices(self.__dict__[key], devices)
        return devices

    def num_params(self) -> int:
        """The float elements of the fields, by each field's own count; nothing is initialised.

        Burn: Module::num_params
        Clauses: MOD-35, MOD-36, MOD-37, MOD-38, MOD-39.
        """
        return sum(shape.num_params(self.__dict__[key]) for _, key, _, shape in self._table)

    def to_device(self, device: Device) -> Self:
        """The module on `device`: a recorded move, after which tracked values are no leaves.

        Burn: Module::to_device
        Clauses: MOD-53, PAR-51, PAR-52, PAR-54, PAR-66.
        """
        return self._rebuild(
            Operation(lambda node: node.to_device(device), lambda tensor: tensor.to_device(device))
        )

    def fork(self, device: Device) -> Self:
        """The module on `device` as new leaves; tensors held bare are moved only.

        Burn: Module::fork
        Clauses: MOD-53, PAR-55, PAR-67.
        """
        return self._rebuild(
            Operation(lambda node: node.fork(device), lambda tensor: tensor.to_device(device))
        )

    def valid(self) -> Self:
        """The module for validation: plain tensors, no gradients, flags off; what it remembers stays.

        Burn: Module::valid
        Clauses: MOD-47, MOD-48, MOD-50, MOD-51, PAR-50, PAR-66.
        """
        return self._rebuild(VALID)

    def train(self) -> Self:
        """The module for training, with the gradients and flags that it remembers.

        Raises:
            GradientError: a trainable parameter whose value is tracked and no leaf, as after `to_device`.

        Burn: Module::train
        Clauses: MOD-49, MOD-50, MOD-51, PAR-48, PAR-66.
        """
        return self._rebuild(TRAIN)

    def materialize(self) -> Self:
        """The module with every reparameterization folded into its weight.

        Burn: Module::materialize
        Clauses: MOD-52.
        """
        return self._rebuild(MATERIALIZE)

    def clone(self) -> Self:
        """The module again: lazy parameters share their initialisation, running states their value.

        Burn: Clone
        Clauses: MOD-30, PAR-21, PAR-68.
        """
        return self._rebuild(CLONE)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self)._module_fields()
        self.__dict__.update(state)

    # --- Display ---------------------------------------------------------------------------------------

    def custom_settings(self) -> DisplaySettings | None:
        """Display settings of this module's own; override it (DSP-2)."""
        return None

    def custom_content(self, content: Content) -> Content | None:  # noqa: ARG002
        """What is shown in place of the fields; override it (DSP-6, DSP-26)."""
        return None

    def format(self, settings: DisplaySettings | None = None) -> str:
        """The module as text.

        Burn: ModuleDisplay::format
        Clauses: DSP-6, DSP-12, DSP-21.
        """
        if settings is not None and not isinstance(settings, DisplaySettings):
            raise ArgumentTypeError(
                f"a module is written under DisplaySettings, got {settings!r}", clause="DSP-6"
            )
        return format_module(self, DisplaySettings() if settings is None else settings)

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        return debug_struct(self)


T = TypeVar("T", bound=Module)


def complete(module: Module) -> None:
    """Check the fields of a module that was just made, and find parameters that stand in it twice."""
    cls = type(module)
    for f in cls._module_fields():
        f.check(cls.__name__, module.__dict__[f.name])
    module.visit(ShareRepeats())


def _defining_locals() -> dict[str, Any]:
    """The local names of the function that a class is defined in; none at the top of a file."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _MACHINERY:
        frame = frame.f_back
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


#: Where the frames between a class statement and this file come from.
_MACHINERY: Final = ("abc", "types", __name__, __name__.replace("module.module", "module.variants"))


def _type_arguments(cls: type[Any]) -> dict[Any, Any]:
    """What the type variables of generic bases stand for in `cls`."""
    bound: dict[Any, Any] = {}
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        parameters = getattr(origin, "__parameters__", ())
        bound.update(
            {p: a for p, a in zip(parameters, get_args(base), strict=False) if not isinstance(a, TypeVar)}
        )
    return bound
