"""How fixtures make parameters: eagerly or lazily, with the formula's values and a log line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...param.flag import Flag
from ...param.param import Param
from ...param.param_id import ParamId
from ...tensor.data import TensorData
from ...tensor.device import Device
from ...tensor.dtype import DType
from ...tensor.tensor import BoolTensor, IntTensor, Tensor
from .faults import CasePanicError
from .state import Ran, State
from .values import KINDS, make, seeded, with_require_grad


@dataclass(frozen=True)
class Habits:
    """What a lazy parameter's initialiser does besides making its tensor."""

    panics: str | None = None
    ignore_require_grad: bool = False


def lazy(
    state: State,
    id: ParamId,
    data: TensorData,
    shape: tuple[int, ...],
    device: Device,
    require_grad: bool,
    kind: str = "float",
    habits: Habits = Habits(),
) -> Param[Any]:
    """A lazy parameter whose initialiser writes to the log."""

    def init(device: Device, require_grad: bool) -> Any:
        state.log.append(Ran(int(id), device, require_grad))
        if habits.panics is not None:
            raise CasePanicError(f"case: {habits.panics}")
        made = make(kind, data, device)
        return made if habits.ignore_require_grad else with_require_grad(made, require_grad)

    cls: type[Any] = KINDS[kind]
    made: Param[Any] = Param.uninitialized(id, init, device, require_grad, shape, kind=cls)
    return made


@dataclass(frozen=True)
class Site:
    """Where a fixture is built, and what is added to its ids."""

    state: State
    device: Device
    base: int

    def id(self, id: int) -> ParamId:
        """The id, `base` added."""
        return self.state.known_id(self.base + id)

    def value(self, kind: str, seed: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """The formula's tensor of a seed."""
        return make(kind, seeded(seed, shape, dtype), self.device)

    def f(self, id: int, *shape: int, dtype: DType = DType.F32) -> Param[Tensor]:
        """A trainable float parameter."""
        value: Tensor = self.value("float", self.base + id, shape, dtype)
        return Param.from_tensor(value).with_id(self.id(id))

    def initialized(self, id: int, *shape: int) -> Param[Tensor]:
        """A float parameter that takes its setting from its tensor: no gradient."""
        value: Tensor = self.value("float", self.base + id, shape, DType.F32)
        return Param.initialized(self.id(id), value)

    def i(self, id: int, *shape: int, dtype: DType = DType.I64) -> Param[IntTensor]:
        """An int parameter."""
        value: IntTensor = self.value("int", self.base + id, shape, dtype)
        return Param.initialized(self.id(id), value)

    def b(self, id: int, *shape: int, dtype: DType = DType.BOOL_NATIVE) -> Param[BoolTensor]:
        """A bool parameter."""
        value: BoolTensor = self.value("bool", self.base + id, shape, dtype)
        return Param.initialized(self.id(id), value)

    def flag(self, id: int, value: bool) -> Param[Flag]:
        """A flag."""
        return Param.from_bool(value).with_id(self.id(id))

    def lazy(self, id: int, *shape: int, require_grad: bool = True, kind: str = "float") -> Param[Any]:
        """A lazy parameter."""
        dtype = {"float": DType.F32, "int": DType.I64, "bool": DType.BOOL_NATIVE}[kind]
        data = seeded(self.base + id, shape, dtype)
        return lazy(self.state, self.id(id), data, shape, self.device, require_grad, kind)
