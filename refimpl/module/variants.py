"""Modules that are one of several variants: Rust's `enum`."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, dataclass_transform

from ..errors import ArgumentTypeError, ModuleDefinitionError
from .module import Module


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
class ModuleEnum(Module):
    """The base of enums: a direct subclass is the enum, each subclass of that a variant with one `value`.

    The value is a module, a constant or a `Skip`. A variant that holds a module adds its own name to the
    path; one that holds a constant or a skipped value is in no event at all.

    >>> class Pool(ModuleEnum): ...
    >>> class Max(Pool):
    ...     value: int
    >>> print(Max(value=3))
    Max {
      _0: 3
    }

    Raises:
        ModuleDefinitionError: a variant does not have exactly the field `value`.

    Burn: #[derive(Module)] on an enum
    Clauses: MOD-21, MOD-22, DSP-13.
    """

    _enum: ClassVar[type[ModuleEnum] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fields = [declared.name for declared in dataclasses.fields(cls)]
        if ModuleEnum in cls.__bases__:
            if fields:
                raise ModuleDefinitionError(
                    f"{cls.__name__} is an enum and holds no fields itself",
                    clause="MOD-22",
                    hint=f"make each variant a subclass of {cls.__name__} with the field `value`",
                )
            cls._enum = cls
            cls.__init__ = _refuse_instance  # type: ignore[method-assign,assignment]
        elif fields != ["value"]:
            raise ModuleDefinitionError(_wrong_payload(fields), clause="MOD-22", hint=_WAY_OUT)

    @classmethod
    def _container_type(cls) -> str:
        return f"Enum:{(cls._enum or cls).__name__}"

    @classmethod
    def _entered_as(cls, field: str) -> str:  # noqa: ARG003 - a variant is entered under its own name
        return cls.__name__


def _refuse_instance(self: ModuleEnum, **values: Any) -> None:  # noqa: ARG001
    raise ArgumentTypeError(
        f"{type(self).__name__} is an enum: make one of its variants", clause="MOD-22", hint=_WAY_OUT
    )


_WAY_OUT = "a variant has exactly one field, `value`: a module, a constant or a `Skip`"


def _wrong_payload(written: list[str]) -> str:
    if not written:
        return "Module derive does not support unit enum variants."
    if len(written) == 1:
        return "Module derive does not support struct enum variants."
    return "Module derive only supports tuple enum variants with exactly one field."
