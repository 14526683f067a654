"""`tensor.*`, as far as it shows gradient states, and the values of parameters.

Tensors and their operations are no family that is shared: integers, reductions, and what is refused for
its shape are not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .build import records_nothing
from .data import Step, data, dtype_of, kind_of, told
from .modules import MODULE
from .outcome import EndedError, LackingError
from .trace import Answer, Trace
from .walk import at, device_of, grad_of


def shown(tensor: torch.Tensor) -> Step:
    """TENSOR of a result."""
    return {
        "kind": kind_of(tensor.dtype),
        "rank": tensor.dim(),
        "device": device_of(tensor),
        "grad": grad_of(tensor),
        "value": told(tensor),
    }


def create(trace: Trace, step: Step) -> Step:
    with torch.inference_mode(records_nothing(step["device"])):
        made = data(step, step["kind"], 0)
    trace.store(step, made)
    return shown(made)


def observed(trace: Trace, step: Step) -> Step:
    return shown(trace.get(step, "on", torch.Tensor))


def operate(trace: Trace, step: Step) -> Step:
    """One operation; in inference mode where all operands are of it."""
    tensor: torch.Tensor = trace.get(step, "on", torch.Tensor)
    if not tensor.is_floating_point():
        raise LackingError("an operation on integers")
    marks = "require_grad" in step["op"]
    other = trace.get(step, "with", torch.Tensor) if "with" in step else tensor
    # A plain tensor of Burn takes no gradient: in inference mode PyTorch would set the mark all the same.
    plain = tensor.is_inference() and other.is_inference() and not marks
    with refusing_gradients(marks), torch.inference_mode(plain):
        made = result(step, tensor, other)
    if "as" in step:
        trace.store(step, made)
    return shown(made)


@contextmanager
def refusing_gradients(marks: bool) -> Iterator[None]:
    """What is refused for its gradient state is a panic; what is refused for its shape is not asked."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        if marks or "nference tensor" in str(error):
            raise EndedError("panic", "Gradient", str(error)) from None
        raise LackingError("a shape that does not fit") from None


def result(step: Step, tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    match step["op"]:
        case "detach":
            return tensor.detach()
        case "clone":
            # Another handle of the same tensor; `Tensor.clone` would be an operation that is recorded.
            return tensor
        case "require_grad" | "set_require_grad":
            fresh = tensor if not tensor.is_leaf else tensor.detach()
            return fresh.requires_grad_(step.get("value", True))
        case "to_device":
            if records_nothing(step["device"]) is not tensor.is_inference():
                raise LackingError("a move to a device that treats gradients otherwise")
            return tensor.to("cpu")
        case "cast":
            return tensor.to(dtype_of(step["dtype"]))
        case "add" | "sub" | "mul" | "matmul":
            made: torch.Tensor = getattr(tensor, step["op"])(other)
            return made
        case "add_scalar":
            return tensor + step["value"]
        case "mul_scalar":
            return tensor * step["value"]
        case "transpose":
            return tensor.transpose(-1, -2)
        case "reshape":
            return tensor.reshape(step["shape"])
        case "zeros_like":
            return torch.zeros_like(tensor)
        case "ones_like":
            return torch.ones_like(tensor)
    raise LackingError(f"tensor.op {step['op']}")


def value(trace: Trace, step: Step) -> Step:
    tensor: Any = at(trace.get(step, "on", MODULE), step["path"])
    if "as" in step:
        trace.store(step, tensor)
    return shown(tensor)


TENSORS: dict[str, Answer] = {
    "tensor.create": create,
    "tensor.op": operate,
    "observe.tensor": observed,
    "param.val": value,
}
