"""What it costs to walk a module tree, beside `torch.nn.Module`."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from refimpl import Device, Module, ModuleMapper, ModuleVisitor, Param, ParamId, Tensor
from refimpl.param.traversal import PathVisitor
from tests.bench.figure import Figure, least, ratio, span


class Pair(Module):
    """Two parameters."""

    weight: Param[Tensor]
    bias: Param[Tensor]


class Stack(Module):
    """Many pairs."""

    layers: tuple[Pair, ...]


class Paths(PathVisitor):
    """Collects the path of every parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def visit_float(self, param: Param[Tensor]) -> None:
        self.found.append(self.path)


class TorchPair(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 2))
        self.bias = torch.nn.Parameter(torch.ones(2))


class TorchStack(torch.nn.Module):
    def __init__(self, pairs: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(TorchPair() for _ in range(pairs))


def stack(parameters: int) -> Stack:
    device = Device("sim", 0).autodiff()
    weight, bias = Tensor.ones((2, 2), device), Tensor.ones((2,), device)
    return Stack(
        layers=tuple(
            Pair(weight=Param.from_tensor(weight), bias=Param.from_tensor(bias))
            for _ in range(parameters // 2)
        )
    )


def lazy_stack(parameters: int) -> Stack:
    def refuse(device: Device, require_grad: bool) -> Tensor:
        raise AssertionError("counting initialises nothing")

    def lazy(shape: tuple[int, ...]) -> Param[Tensor]:
        return Param.uninitialized(ParamId.new(), refuse, Device("sim", 0), True, shape)

    return Stack(layers=tuple(Pair(weight=lazy((2, 2)), bias=lazy((2,))) for _ in range(parameters // 2)))


class Parts:
    """As large as a parameter, and as its tensor."""

    __slots__ = ("a", "b", "c", "d", "e")


def bare_objects(pairs: int) -> list[object]:
    """As many objects as a frozen stack is made of, filled without any rule: the floor."""
    new, made = object.__new__, []
    for _ in range(pairs):
        fields = {}
        for name in ("weight", "bias"):
            tensor, cell, param = new(Parts), new(Parts), new(Parts)
            tensor.a = tensor.b = tensor.c = tensor.d = None
            cell.a, cell.b, cell.c = tensor, None, None
            param.a, param.b, param.c, param.d, param.e = cell, None, None, None, None
            fields[name] = param
        pair = new(Pair)
        object.__setattr__(pair, "__dict__", fields)
        made.append(pair)
    return made


def paths(model: Stack) -> list[str]:
    visitor = Paths()
    model.visit(visitor)
    return visitor.found


def figures() -> Iterator[Figure]:
    ours, theirs = stack(10_000), TorchStack(5_000)
    if paths(ours) != [name for name, _ in theirs.named_parameters()]:
        raise AssertionError("both are meant to walk the same tree")
    unchanged = ours.map(ModuleMapper())
    if unchanged.layers[0].weight is not ours.layers[0].weight:
        raise AssertionError("a map that changes nothing is meant to give the same objects")

    visit, named, silent = least(
        lambda: paths(ours),
        lambda: [name for name, _ in theirs.named_parameters()],
        lambda: ours.visit(ModuleVisitor()),
        rounds=15,
    )
    why = (
        f"a visitor that does nothing takes {silent / named:.2f} of it: enter, exit and the parameter are "
        "calls that any visitor may override. Keeping and joining the names is the rest."
    )
    yield ratio("visit, 10,000 parameters, with paths", visit, named, 0.6, "named_parameters", why)

    freeze, requires, same, named, objects = least(
        ours.freeze,
        lambda: theirs.requires_grad_(False),
        lambda: ours.map(ModuleMapper()),
        lambda: [name for name, _ in theirs.named_parameters()],
        lambda: bare_objects(5_000),
        rounds=15,
    )
    why = (
        "`requires_grad_` flips a flag in place, a frozen module is a new one. The events of the walk alone "
        f"take {same / requires:.2f} of it, and making the new objects alone {objects / requires:.2f}."
    )
    yield ratio("freeze, 10,000 parameters", freeze, requires, 1.0, "requires_grad_", why)
    yield ratio("map that changes nothing", same, named, 0.6, "named_parameters")

    small, large = stack(100), stack(100_000)
    few = least(lambda: paths(small), rounds=15, number=50)[0] / 100
    many = least(lambda: paths(large), rounds=5)[0] / 100_000
    yield Figure(
        "visit, a parameter of 100,000 over one of 100",
        many / few,
        1.3,
        "x",
        f"{span(many)} / {span(few)} a parameter",
    )

    lazy = lazy_stack(10_000)
    (count,) = least(lazy.num_params, rounds=5)
    initialised = sum(pair.weight.is_initialized() + pair.bias.is_initialized() for pair in lazy.layers)
    yield Figure("num_params on 10,000 lazy ones: initialised", initialised, 0, "", span(count))
