"""From the annotation of a field to its role: traversed, constant or skipped."""

from __future__ import annotations

import types
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from ..errors import ModuleDefinitionError
from ..param.flag import Flag
from ..param.param import Param
from ..param.traversal import ModuleNode
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .walk import CONSTANT, CONSTANT_KINDS, DYNAMIC, TENSOR_KINDS, Bare, Form, Node, Optional, Sequence, Tuple

_T = TypeVar("_T")
_PARAM_KINDS: Final = (Tensor, IntTensor, BoolTensor, Flag)


class Marker(Enum):
    """What `Annotated` may say about a field."""

    SKIP = "Skip"
    ARRAY = "Array"


#: `Skip[X]`: the field is carried along and never traversed (MOD-26).
Skip = Annotated[_T, Marker.SKIP]
#: `Annotated[tuple[M, ...], Array]`: Rust's `[M; N]` (MOD-13).
Array: Final = Marker.ARRAY


class Role(Enum):
    """What the traversal does with a field.

    Clauses: MOD-18, MOD-20, MOD-26, MOD-27.
    """

    MODULE = "traversed"
    CONSTANT = "carried along"
    SKIPPED = "carried along by request"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a module class: its name, its role, its form where it is traversed, its annotation."""

    name: str
    role: Role
    form: Form | None
    hint: Any

    def check(self, owner: str, value: Any) -> None:
        """Refuse a value that the annotation does not allow."""
        where = f"{owner}.{self.name}"
        if self.form is not None:
            self.form.check(value, where)
        elif self.role is Role.CONSTANT and not _is_constant_value(value, self.hint):
            raise ModuleDefinitionError(
                f"{where} must be {_written(self.hint)}, got {value!r}",
                clause="MOD-23",
                hint="write a tuple: modules are values" if isinstance(value, (list, dict, set)) else None,
            )


def field(owner: str, name: str, hint: Any) -> Field:
    """The field `name` of class `owner`, annotated with `hint`.

    Raises:
        ModuleDefinitionError: a module may not hold what the annotation says.

    Clauses: MOD-14, MOD-20, MOD-23, MOD-24, MOD-25, MOD-26, MOD-28.
    """
    where = f"{owner}.{name}"
    if Marker.SKIP in getattr(hint, "__metadata__", ()):
        inner = get_args(hint)[0]
        if (get_origin(inner) or inner) is Param:
            raise ModuleDefinitionError(
                "Fields of type 'Param' should not be marked as 'skip'. Use a 'Tensor' instead.",
                clause="MOD-28",
                hint=f"{where} is {_written(hint)}",
            )
        return Field(name, Role.SKIPPED, None, inner)
    if is_constant(hint):
        return Field(name, Role.CONSTANT, None, hint)
    return Field(name, Role.MODULE, form(where, hint), hint)


def is_constant(hint: Any) -> bool:
    """Whether the written type is a constant, or a container of nothing but constants (MOD-23).

    >>> is_constant(tuple[int, str | None]), is_constant(Tensor)
    (True, False)
    """
    hint = _bare(hint)
    if get_origin(hint) in (Union, types.UnionType, tuple):
        return all(is_constant(a) for a in get_args(hint) if a is not type(None) and a is not Ellipsis)
    return hint in CONSTANT_KINDS


def _bare(hint: Any) -> Any:
    """An annotation without its marker."""
    return hint.__origin__ if get_origin(hint) is Annotated else hint


def form(where: str, hint: Any) -> Form:
    """The form of a traversed value annotated with `hint`; constants in it are empty modules (MOD-25)."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if args[1] is Marker.SKIP:
            raise _refused(where, hint, "`Skip` stands outermost: `Skip[...]` around the whole annotation")
        inner = form(where, args[0])
        if args[1] is not Marker.ARRAY or not isinstance(inner, Sequence):
            raise _refused(
                where, hint, "`Array` marks a tuple of any length: `Annotated[tuple[M, ...], Array]`"
            )
        return Sequence(inner.inner, "Array")
    if origin in (Union, types.UnionType):
        some = [a for a in args if a is not type(None)]
        if len(some) != 1 or len(some) == len(args):
            raise _refused(where, hint, "one of several modules is a `ModuleEnum`; `X | None` is an option")
        return Optional(form(where, some[0]))
    if origin is tuple:
        return _tuple(where, hint, args)
    if isinstance(hint, TypeVar):
        return DYNAMIC
    if hint in CONSTANT_KINDS:
        return CONSTANT
    if origin is Param or hint is Param:
        return _param(where, hint, args)
    kind = origin or hint
    if isinstance(kind, type):
        if issubclass(kind, TENSOR_KINDS):
            return Bare(kind)
        if issubclass(kind, ModuleNode):
            return Node(kind)
    if kind in (list, dict, set, frozenset):
        raise _refused(where, hint, "modules are values: write `tuple[X, ...]` where Rust has `Vec<X>`")
    raise _refused(where, hint, "configuration and run-time state belong in `Skip[...]`")


def _tuple(where: str, hint: Any, args: tuple[Any, ...]) -> Form:
    if len(args) == 2 and args[1] is Ellipsis:
        return Sequence(form(where, args[0]))
    if not 2 <= len(args) <= 10:
        raise _refused(
            where, hint, "a tuple that is a module has from 2 to 10 elements; `tuple[X, ...]` has any number"
        )
    return Tuple(tuple(form(where, arg) for arg in args))


def _param(where: str, hint: Any, args: tuple[Any, ...]) -> Form:
    if len(args) != 1 or args[0] not in _PARAM_KINDS:
        raise _refused(
            where, hint, "a parameter is Param[Tensor], Param[IntTensor], Param[BoolTensor] or Param[Flag]"
        )
    return Node(Param, holds=args[0])


def constant_parts(hint: Any) -> tuple[str, Any]:
    """How a constant's annotation is made: an option, list or tuple with what it holds, or a plain type.

    >>> constant_parts(tuple[int, ...])
    ('list', <class 'int'>)
    """
    hint = _bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) and type(None) in args and len(args) == 2:
        return "option", next(arg for arg in args if arg is not type(None))
    if origin is tuple:
        return ("list", args[0]) if len(args) == 2 and args[1] is Ellipsis else ("tuple", args)
    return "plain", hint


def _is_constant_value(value: Any, hint: Any) -> bool:
    hint = _bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_is_constant_value(value, arg) for arg in args)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(_is_constant_value(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(_is_constant_value, value, args))
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is type(None) else isinstance(value, hint)


def _refused(where: str, hint: Any, way_out: str) -> ModuleDefinitionError:
    return ModuleDefinitionError(
        f"{where}: {_written(hint)} is neither a module nor a constant", clause="MOD-23", hint=way_out
    )


def _written(hint: Any) -> str:
    return (
        hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")
    )
