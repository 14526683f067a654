"""Parameters reached as fields, with their adapters: visitors and mappers see them without."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ...module.module import Module
from ...module.tree import Tree
from ...param.param import Param
from .faults import StepError


def at_field(found: Any, names: list[str]) -> Param[Any]:
    """The parameter at a path of fields, elements and adapters.

    Raises:
        StepError: there is none.
    """
    match found:
        case Tree():
            return at_field(found.value, names)
        case Param() if not names:
            return found
        case Param():
            attached = found.reparameterization()
            name = [] if attached is None else attached.NAME.split(".")
            if name and names[: len(name)] == name:
                return at_field(attached, names[len(name) :])
        case tuple() if names and names[0].isdigit() and int(names[0]) < len(found):
            return at_field(found[int(names[0])], names[1:])
        case Module() if names and names[0] in found.__dict__:
            return at_field(found.__dict__[names[0]], names[1:])
    raise StepError(f"there is no parameter at {names!r}")


def change_field(found: Any, names: list[str], change: Callable[[Param[Any]], Param[Any]]) -> Any:
    """What held the parameter at a path, which leads into no adapter, with another in its place.

    Raises:
        StepError: there is none.
    """
    match found:
        case Tree():
            return Tree(change_field(found.value, names, change))
        case Param() if not names:
            return change(found)
        case tuple() if names and names[0].isdigit() and int(names[0]) < len(found):
            at = int(names[0])
            return (*found[:at], change_field(found[at], names[1:], change), *found[at + 1 :])
        case Module() if names and names[0] in found.__dict__:
            changed: Any = change_field(found.__dict__[names[0]], names[1:], change)
            return dataclasses.replace(found, **{names[0]: changed})  # type: ignore[type-var]  # a dataclass
    raise StepError(f"there is no parameter at {names!r}")
