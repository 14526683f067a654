"""What visitors and mappers see of a module, as results write it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ...param.flag import Flag
from ...param.group import ParamGroup
from ...param.param import Param
from ...param.traversal import ModuleMapper, PathMapper, PathVisitor
from ...tensor.tensor import BoolTensor, IntTensor, Tensor
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
        after = param.train().is_enabled()
        return {"path": path, "kind": kind, "id": label, "enabled": param.is_enabled(), "active": after}
    shape, device, initialized = param.lazy_shape(), param.lazy_device(), param.is_initialized()
    grad: str | None = None
    active: bool | dict[str, str] | None = None
    value: dict[str, Any] | None = None
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


class See(PathVisitor, ABC):
    """A visitor that sees every parameter alike."""

    @abstractmethod
    def see(self, param: Param[Any]) -> None:
        """Called with each parameter, flags included."""

    def visit_float(self, param: Param[Tensor]) -> None:
        """See it."""
        self.see(param)

    def visit_int(self, param: Param[IntTensor]) -> None:
        """See it."""
        self.see(param)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        """See it."""
        self.see(param)

    def visit_flag(self, flag: Param[Flag]) -> None:
        """See it."""
        self.see(flag)


class Put(PathMapper, ABC):
    """A mapper that treats every parameter alike."""

    @abstractmethod
    def put(self, param: Param[Any]) -> Param[Any]:
        """What takes the place of each parameter, flags included."""

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """What `put` gives."""
        return self.put(param)

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        """What `put` gives."""
        return self.put(param)

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        """What `put` gives."""
        return self.put(param)

    def map_flag(self, flag: Param[Flag]) -> Param[Flag]:
        """What `put` gives."""
        return self.put(flag)


class _Kept:
    """The events of a walk, kept; it stands before a visitor or mapper, which adds the parameters."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.seen: list[list[Any]] = []

    def enter_module(self: Any, name: str, container_type: str) -> None:
        """Keep it."""
        self.seen.append(["enter", name, container_type])
        super().enter_module(name, container_type)  # type: ignore[misc]  # of the visitor or mapper beside it

    def exit_module(self: Any, name: str, container_type: str) -> None:
        """Keep it."""
        super().exit_module(name, container_type)  # type: ignore[misc]
        self.seen.append(["exit", name, container_type])


class Events(_Kept, See):
    """Keeps every event."""

    def see(self, param: Param[Any]) -> None:
        """Keep it."""
        self.seen.append(event(self._state, self.path, param))


class MapEvents(_Kept, Put):
    """Keeps every event of a mapper, and changes nothing."""

    def put(self, param: Param[Any]) -> Param[Any]:
        """Keep it."""
        self.seen.append(event(self._state, self.path, param))
        return param


class States(See):
    """Tells everything of each parameter."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.seen: list[dict[str, Any]] = []

    def see(self, param: Param[Any]) -> None:
        """Tell it."""
        self.seen.append(parameter_state(self._state, self.path, param))


class At(See):
    """Finds the first parameter at a path."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._wanted = path
        self._found: Param[Any] | None = None

    def see(self, param: Param[Any]) -> None:
        """Compare its path."""
        if self._found is None and self.path == self._wanted:
            self._found = param

    @property
    def found(self) -> Param[Any]:
        """The parameter.

        Raises:
            StepError: there is none.
        """
        if self._found is None:
            raise StepError(f"there is no parameter at {self._wanted!r}")
        return self._found


class Change(Put):
    """Puts something in the place of the first parameter at a path."""

    def __init__(self, path: str, change: Callable[[Param[Any]], Param[Any]]) -> None:
        super().__init__()
        self._wanted = path
        self._change = change
        self.is_done = False

    def put(self, param: Param[Any]) -> Param[Any]:
        """What `change` gives, at the path."""
        if self.is_done or self.path != self._wanted:
            return param
        self.is_done = True
        return self._change(param)


class ChangeEach(Put):
    """Changes each parameter of some kinds, where a group matches."""

    def __init__(
        self, kinds: tuple[str, ...], group: ParamGroup | None, change: Callable[[Param[Any]], Param[Any]]
    ) -> None:
        super().__init__()
        self._kinds = kinds
        self._group = group
        self._change = change

    def put(self, param: Param[Any]) -> Param[Any]:
        """What `change` gives, if it is chosen."""
        chosen = self._group is None or self._group.matches(param.id, self.path)
        return self._change(param) if chosen and kind_name(param) in self._kinds else param


class Identity(ModuleMapper):
    """A mapper that overrides nothing."""
