"""`placement.*` and `distributed.*`."""

from __future__ import annotations

from typing import Any

from ...module.trait import ModuleTrait
from ...parallel.layer import LayerParallelism
from ...parallel.model import DistributedLayeredModel
from ...parallel.placement import (
    AfterHidden,
    DeviceMemory,
    LayerMemory,
    LayerPlacement,
    LayerStage,
    OutputMemory,
    WithInput,
)
from .args import Args, flag, items, only, text, whole, wholes
from .faults import StepError
from .state import State, device_name
from .values import tensor_json


def placement_json(placement: LayerPlacement) -> dict[str, Any]:
    """A placement as results write it."""
    return {
        "input": device_name(placement.input),
        "hidden": [device_name(device) for device in placement.hidden],
        "output": device_name(placement.output),
        "devices": [device_name(device) for device in placement.devices()],
        "stages": [[device_name(stage.device), stage.num_hidden_layers] for stage in placement.stages()],
    }


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    if op.startswith("distributed."):
        return _distributed(state, op, args)
    match op:
        case "placement.new":
            stages = [LayerStage(state.device(name), whole(count)) for name, count in items(args, "stages")]
            made: LayerPlacement | None = LayerPlacement.new(stages)
        case "placement.even":
            made = LayerPlacement.even(state.devices(args, "devices"), whole(args.get("hidden")))
        case "placement.by_memory":
            made = _by_memory(state, args)
        case "placement.make":
            made = LayerPlacement(
                state.device(args.get("input")),
                tuple(state.devices(args, "hidden")),
                state.device(args.get("output")),
            )
        case "placement.equal":
            return state.placement(args.get("a")) == state.placement(args.get("b"))
        case _:
            raise StepError(f"`{op}` is no step")
    return None if made is None else _stored(state, args, made)


def _stored(state: State, args: Args, made: LayerPlacement) -> dict[str, Any]:
    form = placement_json(made)
    state.store_if_named(args, made)
    return form


def _by_memory(state: State, args: Args) -> LayerPlacement | None:
    devices, capacities = state.devices(args, "devices"), wholes(args, "capacities")
    if len(devices) != len(capacities):
        raise StepError("`devices` and `capacities` differ in length")
    kinds: dict[str, type[OutputMemory]] = {"AfterHidden": AfterHidden, "WithInput": WithInput}
    kind, count = only(args.get("output"), "output")
    if kind not in kinds:
        raise StepError('`output` is {"AfterHidden": n} or {"WithInput": n}')
    memory = LayerMemory(
        input=whole(args.get("input")), hidden=tuple(wholes(args, "hidden")), output=kinds[kind](whole(count))
    )
    held = [DeviceMemory(*pair) for pair in zip(devices, capacities, strict=True)]
    return LayerPlacement.by_memory(held, memory)


def _distributed(state: State, op: str, args: Args) -> Any:
    if op == "distributed.new":
        text(args, "as")
        placement = state.placement(args.get("placement"))
        model = state.module(args.get("model"))
        if not isinstance(model, LayerParallelism):
            raise StepError("the module is no layered model")
        state.take(args.get("model"))
        state.store(args, DistributedLayeredModel.new(model, placement))
        return {}
    on = args.get("on")
    distributed: Any = state.module(on)
    if not isinstance(distributed, DistributedLayeredModel):
        raise StepError("the module is no distributed model")
    match op:
        case "distributed.forward":
            made = distributed.forward(state.tensor(args.get("input")))
            state.store_if_named(args, made)
            return tensor_json(made)
        case "distributed.placement":
            return _stored(state, args, distributed.placement())
        case "distributed.into_inner":
            state.take(on)
            inner: ModuleTrait = distributed.into_inner()
            state.store(args, inner)
            return {}
        case "distributed.into_stages":
            state.take(on)
            return _staged(state, distributed.into_stages(), flag(args, "text", False))
    raise StepError(f"`{op}` is no step")


def _staged(state: State, held: Any, with_text: bool) -> dict[str, Any]:
    def label(layer: Any) -> str:
        return state.id_label(layer.weight.id)

    stages = [
        {"device": device_name(stage.device), "layers": [label(layer) for layer in stage.layers]}
        for stage in held.stages
    ]
    form = {"input": label(held.input), "stages": stages, "output": label(held.output)}
    return {**form, "debug": state.mask(repr(held))} if with_text else form
