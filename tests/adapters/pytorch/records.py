"""`state_dict` as the record of a module, and `load_state_dict`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from .build import KEPT
from .data import NAMES, Step, hex_of
from .outcome import EndedError, LackingError
from .trace import Answer, Trace


@dataclass(frozen=True)
class Record:
    """The values of a module by their paths, and how they are to be loaded."""

    #: Parameters and buffers themselves (`keep_vars`), which is how their ids come along.
    held: dict[str, Any]
    policy: str = "FromRecord"
    partial: bool = False
    unused: bool = False
    validate: bool = True


def moved(tensor: Any, plain: bool) -> Any:
    """A copy of a parameter or buffer with what is kept on it, recording gradients or not."""
    with torch.inference_mode(plain):
        made = tensor.detach().clone()
        if isinstance(tensor, nn.Parameter):
            made = nn.Parameter(made, requires_grad=tensor.requires_grad)
    for name in KEPT:
        if hasattr(tensor, name):
            setattr(made, name, getattr(tensor, name))
    return made


def record(trace: Trace, step: Step) -> Step:
    if step.get("group") is not None:
        raise LackingError("a record of a group")
    module = trace.take(step, nn.Module)
    held = module.state_dict(keep_vars=True)
    return trace.store(step, Record({path: moved(one, one.is_inference()) for path, one in held.items()}))


def options(trace: Trace, step: Step) -> Step:
    old: Record = trace.get(step, "on", Record)
    new = replace(
        old,
        policy=step.get("dtype_policy", old.policy),
        partial=step.get("allow_partial", old.partial),
        unused=step.get("allow_unused", old.unused),
        validate=step.get("validate", old.validate),
    )
    trace.store(step, new)
    words = {True: "true", False: "false"}
    parts = {
        "num_tensors": len(new.held),
        "dtype_policy": new.policy,
        "allow_partial": words[new.partial],
        "allow_unused": words[new.unused],
        "validate": words[new.validate],
    }
    # Burn's text, which says which options the adapter was told.
    return {"debug": f"ModuleRecord {{ {', '.join(f'{name}: {one}' for name, one in parts.items())} }}"}


def length(trace: Trace, step: Step) -> Step:
    count = len(trace.get(step, "on", Record).held)
    return {"len": count, "is_empty": count == 0}


def observed(trace: Trace, step: Step) -> list[Step]:
    held = trace.get(step, "on", Record).held
    return [
        {
            "path": path,
            "id": trace.label(tensor),
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "hex": hex_of(tensor),
        }
        for path, tensor in held.items()
    ]


def loading(form: str, kind: str) -> Answer:
    def answer(trace: Trace, step: Step) -> Step:
        wanted: Record = trace.get(step, "record", Record)
        module = trace.take(step, nn.Module)
        if not wanted.validate:
            raise LackingError("loading that validates nothing")
        load(module, wanted, form, kind)
        return trace.store(step, module)

    return answer


def load(module: nn.Module, wanted: Record, form: str, kind: str) -> None:
    """`load_state_dict`: by `assign` the tensors of the record take the place of the module's.

    It is strict about what is missing and what is unused, or tells both: who minds one alone looks there.
    """
    target = module.state_dict(keep_vars=True)
    fitting = {
        path: moved(one, target[path].is_inference() if path in target else one.is_inference())
        for path, one in wanted.held.items()
    }
    strict, assign = not (wanted.partial or wanted.unused), wanted.policy == "FromRecord"
    try:
        # Inference tensors take a mark of gradients, and values, in inference mode alone.
        with torch.inference_mode(any(one.is_inference() for one in target.values())):
            missing, unused = module.load_state_dict(fitting, strict=strict, assign=assign)
    except RuntimeError as error:
        raise EndedError(form, kind, str(error)) from None
    for names, allowed in ((missing, wanted.partial), (unused, wanted.unused)):
        if names and not allowed:
            raise EndedError(form, kind, f"in one of the state dicts alone: {names}")


RECORDS: dict[str, Answer] = {
    "module.record": record,
    "module.load_record": loading("panic", "Load"),
    "module.try_load_record": loading("error", "RecordValidation"),
    "record.options": options,
    "record.len": length,
    "observe.record": observed,
}
