"""Reparameterizations: the fixtures of `spec/fixtures.md`, and what is told of an attached one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...errors import GradientError
from ...module.lora import Lora, LoraAdapter
from ...module.module import Module
from ...param.flag import Flag
from ...param.group import ParamGroup
from ...param.param import Param
from ...param.reparameterization import Reparameterization, Reparameterizer
from ...param.traversal import PathVisitor
from ...tensor.data import TensorData
from ...tensor.device import Device
from ...tensor.random import Distribution
from ...tensor.tensor import BoolTensor, IntTensor, Tensor
from .args import Args, flag, number, whole
from .dtypes import dtype_name, read_dtype
from .parameters import Site
from .state import Offered, State, device_name
from .values import express, grad_name, make
from .zoo import Linear
from .zoo_values import linear


def _ones(value: Tensor, rank: int) -> Tensor:
    return value.reshape((1,) * rank)


class ScaleIt(Module, Reparameterization):
    """One field of every kind; the effective value is the base times `s`."""

    NAME: ClassVar[str] = "scale.it"

    s: Param[Tensor]
    on: Param[Flag]
    i: Param[IntTensor]
    m: Param[BoolTensor]
    k: float
    sub: tuple[Linear, ...]

    def apply(self, base: Tensor) -> Tensor:
        """The base times `s`."""
        return base * _ones(self.s.val(), base.rank)


class Rows(Module, Reparameterization):
    """The sum over the first axis, so another shape."""

    NAME: ClassVar[str] = "rows"

    w: Param[Tensor]

    def apply(self, base: Tensor) -> Tensor:
        """The sum over the first axis, times `w`."""
        return base.sum_dim(0) * _ones(self.w.val(), base.rank)


class Shift(Module, Reparameterization):
    """The base plus `by`."""

    NAME: ClassVar[str] = "shift"

    by: Param[Tensor]

    def apply(self, base: Tensor) -> Tensor:
        """The base plus `by`."""
        return base + _ones(self.by.val(), base.rank)


def _one(site: Site, id: int, value: float) -> Param[Tensor]:
    data = TensorData.from_array(np.array([value], np.float32))
    held: Any = make("float", data, site.device)
    made: Param[Tensor] = Param.from_tensor(held)
    return made.with_id(site.id(id))


def _scale_it(site: Site, value: float) -> ScaleIt:
    return ScaleIt(
        s=_one(site, 1, value),
        on=site.flag(2, True),
        i=site.i(3, 2),
        m=site.b(4, 2),
        k=0.5,
        sub=(linear(site, 5),),
    )


FIXTURES: dict[str, Callable[[Site, float], Reparameterization]] = {
    "scale.it": _scale_it,
    "rows": lambda site, value: Rows(w=_one(site, 1, value)),
    "shift": lambda site, value: Shift(by=_one(site, 1, value)),
}


class Offer(Reparameterizer):
    """Offers a fixture to each parameter that a group selects, and may change the base first."""

    def __init__(self, state: State, args: Args, group: ParamGroup | None) -> None:
        self._state = state
        self._group = ParamGroup.all() if group is None else group
        self._change = args.get("change")
        self._freeze = flag(args, "freeze", default=False)
        self._make = FIXTURES[args["kind"]] if flag(args, "attach", default=True) else None
        self._value = number(args.get("value", 2.0))
        self._next = whole(args.get("base", 900))
        self._device = state.device(args["device"]) if "device" in args else None

    def reparameterize(
        self, path: str, param: Param[Tensor]
    ) -> tuple[Param[Tensor], Reparameterization | None]:
        """The base, changed or not, and the next fixture."""
        self._state.log.append(Offered(path, int(param.id)))
        if not self._group.matches(param.id, path):
            return param, None
        if self._change is not None:
            param = param.map(lambda held: express(held, self._change))
        if self._freeze:
            param = param.set_require_grad(False)
        if self._make is None:
            return param, None
        site = Site(self._state, self._device or param.lazy_device(), self._next)
        self._next += 10
        return param, self._make(site, self._value)


def lora(args: Args, group: ParamGroup | None) -> Lora:
    """What `Lora` and its builders are given."""
    std = None if args.get("init_std") is None else number(args["init_std"])
    made = Lora(whole(args.get("rank")), number(args.get("alpha")), init_std=std)
    if args.get("dtype") is not None:
        made = made.set_dtype(read_dtype(args["dtype"]))
    if group is not None:
        made = made.set_param_group(group)
    return made if args.get("rank_then") is None else replace(made, rank=whole(args["rank_then"]))


def adapter_json(state: State, param: Param[Any]) -> dict[str, Any] | None:
    """What is attached to a parameter; None where nothing is."""
    match param.reparameterization():
        case LoraAdapter() as found:
            factors = {"a": _factor(state, found.a), "b": _factor(state, found.b)}
            return {"kind": "lora", "scale": found.scale, **factors}
        case ScaleIt() as found:
            form = {"k": found.k, "on": found.on.is_enabled()}
            return {"kind": "scale.it", **form, "s": _factor(state, found.s)}
        case Rows() as found:
            return {"kind": "rows", "w": _factor(state, found.w)}
        case Shift() as found:
            return {"kind": "shift", "by": _factor(state, found.by)}
    return None


def _factor(state: State, param: Param[Tensor]) -> dict[str, Any]:
    value = param.val()
    return {
        "id": state.id_label(param.id),
        "shape": list(value.shape),
        "dtype": dtype_name(value.dtype),
        "device": device_name(value.device),
        "grad": grad_name(value),
        "active": _active(param),
    }


def _active(param: Param[Tensor]) -> bool | dict[str, str]:
    """Whether the effective value requires a gradient after `train()`, or the panic it comes to."""
    try:
        return param.train().val().is_require_grad
    except GradientError:
        return {"panic": "Gradient"}


class Draws(PathVisitor):
    """Whether each factor `a`, in traversal order, is the next draw of its own size and of nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[tuple[str, Tensor]] = []

    def visit_float(self, param: Param[Tensor]) -> None:
        """Keep it."""
        if self.path.endswith("lora.a"):
            self._held.append((self.path, param.val()))

    def compare(self, device: Device, seed: int, std: float) -> list[list[Any]]:
        """Draw again, and compare."""
        device.seed(seed)
        told: list[list[Any]] = []
        for path, held in self._held:
            drawn = Tensor.random(held.shape, Distribution.normal(0.0, std), device)
            told.append([path, bytes(drawn.to_data().bytes) == bytes(held.to_data().bytes)])
        return told
