"""Operations on quantised tensors: codes move with their places, arithmetic goes by the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from .data import Step, data
from .outcome import LackingError, refusing
from .quantised import Quantised, kept
from .tensors import shown
from .trace import Answer, Trace


def sliced(codes: torch.Tensor, step: Step) -> torch.Tensor:
    if any(part < 0 for one in step["ranges"] for part in one):
        raise LackingError("a slice that goes backwards")
    return codes[tuple(slice(*one) for one in step["ranges"])]


#: What moves codes; by name, as PyTorch says it.
MOVES: dict[str, Callable[[torch.Tensor, Step], torch.Tensor]] = {
    "clone": lambda codes, _: codes.clone(),
    "transpose": lambda codes, _: codes.transpose(-1, -2),
    "swap_dims": lambda codes, step: codes.transpose(*step["dims"]),
    "permute": lambda codes, step: codes.permute(step["dims"]),
    "flip": lambda codes, step: codes.flip(step["dims"]),
    "reshape": lambda codes, step: codes.reshape(step["shape"]),
    "slice": sliced,
    "narrow": lambda codes, step: codes.narrow(step["dim"], step["start"], step["length"]),
    "select": lambda codes, step: codes.index_select(step["dim"], data(step["indices"], "int", 0)),
}
#: What needs the values: two operands, or one.
PAIRS = ("add", "sub", "mul", "div", "matmul")
SINGLES: dict[str, Callable[[torch.Tensor, Step], torch.Tensor]] = {
    "add_scalar": lambda values, step: values + step["value"],
    "mul_scalar": lambda values, step: values * step["value"],
    "neg": lambda values, _: -values,
    "relu": lambda values, _: values.relu(),
}


def operate(trace: Trace, step: Step) -> Step:
    held = trace.get(step, "on", Quantised)
    op = step["op"]
    if op in MOVES:
        if held.scheme.block is not None or held.scheme.store[0] != "Native":
            raise LackingError("a move of what is packed or has blocks")
        with refusing("panic", "Tensor"), torch.inference_mode(held.plain):
            return kept(trace, step, replace(held, codes=MOVES[op](held.codes, step)))
    if op in SINGLES or op in PAIRS:
        with refusing("panic", "Tensor"), torch.inference_mode(held.plain):
            made = SINGLES[op](held.dequantised(), step) if op in SINGLES else paired(trace, step, held)
        if "as" in step:
            trace.store(step, made)
        return shown(made)
    raise LackingError(f"quant.op {op}")


def paired(trace: Trace, step: Step, held: Quantised) -> torch.Tensor:
    other: Quantised = trace.get(step, "with", Quantised)
    made: torch.Tensor = getattr(held.dequantised(), step["op"])(other.dequantised())
    return made


QUANT_OPS: dict[str, Answer] = {"quant.op": operate}
