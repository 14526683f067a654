"""What visitors and mappers see of a module, as results write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...param.flag import Flag
from ...param.param import Param
from ...param.traversal import ModuleMapper, ModuleVisitor, PathMapper, PathVisitor
from ...tensor.tensor import Tensor
from .faults import StepError
from .state import State, device_name, executes
from .values import KINDS, active_after_train, data_json, grad_name

_KIND_NAMES: dict[type[Any], str] = {**{cls: kind for kind, cls in KINDS.items()}, Flag: "flag"}


def kind_name(param: Param[Any]) -> str:
    """`float`, `int`, `bool` or `flag`."""
    return _KIND_NAMES[param.kind]


def event(state: State, path: str, param: Param[Any]) -> list[Any]:
    """The event of one parameter."""
    kind, label = kind_name(param), state.id_label(param.id)
    if kind == "flag":
        return [kind, path, label, param.is_enabled()]
    shape = param.lazy_shape()
    return [kind, path, label, len(shape), list(shape), param.is_initialized()]


def parameter_state(state: State, path: str, param: Param[Any]) -> dict[str, Any]:
    """Everything that can be told of one parameter."""
    kind, label = kind_name(param), state.id_label(param.id)
    if kind == "flag":
        active = param.train().is_enabled()
        return {"path": path, "kind": kind, "id": label, "enabled": param.is_enabled(), "active": active}
    shape, device, initialized = param.lazy_shape(), param.lazy_device(), param.is_initialized()
    grad = active = value = None
    if initialized:
        tensor = param.val()
        grad = grad_name(tensor)
        value = data_json(tensor.to_data()) if executes(device) else None
        active = active_after_train(param.train) if kind == "float" else None
    return {
        "path": path,
        "kind": kind,
        "id": label,
        "rank": len(shape),
        "shape": list(shape),
        "initialized": initialized,
        "device": device_name(device),
        "grad": grad,
        "active": active,
        "value": value,
    }


class Events(PathVisitor):
    """A visitor that keeps what it sees."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.seen: list[list[Any]] = []

    def enter_module(self, name: str, container_type: str) -> None:
        self.seen.append(["enter", name, container_type])
        super().enter_module(name, container_type)

    def exit_module(self, name: str, container_type: str) -> None:
        super().exit_module(name, container_type)
        self.seen.append(["exit", name, container_type])

    def visit_float(self, param: Param[Any]) -> None:
        self.seen.append(event(self._state, self.path, param))

    visit_int = visit_bool = visit_flag = visit_float


class MapEvents(PathMapper):
    """A mapper that keeps what it sees and changes nothing."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.seen: list[list[Any]] = []

    def enter_module(self, name: str, container_type: str) -> None:
        self.seen.append(["enter", name, container_type])
        super().enter_module(name, container_type)

    def exit_module(self, name: str, container_type: str) -> None:
        super().exit_module(name, container_type)
        self.seen.append(["exit", name, container_type])

    def map_float(self, param: Param[Any]) -> Param[Any]:
        self.seen.append(event(self._state, self.path, param))
        return param

    map_int = map_bool = map_flag = map_float


class States(PathVisitor):
    """A visitor that tells everything of each parameter."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.seen: list[dict[str, Any]] = []

    def visit_float(self, param: Param[Any]) -> None:
        self.seen.append(parameter_state(self._state, self.path, param))

    visit_int = visit_bool = visit_flag = visit_float


class At(PathVisitor):
    """A visitor that finds the first parameter at a path."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._wanted = path
        self._found: Param[Any] | None = None

    def visit_float(self, param: Param[Any]) -> None:
        if self._found is None and self.path == self._wanted:
            self._found = param

    visit_int = visit_bool = visit_flag = visit_float

    @property
    def found(self) -> Param[Any]:
        """The parameter.

        Raises:
            StepError: there is none.
        """
        if self._found is None:
            raise StepError(f"there is no parameter at {self._wanted!r}")
        return self._found


class Change(PathMapper):
    """A mapper that puts something in the place of the first parameter at a path."""

    def __init__(self, path: str, change: Callable[[Param[Any]], Param[Any]]) -> None:
        super().__init__()
        self._wanted = path
        self._change = change
        self.is_done = False

    def map_float(self, param: Param[Any]) -> Param[Any]:
        if self.is_done or self.path != self._wanted:
            return param
        self.is_done = True
        return self._change(param)

    map_int = map_bool = map_flag = map_float


class ChangeEach(PathMapper):
    """A mapper that changes each parameter of some kinds, where `matches` says so."""

    def __init__(
        self,
        kinds: tuple[str, ...],
        matches: Callable[[Any, str], bool],
        change: Callable[[Param[Any]], Param[Any]],
    ) -> None:
        super().__init__()
        self._kinds = kinds
        self._matches = matches
        self._change = change

    def map_float(self, param: Param[Any]) -> Param[Any]:
        chosen = kind_name(param) in self._kinds and self._matches(param.id, self.path)
        return self._change(param) if chosen else param

    map_int = map_bool = map_flag = map_float


class Identity(ModuleMapper):
    """A mapper that overrides nothing."""


class RunningId(ModuleVisitor):
    """Finds the id of a lone running state."""

    id = 0

    def visit_float(self, param: Param[Tensor]) -> None:
        self.id = param.id
