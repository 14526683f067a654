"""The modules and the reparameterizations of one's own that tests of adapters use."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from refimpl.module.module import Module
from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.reparameterization import Reparameterization, Reparameterizer
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor

CPU = Device("cpu")


class Linear(Module):
    weight: Param[Tensor]
    bias: Param[Tensor] | None


class Layers(Module):
    layers: tuple[Linear, ...]
    on: Param[Flag]


def tensor(values: Any, device: Device = CPU, dtype: Any = np.float32) -> Tensor:
    return Tensor.from_data(np.array(values, dtype), device)


def param(id: int, values: Any, device: Device = CPU, dtype: Any = np.float32) -> Param[Tensor]:
    return Param.from_tensor(tensor(values, device, dtype)).with_id(ParamId.from_int(id))


def linear(id: int = 1, device: Device = CPU, dtype: Any = np.float32, bias: bool = True) -> Linear:
    """A weight [2, 3] of 1, 2, .. 6 and a bias of 3."""
    return Linear(
        weight=param(id, np.arange(1, 7).reshape(2, 3), device, dtype),
        bias=param(id + 1, [1, 2, 3], device, dtype) if bias else None,
    )


def layers(device: Device = CPU) -> Layers:
    flag = Param.from_bool(True).with_id(ParamId.from_int(99))
    return Layers(layers=(linear(1, device), linear(3, device)), on=flag)


class WeightNorm(Module, Reparameterization):
    """The direction of each row is the base's; its length is a parameter of its own."""

    NAME: ClassVar[str] = "weight_norm"

    length: Param[Tensor]

    def apply(self, base: Tensor) -> Tensor:
        return base * (self.length.val() / (base * base).sum_dim(-1).sqrt())


class ByRow(Reparameterizer):
    """Gives every matrix a `WeightNorm` that leaves its value as it is; says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], WeightNorm | None]:
        self.asked.append(path)
        if len(param.lazy_shape()) != 2:
            return param, None
        base = param.base()
        return param, WeightNorm(length=Param.from_tensor((base * base).sum_dim(-1).sqrt().detach()))


class Added(Module, Reparameterization):
    """Adds a constant; beside it lies all that a module may hold and traversal may meet."""

    NAME: ClassVar[str] = "added.by"

    amount: Param[Tensor]
    on: Param[Flag]
    rate: float

    def apply(self, base: Tensor) -> Tensor:
        return base + self.amount.val()


class Adding(Reparameterizer):
    """Attaches an `Added` of `amount` to the paths it is told, to all if it is told none."""

    def __init__(self, amount: float, *paths: str, device: Device | None = None) -> None:
        self.amount, self.paths, self.device = amount, paths, device

    def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], Added | None]:
        if self.paths and path not in self.paths:
            return param, None
        device = self.device or param.lazy_device()
        shape = (1,) * len(param.lazy_shape())
        amount = Param.from_tensor(tensor(np.full(shape, self.amount), device))
        flag = Param.from_bool(True).with_id(ParamId.from_int(51))
        return param, Added(amount=amount.with_id(ParamId.from_int(50)), on=flag, rate=0.5)


def lazy(id: int, values: Any, device: Device = CPU) -> Param[Tensor]:
    """A parameter that is initialised with `values` when it is first read."""
    made = np.array(values, np.float32)

    def init(at: Device, require_grad: bool) -> Tensor:
        return Tensor.from_data(made, at).set_require_grad(require_grad)

    return Param.uninitialized(ParamId.from_int(id), init, device, True, made.shape)


def numbers(tensor: Tensor) -> Any:
    return tensor.dequantize().to_numpy().tolist()


def paths(module: Any) -> list[str]:
    return [path for path, _, _ in module.into_record().entries]
