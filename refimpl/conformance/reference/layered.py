"""`zoo/layered`: a model in layers, whose `into_layers` gives what the case asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...module.fields import Skip
from ...module.trait import ModuleTrait
from ...parallel.layer import DistributedLayer, LayerParallelism, LayerSequence
from ...param.flag import Flag
from ...param.param import Param
from ...rust_text import debug_list
from ...tensor.data import TensorData
from ...tensor.device import Device
from ...tensor.tensor import Tensor
from .args import Args, flag
from .faults import StepError
from .parameters import Site, lazy
from .state import Passed

_ORDERS = ("forward", "reversed", "short", "long")


class Lin(DistributedLayer[Tensor, Tensor]):
    """A layer that logs where it is given a tensor, and multiplies by its weight."""

    weight: Param[Tensor]
    on: Param[Flag]
    log: Skip[Any]

    def forward(self, input: Tensor) -> Tensor:
        """`input @ weight`."""
        self.log.append(Passed(int(self.weight.id), input.device))
        return input @ self.weight.val()

    def __repr__(self) -> str:  # what only watches is no part of the layer
        return f"Lin {{ weight: {self.weight!r}, on: {self.on!r} }}"


class Stack(LayerParallelism[Tensor, Tensor, Tensor]):
    """The layers, which `into_layers` gives in `order`."""

    input: Lin
    hidden: tuple[Lin, ...]
    output: Lin
    order: Skip[str]

    def layer_input(self) -> Lin:
        """The first one."""
        return self.input

    def layers_hidden(self) -> tuple[Lin, ...]:
        """Those between, as they stand."""
        return self.hidden

    def layer_output(self) -> Lin:
        """The last one."""
        return self.output

    def into_layers(self) -> LayerSequence[Tensor, Tensor, Tensor]:
        """All of them, the hidden ones in `order`."""
        return LayerSequence(self.input, _reordered(self.hidden, self.order), self.output)

    def __repr__(self) -> str:
        hidden = debug_list(self.hidden)
        return f"Stack {{ input: {self.input!r}, hidden: {hidden}, output: {self.output!r} }}"


def layered(s: Site, args: Args) -> ModuleTrait:
    """The model, each layer on the device that the placement names."""
    placement = s.state.placement(args.get("placement"))
    is_lazy, order = flag(args, "lazy", False), args.get("order", "forward")
    if order not in _ORDERS:
        raise StepError(f"{order!r} is no order of layers")

    def lin(id: int, device: Device) -> Lin:
        on = Site(s.state, device, s.base)
        return Lin(weight=_weight(on, id, is_lazy), on=on.flag(id + 1000, True), log=s.state.log)

    return Stack(
        input=lin(1, placement.input),
        hidden=tuple(lin(10 + i, device) for i, device in enumerate(placement.hidden)),
        output=lin(2, placement.output),
        order=order,
    )


def _reordered(hidden: tuple[Any, ...], order: str) -> tuple[Any, ...]:
    match order:
        case "reversed":
            return hidden[::-1]
        case "short":
            return hidden[:-1]
        case "long":
            return (*hidden, *(layer.clone() for layer in hidden[-1:]))
    return hidden


def _weight(s: Site, id: int, is_lazy: bool) -> Param[Tensor]:
    data = TensorData.from_array(np.array([[1, 2], [3, s.base + id]], np.float32))
    if is_lazy:
        return lazy(s.state, s.id(id), data, (2, 2), s.device, True)
    return Param.from_tensor(Tensor.from_data(data, s.device, data.dtype)).with_id(s.id(id))
