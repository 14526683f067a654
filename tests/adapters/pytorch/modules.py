"""`module.*` and what is observed of modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .build import Builder, Node, copied, records_nothing
from .data import Step
from .outcome import LackingError, refusing
from .trace import NOTHING, Answer, Trace
from .walk import at, devices_of, tensor_state, tensors, walk

MODULE = (nn.Module, nn.Parameter)


def build(trace: Trace, step: Step) -> Step:
    return trace.store(step, Builder(step["fixture"], step.get("args", {})).module())


def clone(trace: Trace, step: Step) -> Step:
    return trace.store(step, copied(trace.get(step, "on", MODULE)))


def drop(trace: Trace, step: Step) -> Step:
    trace.take(step, MODULE)
    return NOTHING


def requiring(value: bool | None) -> Answer:
    """`requires_grad_` of the whole module; with None as the step says."""

    def answer(trace: Trace, step: Step) -> Step:
        module = trace.take(step, MODULE)
        requires_grad(module, step["value"] if value is None else value)
        return trace.store(step, module)

    return answer


def requires_grad(module: Node, value: bool) -> None:
    # An inference tensor takes the mark in inference mode alone.
    with refusing("panic", "Gradient"), torch.inference_mode():
        module.requires_grad_(value)


def requiring_group(value: bool | None) -> Answer:
    def answer(trace: Trace, step: Step) -> Step:
        module = trace.take(step, MODULE)
        for path, tensor in tensors(module):
            if chosen(step["group"], path):
                requires_grad(tensor, step["value"] if value is None else value)
        return trace.store(step, module)

    return answer


def chosen(group: Any, path: str) -> bool:
    """Whether a group chooses a parameter by its name, as loops over `named_parameters` do it."""
    if group == "all":
        return True
    ((key, wanted),) = group.items() if len(group) == 1 else ((None, None),)
    match key:
        case "path" | "paths":
            return path in ([wanted] if key == "path" else wanted)
        case "predicate":
            return wanted in path
        case "predicates":
            return all(part in path for part in wanted)
        case "any_predicates":
            return any(part in path for part in wanted)
    raise LackingError(f"group {key}")


def requiring_one(trace: Trace, step: Step) -> Step:
    requires_grad(at(trace.get(step, "on", MODULE), step["path"]), step["value"])
    return NOTHING


def is_required(trace: Trace, step: Step) -> bool:
    return bool(at(trace.get(step, "on", MODULE), step["path"]).requires_grad)


def to_device(trace: Trace, step: Step) -> Step:
    """`Module.to`; PyTorch cannot make an inference tensor of another one, or the other way round."""
    module = trace.take(step, MODULE)
    if any(tensor.is_inference() is not records_nothing(step["device"]) for _, tensor in tensors(module)):
        raise LackingError("a move to a device that treats gradients otherwise")
    return trace.store(step, module.to("cpu"))


def events(trace: Trace, step: Step) -> list[Any]:
    seen: list[Any] = []
    for what, name, inside, tensor in walk(trace.get(step, "on", MODULE)):
        if tensor is None:
            seen.append([what, name, inside])
        else:
            kind: str = tensor.kind  # type: ignore[attr-defined]
            seen.append([kind, name, trace.label(tensor), tensor.dim(), list(tensor.shape), True])
    return seen


def state(trace: Trace, step: Step) -> list[Step]:
    module = trace.get(step, "on", MODULE)
    return [
        tensor_state(path, tensor, trace.label(tensor), step.get("values", True))
        for path, tensor in tensors(module)
    ]


def count(trace: Trace, step: Step) -> int:
    module = trace.get(step, "on", MODULE)
    return sum(
        param.numel() for param in ([module] if isinstance(module, nn.Parameter) else module.parameters())
    )


def ids(trace: Trace, step: Step) -> list[str]:
    return [trace.label(tensor) for _, tensor in tensors(trace.get(step, "on", MODULE))]


def devices(trace: Trace, step: Step) -> list[str]:
    return devices_of(trace.get(step, "on", MODULE))


MODULES: dict[str, Answer] = {
    "module.build": build,
    "module.clone": clone,
    "module.drop": drop,
    "module.to_device": to_device,
    "module.freeze": requiring(False),
    "module.no_grad": requiring(False),
    "module.unfreeze": requiring(True),
    "module.set_require_grad": requiring(None),
    "module.freeze_group": requiring_group(False),
    "module.unfreeze_group": requiring_group(True),
    "module.set_require_grad_group": requiring_group(None),
    "module.num_params": count,
    "module.param_ids": ids,
    "module.devices": devices,
    "param.set_require_grad": requiring_one,
    "param.is_require_grad": is_required,
    "observe.events": events,
    "observe.state": state,
    "observe.num_params": count,
    "observe.param_ids": ids,
    "observe.devices": devices,
}
