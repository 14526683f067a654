"""PyTorch under protocol 1: what `torch.nn.Module` shares with Burn's modules, and nothing else.

A tree of `dynamic/1` becomes `torch.nn.Module`s, and every answer is what PyTorch's own methods give: the
order of `named_parameters` and `named_children`, `requires_grad_`, `numel`. The ids are an attribute that
the adapter keeps on each parameter. What PyTorch has no word for is answered with `unsupported`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

Step = dict[str, Any]
#: What a handle holds: a parameter alone is no module to PyTorch.
Node = nn.Module | nn.Parameter

DTYPES: dict[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
DEFAULTS = {"float": "f32", "int": "i64", "bool": "bool"}


class LackingError(Exception):
    """What PyTorch, or this adapter, does not have."""


class PanicError(Exception):
    """What PyTorch refuses, with the kind of panic that it is."""


class TorchSubject:
    """Answers cases in process."""

    def hello(self) -> dict[str, Any]:
        return {
            "protocol": 1,
            "impl": {
                "name": "torch",
                "version": str(torch.__version__).partition("+")[0],
                "language": "python",
                "backend": "cpu",
            },
            "caps": {
                "fixtures": ["dynamic/1", "zoo/1"],
                "devices": {"executing": ["d0"], "count": 1},
                "dtypes": list(DTYPES),
                "capabilities": ["autodiff"],
            },
            "limits": {},
        }

    def reset(self) -> None:
        pass

    def case(self, name: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
        trace = Trace()
        return [trace.outcome(step) for step in steps]


class Trace:
    """The state of one case."""

    def __init__(self) -> None:
        self.modules: dict[str, Node] = {}
        self.fresh: dict[int, int] = {}

    def outcome(self, step: Step) -> dict[str, Any]:
        try:
            return {"ok": self.answer(step)}
        except LackingError as lacking:
            return {"unsupported": {"capability": str(lacking), "text": "PyTorch has nothing like it"}}
        except PanicError as panic:
            return {"panic": {"kind": panic.args[0], "text": str(panic.args[1])}}

    def answer(self, step: Step) -> Any:
        name = step.get("do") or step.get("observe", "")
        if name == "module.build":
            self.modules[step["as"]] = Builder(step["fixture"], step.get("args", {})).module()
            return {}
        short = name.removeprefix("module.")
        if step.get("on") not in self.modules or short not in ANSWERS:
            raise LackingError(name)
        return ANSWERS[short](self, step, self.modules[step["on"]])

    def label(self, param: nn.Parameter) -> str:
        known: int | None = param.known_id
        if known is not None:
            return str(known)
        return f"new#{self.fresh.setdefault(param.number, len(self.fresh))}"


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
                return data(inner, inner["kind"], 0)
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
        plain = spec.get("const", spec.get("skip"))
        if plain is not None:
            vars(made)[name] = plain
        else:
            setattr(made, name, self.node(spec))

    def sequence(self, kind: str, nodes: list[Any]) -> nn.Module:
        made: nn.Module = CONTAINERS[kind]()
        for index, node in enumerate(nodes):
            setattr(made, str(index), node)
        return made

    def parameter(self, kind: str, spec: Step) -> nn.Parameter:
        how = spec.get("how", "from_tensor" if kind == "float" else "initialized")
        if how == "lazy" or any(key in spec for key in ("init", "load", "save")):
            raise LackingError("lazy parameters and mappers")
        device, _, tag = (spec.get("device") or self.args.get("device") or "d0").partition("+")
        if device != "d0" or "(" in tag:
            raise LackingError(f"device {device}+{tag}")
        known = None if spec.get("id") is None else int(spec["id"]) + self.base
        value = data(spec, kind, known or 0)
        wanted = kind == "float" and (how != "initialized" or spec.get("require_grad", False))
        param = nn.Parameter(value, requires_grad=wanted)
        return self.named(param, known, kind, bool(tag), spec.get("label"))

    def named(
        self, param: Any, known: int | None, kind: str, tagged: bool, label: str | None
    ) -> nn.Parameter:
        param.known_id, param.kind, param.tagged, param.number = known, kind, tagged, id(param)
        if label is not None:
            self.labels[label] = param
        return param  # type: ignore[no-any-return]


def linear(first: int, bias: bool = True) -> Step:
    weight = {"float": {"id": first, "shape": [2, 3]}}
    rest = {"some": {"float": {"id": first + 1, "shape": [3]}}} if bias else {"none": True}
    return struct("Linear", weight=weight, bias=rest)


def struct(name: str, **fields: Step) -> Step:
    return {"struct": name, "fields": list(fields.items())}


def mlp(args: Step) -> Step:
    hidden = {"vec": [linear(10 + 2 * i) for i in range(args.get("hidden", 2))]}
    rate = {"const": {"float": 0.5}}
    return struct("Mlp", input=linear(1), hidden=hidden, output=linear(3, bias=False), rate=rate)


def floats(_: Step) -> Step:
    names = ("f64", "f32", "f16", "bf16")
    made = {
        name: {"float": {"id": i, "dtype": name, "shape": [2, 3]}} for i, name in enumerate(names, start=1)
    }
    return struct("Floats", **made)


def recursive(_: Step) -> Step:
    def tree(first: int, children: list[Step], below: Step) -> Step:
        return struct("Tree", layer=linear(first), children={"vec": children}, next=below)

    last = struct("Chain", weight={"float": {"id": 8, "shape": [1]}}, next={"none": True})
    chain = struct("Chain", weight={"float": {"id": 7, "shape": [1]}}, next=last)
    return tree(1, [tree(3, [], {"none": True}), tree(5, [], {"none": True})], chain)


#: The fixtures of the zoo that PyTorch can say, as trees.
ZOO: dict[str, Callable[[Step], Step]] = {
    "zoo/linear": lambda args: linear(1, args.get("bias", True)),
    "zoo/mlp": mlp,
    "zoo/floats": floats,
    "zoo/recursive": recursive,
    "zoo/unit": lambda _: struct("Unit"),
    "zoo/tuple10": lambda _: struct(
        "Ten", t={"tuple": [{"float": {"id": i, "shape": [1]}} for i in range(1, 11)]}
    ),
}


def data(spec: Step, kind: str, seed: int) -> torch.Tensor:
    """DATA of the protocol as a tensor."""
    name = spec.get("dtype") or DEFAULTS[kind]
    if not isinstance(name, str) or name not in DTYPES:
        raise LackingError(f"dtype {name}")
    dtype, values = DTYPES[name], spec.get("values")
    shape = spec.get("shape") or ([len(values)] if values is not None else [2])
    if "shape" in spec:
        shape = spec["shape"]
    if "hex" in spec:
        return torch.frombuffer(bytearray.fromhex(spec["hex"]), dtype=dtype).reshape(shape)
    if values is None:
        values = formula(int(spec.get("seed", seed)), shape, name)
    made = [float(one) if kind == "float" else int(one) for one in values]
    return (
        torch.tensor(made, dtype=torch.float64 if kind == "float" else torch.int64).to(dtype).reshape(shape)
    )


def formula(seed: int, shape: list[int], dtype: str) -> list[float]:
    numbers = [(7 * seed + 3 * i) % 17 for i in range(torch.Size(shape).numel())]
    if dtype == "bool":
        return [u % 2 for u in numbers]
    if dtype.startswith("u"):
        return list(numbers)
    return [u - 8 for u in numbers] if dtype.startswith("i") else [(u - 8) / 4 for u in numbers]


#: The lists of PyTorch hold modules or parameters; these hold both.
CONTAINERS = {kind: type(kind, (nn.Module,), {}) for kind in ("Vec", "Array", "Tuple")}


def container(module: nn.Module) -> str:
    name = type(module).__name__
    return name if type(module) in CONTAINERS.values() or name.startswith("Enum:") else f"Struct:{name}"


def walk(module: Node, path: str = "") -> Iterator[tuple[str, str, str, nn.Parameter | None]]:
    """PyTorch's own order: of each module its parameters, then its children."""
    if isinstance(module, nn.Parameter):
        yield "param", path, "", module
        return
    for name, param in module.named_parameters(recurse=False, remove_duplicate=False):
        yield "enter", name, container(module), None
        yield "param", path + name, "", param
        yield "exit", name, container(module), None
    for name, child in module.named_children():
        yield "enter", name, container(module), None
        yield from walk(child, f"{path}{name}.")
        yield "exit", name, container(module), None


def params(module: Node) -> Iterator[tuple[str, nn.Parameter]]:
    return ((path, param) for _, path, _, param in walk(module) if param is not None)


def events(trace: Trace, _: Step, module: Node) -> list[Any]:
    seen: list[Any] = []
    for what, name, inside, param in walk(module):
        if param is None:
            seen.append([what, name, inside])
        else:
            seen.append([param.kind, name, trace.label(param), param.dim(), list(param.shape), True])
    return seen


def state(trace: Trace, step: Step, module: Node) -> list[Step]:
    return [one(trace, path, param, step.get("values", True)) for path, param in params(module)]


def one(trace: Trace, path: str, param: nn.Parameter, with_values: bool) -> Step:
    if not param.tagged:
        raise LackingError("a device that records no gradients")
    value: Step = {"dtype": NAMES[param.dtype], "shape": list(param.shape)}
    if with_values:
        value["hex"] = bytes(param.detach().contiguous().reshape(-1).view(torch.uint8).tolist()).hex()
    return {
        "path": path,
        "kind": param.kind,
        "id": trace.label(param),
        "rank": param.dim(),
        "shape": list(param.shape),
        "initialized": True,
        "device": "d0+autodiff",
        "grad": "leaf" if param.requires_grad else "untracked",
        "active": param.requires_grad if param.kind == "float" else None,
        "value": value,
    }


def requires_grad(module: Node, value: bool) -> dict[str, Any]:
    try:
        module.requires_grad_(value)
    except RuntimeError as error:
        raise PanicError("Gradient", str(error)) from None
    return {}


def clone(trace: Trace, step: Step, module: Node) -> dict[str, Any]:
    made = copy.deepcopy(module)
    for (_, old), (_, new) in zip(params(module), params(made), strict=True):
        new.known_id, new.kind, new.tagged, new.number = old.known_id, old.kind, old.tagged, old.number
    trace.modules[step["as"]] = made
    return {}


def drop(trace: Trace, step: Step, _: Node) -> dict[str, Any]:
    del trace.modules[step["on"]]
    return {}


def count(_: Trace, __: Step, module: Node) -> int:
    return sum(
        param.numel() for param in ([module] if isinstance(module, nn.Parameter) else module.parameters())
    )


def set_one(_: Trace, step: Step, module: Node) -> dict[str, Any]:
    for path, param in params(module):
        if path == step["path"]:
            requires_grad(param, step["value"])
    return {}


ANSWERS: dict[str, Callable[[Trace, Step, Node], Any]] = {
    "events": events,
    "state": state,
    "num_params": count,
    "param_ids": lambda trace, _, module: [trace.label(param) for _, param in params(module)],
    "freeze": lambda _, __, module: requires_grad(module, False),
    "unfreeze": lambda _, __, module: requires_grad(module, True),
    "set_require_grad": lambda _, step, module: requires_grad(module, step["value"]),
    "no_grad": lambda _, __, module: requires_grad(module, False),
    "param.set_require_grad": set_one,
    "clone": clone,
    "drop": drop,
}
