"""Mapped values: `param.data = f(param.data)`, which leaves the parameter the same."""

from __future__ import annotations

from typing import Any

import torch

from .data import Step
from .modules import MODULE, chosen
from .outcome import LackingError, refusing
from .trace import NOTHING, Answer, Trace
from .walk import at, tensors


def expressed(value: torch.Tensor, expr: list[Any]) -> torch.Tensor:
    """EXPR of a request."""
    for name, *rest in expr:
        match name:
            case "add":
                value = value + rest[0]
            case "mul":
                value = value * rest[0]
            case "transpose":
                value = value.transpose(-1, -2)
            case "reshape":
                value = value.reshape(rest[0])
            case "zeros_like":
                value = torch.zeros_like(value)
            case "ones_like":
                value = torch.ones_like(value)
            case _:
                raise LackingError(f"a mapper that calls {name}")
    return value


def put(tensor: Any, expr: list[Any]) -> None:
    with refusing("panic", "Tensor"), torch.inference_mode(tensor.is_inference()):
        tensor.data = expressed(tensor.data, expr)


def map_all(trace: Trace, step: Step) -> Step:
    module = trace.take(step, MODULE)
    for path, tensor in tensors(module):
        if tensor.kind in step.get("kinds", ("float",)) and chosen(step.get("group") or "all", path):
            put(tensor, step["expr"])
    return trace.store(step, module)


def map_one(trace: Trace, step: Step) -> Step:
    put(at(trace.get(step, "on", MODULE), step["path"]), step["expr"])
    return NOTHING


MAPPING: dict[str, Answer] = {"module.map": map_all, "param.map": map_one}
