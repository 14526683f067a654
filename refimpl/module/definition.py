"""What is refused when a module class is defined, and how its instances are made."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..errors import ArgumentTypeError, ModuleDefinitionError
from ..param.traversal import ModuleNode

if TYPE_CHECKING:
    from .module import Module

#: How `dataclasses` marks a field that is an argument of the constructor and nothing else.
_INIT_ONLY: Final = "_FIELD_INITVAR"


def refuse_names(cls: type[Any], every: type[Any]) -> None:
    """Refuse a field that would hide what `every` module can do, or that would not be kept.

    Raises:
        ModuleDefinitionError: there is one.

    Clauses: MOD-18.
    """
    for name, declared in cls.__dataclass_fields__.items():
        where = f"{cls.__name__}.{name}"
        if getattr(getattr(declared, "_field_type", None), "name", "") == _INIT_ONLY:
            raise ModuleDefinitionError(
                f"{where}: an InitVar is no field: the module would not keep it",
                clause="MOD-18",
                hint="write a function or a classmethod that takes it and makes the module",
            )
        if hasattr(every, name) and name in {f.name for f in dataclasses.fields(cls)}:
            raise ModuleDefinitionError(
                f"{where}: a field cannot be called like what every module can do",
                clause="MOD-18",
                hint=f"call it `{name}_`",
            )


def refuse_shared_nodes(cls: type[Any]) -> None:
    """Refuse a parameter or a module that is an attribute of the class, not of each instance.

    Without an annotation it would be no field: never counted, moved or saved. As the default of a field it
    would be one parameter, with one id, in every instance.

    Raises:
        ModuleDefinitionError: there is one.

    Clauses: MOD-18.
    """
    declared = cls.__dataclass_fields__
    fields = {f.name for f in dataclasses.fields(cls)}
    for name, value in vars(cls).items():
        if not _holds_node(value):
            continue
        if name in fields:
            raise ModuleDefinitionError(
                f"{cls.__name__}.{name}: its default would be the same parameters in every {cls.__name__}",
                clause="MOD-18",
                hint=f"{name}: ... = dataclasses.field(default_factory=lambda: ...)",
            )
        if name not in declared:
            raise ModuleDefinitionError(
                f"{cls.__name__}.{name} holds a {type(value).__name__} and has no annotation: it is no field",
                clause="MOD-18",
                hint=f"annotate it, `{name}: Param[Tensor]`, and give the value when the module is made",
            )


def wrap_init(cls: type[Module], complete: Callable[[Module], None], *, own: bool) -> None:
    """Let the constructor of `cls` check what it was given, and finish the instance with `complete`.

    Args:
        cls: The class, already a dataclass.
        complete: Called with each instance of exactly this class.
        own: Whether the constructor was written by hand.
    """
    made = cls.__init__

    def __init__(self: Module, *positional: Any, **values: Any) -> None:  # noqa: N807
        try:
            made(self, *positional, **values)
        except dataclasses.FrozenInstanceError as error:
            if own:
                raise _assigns(cls, error) from error
            raise
        except TypeError as error:
            _explain(cls, positional, values, error, own=own)
            raise
        if type(self) is cls:
            complete(self)

    __init__.__wrapped__ = made  # type: ignore[attr-defined]
    __init__.__doc__ = made.__doc__
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[method-assign,assignment]
    cls.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]


def _holds_node(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_node, value))
    if isinstance(value, dict):
        return any(map(_holds_node, value.values()))
    return isinstance(value, ModuleNode)


def _assigns(cls: type[Any], error: Exception) -> ModuleDefinitionError:
    return ModuleDefinitionError(
        f"{cls.__name__}.__init__: {error}: a module is frozen from the start",
        clause="MOD-18",
        hint="leave `__init__` out: declare the fields with annotations, and make the module in a function "
        f"or a classmethod, {cls.__name__}(field=value, ...)",
    )


def _explain(
    cls: type[Any], positional: tuple[Any, ...], values: dict[str, Any], error: TypeError, *, own: bool
) -> None:
    """Raise a better error than Python's, if the constructor is ours and its arguments are at fault."""
    fault = None if own else _fault(cls, positional, values)
    if fault is not None:
        raise fault from error


def _fault(cls: type[Any], positional: tuple[Any, ...], values: dict[str, Any]) -> ArgumentTypeError | None:
    """What is wrong with the arguments of a constructor; None when nothing is."""
    fields = [f for f in dataclasses.fields(cls) if f.init]
    unset = dataclasses.MISSING
    needed = [f.name for f in fields if f.default is unset and f.default_factory is unset]
    missing = [name for name in needed if name not in values]
    unknown = [name for name in values if name not in {f.name for f in fields}]
    faults = [f"it takes its fields by name, got {len(positional)} without"] * bool(positional)
    faults += [f"it has no field {', '.join(map(repr, unknown))}"] * bool(unknown)
    faults += [f"it needs {', '.join(map(repr, missing))}"] * bool(missing and not positional)
    if not faults:
        return None
    written = ", ".join(f"{f.name}=..." for f in fields)
    return ArgumentTypeError(
        f"{cls.__name__}: {'; '.join(faults)}", clause="MOD-18", hint=f"{cls.__name__}({written})"
    )
