"""The `module.*` steps that quantise weights and attach adapters."""

from __future__ import annotations

from typing import Any

from ...module.lora import QLora
from ...module.quantizer import Quantizer
from ...param.group import ParamGroup
from .adapters import Draws, Offer, lora
from .args import Args, text, whole
from .groups import group
from .quant_steps import quantizer
from .state import State

STEPS = ("quantize_weights", "apply_lora", "apply_qlora", "apply_reparameterization", "lora_draws")


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    on, chosen = text(args, "on"), _chosen(state, args)
    made: Any
    match op:
        case "quantize_weights":
            made = _quantized(state, args, on, chosen)
        case "lora_draws":
            return _draws(state, args, on, chosen)
        case "apply_lora":
            adapters = lora(args, chosen)
            made = state.take(on).apply_lora(adapters)
        case "apply_qlora":
            first, second = args["lora"], args["quantizer"]
            both = QLora(lora(first, _chosen(state, first)), quantizer(second, _chosen(state, second)))
            made = state.take(on).apply_qlora(both)
        case _:
            offer = Offer(state, args, chosen)
            made = state.take(on).apply_reparameterization(offer)
    state.store(args, made)
    return {}


def _chosen(state: State, args: Args) -> ParamGroup | None:
    return None if args.get("group") is None else group(state, args["group"])


def _quantized(state: State, args: Args, on: str, chosen: ParamGroup | None) -> Any:
    name = args.get("quantizer")
    given = quantizer(args, None) if name is None else state.get(name, Quantizer)
    module = state.take(on)
    return module.quantize_weights(given) if chosen is None else module.quantize_weights_group(given, chosen)


def _draws(state: State, args: Args, on: str, chosen: ParamGroup | None) -> list[list[Any]]:
    device, seed, adapters = state.device("d0"), whole(args.get("seed")), lora(args, chosen)
    std = 1.0 / adapters.rank if adapters.init_std is None else adapters.init_std
    draws = Draws()
    device.seed(seed)
    state.module(on).clone().apply_lora(adapters).visit(draws)
    return draws.compare(device, seed, std)
