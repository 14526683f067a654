"""Trees of `dynamic/1` as `torch.nn.Module`s."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from .data import Step, data
from .outcome import LackingError
from .zoo import ZOO

#: What a handle of a module holds: a parameter alone is no module to PyTorch.
Node = nn.Module | nn.Parameter
#: The lists of PyTorch hold modules or parameters; these hold both.
CONTAINERS = {kind: type(kind, (nn.Module,), {}) for kind in ("Vec", "Array", "Tuple")}
#: What the adapter keeps on each parameter: PyTorch has no ids, and forgets whether it was made of integers.
KEPT = ("known_id", "number", "kind")


def records_nothing(device: str) -> bool:
    """Whether a device of the protocol records no gradients: its tensors are PyTorch's inference tensors.

    PyTorch keeps that with each tensor, not with a device. `d0` is the processor.
    """
    name, _, tag = device.partition("+")
    if name != "d0" or tag not in ("", "autodiff"):
        raise LackingError(f"device {device}")
    return not tag


class Builder:
    """Builds nodes depth first, in the order written."""

    def __init__(self, fixture: str, args: Step) -> None:
        if fixture != "dynamic/1" and fixture not in ZOO:
            raise LackingError(f"fixture {fixture}")
        self.args = args
        self.tree = args["tree"] if fixture == "dynamic/1" else ZOO[fixture](args)
        self.base = int(args.get("base", 0))
        self.labels: dict[str, nn.Parameter] = {}

    def module(self) -> Node:
        made = self.node(self.tree)
        if not isinstance(made, (nn.Module, nn.Parameter)):
            raise LackingError("a root that is no module and no parameter")
        return made

    def node(self, spec: Step) -> Any:
        if "struct" in spec:
            return self.struct(spec)
        if "enum" in spec:
            return self.enum(spec)
        ((key, inner),) = spec.items()
        match key:
            case "float" | "int" | "bool":
                return self.parameter(key, inner)
            case "same":
                return self.labels[inner]
            case "vec" | "array" | "tuple":
                return self.sequence(key.title(), [self.node(one) for one in inner])
            case "tensor":
                with torch.inference_mode(
                    records_nothing(inner.get("device") or self.args.get("device") or "d0")
                ):
                    return data(inner, inner["kind"], 0)
            case "running":
                return self.running(inner)
            case "some":
                return self.node(inner)
            case "none":
                return None
        raise LackingError(f"node {key}")

    def struct(self, spec: Step) -> nn.Module:
        made: nn.Module = type(spec["struct"], (nn.Module,), {})()
        for name, field in spec["fields"]:
            if not name.isidentifier() or hasattr(made, name):
                raise LackingError(f"a field named {name!r}")
            self.field(made, name, field)
        return made

    def enum(self, spec: Step) -> nn.Module:
        made: nn.Module = type(f"Enum:{spec['enum']}", (nn.Module,), {})()
        self.field(made, spec["variant"], spec["payload"])
        return made

    def field(self, made: nn.Module, name: str, spec: Step) -> None:
        held = spec.get("const", spec.get("skip"))
        if held is not None:
            vars(made)[name] = held
        else:
            attach(made, name, self.node(spec))

    def sequence(self, kind: str, nodes: list[Any]) -> nn.Module:
        made: nn.Module = CONTAINERS[kind]()
        for index, node in enumerate(nodes):
            attach(made, str(index), node)
        return made

    def parameter(self, kind: str, spec: Step) -> nn.Parameter:
        how = spec.get("how", "from_tensor" if kind == "float" else "initialized")
        if how == "lazy" or any(key in spec for key in ("init", "load", "save")):
            raise LackingError("lazy parameters and mappers")
        known = self.id_of(spec)
        wanted = kind == "float" and (how != "initialized" or spec.get("require_grad", False))
        with torch.inference_mode(records_nothing(spec.get("device") or self.args.get("device") or "d0")):
            param = nn.Parameter(data(spec, kind, known or 0), requires_grad=wanted)
        keep(param, known, kind)
        if spec.get("label") is not None:
            self.labels[spec["label"]] = param
        return param

    def running(self, spec: Step) -> torch.Tensor:
        known = self.id_of(spec)
        with torch.inference_mode(records_nothing(spec.get("device") or self.args.get("device") or "d0")):
            return keep(data(spec, "float", known or 0), known, "float")

    def id_of(self, spec: Step) -> int | None:
        return None if spec.get("id") is None else int(spec["id"]) + self.base


def attach(module: nn.Module, name: str, node: Any) -> None:
    """A running state is a buffer; any other tensor that is no parameter is an attribute like any other."""
    if hasattr(node, "known_id") and not isinstance(node, nn.Parameter):
        module.register_buffer(name, node)
    else:
        setattr(module, name, node)


def keep(tensor: Any, known: int | None, kind: str) -> Any:
    """Say of a tensor what PyTorch does not; without an id it is known by the object that it is."""
    tensor.known_id, tensor.number, tensor.kind = known, id(tensor), kind
    return tensor


def copied(node: Node) -> Node:
    """A deep copy, whose tensors are of the same mode and say the same of themselves."""
    memo: dict[int, Any] = {}
    for tensor in tensors_of(node):
        with torch.inference_mode(tensor.is_inference()):
            new = tensor.detach().clone()
            if isinstance(tensor, nn.Parameter):
                new = nn.Parameter(new, requires_grad=tensor.requires_grad)
        for name in KEPT:
            if hasattr(tensor, name):
                setattr(new, name, getattr(tensor, name))
        memo[id(tensor)] = new
    return copy.deepcopy(node, memo)


def tensors_of(node: Node) -> list[torch.Tensor]:
    if isinstance(node, nn.Parameter):
        return [node]
    held = [one for child in node.modules() for one in vars(child).values() if isinstance(one, torch.Tensor)]
    return [*node.parameters(), *node.buffers(), *held]
