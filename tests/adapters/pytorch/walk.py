"""PyTorch's own order, and what can be seen on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from .build import CONTAINERS, Node
from .data import Step, told
from .outcome import LackingError

#: Enter or exit with a name and its container, or a tensor with its path.
Seen = tuple[str, str, str, torch.Tensor | None]


def walk(module: Node, path: str = "") -> Iterator[Seen]:
    """Of each module its parameters, then its buffers, then its children, as `state_dict` has them."""
    if isinstance(module, nn.Parameter):
        yield "tensor", path, "", module
        return
    own = (
        *module.named_parameters(recurse=False, remove_duplicate=False),
        *module.named_buffers(recurse=False, remove_duplicate=False),
    )
    for name, tensor in own:
        yield "enter", name, container(module), None
        yield "tensor", path + name, "", tensor
        yield "exit", name, container(module), None
    for name, child in module.named_children():
        yield "enter", name, container(module), None
        yield from walk(child, f"{path}{name}.")
        yield "exit", name, container(module), None


def container(module: nn.Module) -> str:
    name = type(module).__name__
    return name if type(module) in CONTAINERS.values() or name.startswith("Enum:") else f"Struct:{name}"


def tensors(module: Node) -> Iterator[tuple[str, Any]]:
    """Each parameter and buffer with its path."""
    return ((path, tensor) for _, path, _, tensor in walk(module) if tensor is not None)


def grad_of(tensor: torch.Tensor) -> str:
    """The gradient state of a tensor in the words of the protocol."""
    if tensor.is_inference():
        return "plain"
    if not tensor.requires_grad:
        return "untracked"
    return "leaf" if tensor.is_leaf else "non_leaf"


def device_of(tensor: torch.Tensor) -> str:
    return "d0" if tensor.is_inference() else "d0+autodiff"


def devices_of(module: Node) -> list[str]:
    """Where the tensors of a module are, each device of PyTorch once, under the name of its first tensor."""
    first: dict[torch.device, str] = {}
    for _, tensor in tensors(module):
        first.setdefault(tensor.device, device_of(tensor))
    return list(first.values())


def tensor_state(path: str, tensor: Any, label: str, with_values: bool) -> Step:
    """What `observe state` tells of one parameter or buffer."""
    value = told(tensor)
    if not with_values:
        del value["hex"]
    return {
        "path": path,
        "kind": tensor.kind,
        "id": label,
        "rank": tensor.dim(),
        "shape": list(tensor.shape),
        "initialized": True,
        "device": device_of(tensor),
        "grad": grad_of(tensor),
        "active": tensor.requires_grad if tensor.kind == "float" else None,
        "value": value,
    }


def at(module: Node, path: str) -> Any:
    """The parameter or buffer of a path."""
    for name, tensor in tensors(module):
        if name == path:
            return tensor
    raise LackingError(f"a parameter at {path!r}")
