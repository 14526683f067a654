"""Random module trees of the fixture `dynamic/1`, small and of every kind of node."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

Node = dict[str, Any]

_NAMES = ("w", "bias", "lin", "layers", "x", "head", "norm", "a", "scale", "mid", "b1", "z")
_TYPES = ("Net", "Lin", "Block", "Head", "Mix")
_VARIANTS = ("One", "Two", "Linear", "Off")
#: Kinds that may not stand in an option, and those that may not stand in a list beside others.
_OPTIONAL = ("some", "none")
_NESTED = (*_OPTIONAL, "vec", "array", "tuple")

_SHAPES = ((2,), (3,), (1,), (2, 3), (2, 2), (1, 2), (1, 2, 3), (0, 2))

#: What a kind of node shows in a traversal.
_CLAUSES = {
    "struct": ("MOD-18",),
    "vec": ("MOD-13",),
    "array": ("MOD-13",),
    "tuple": ("MOD-13",),
    "some": ("MOD-12",),
    "none": ("MOD-12", "MOD-19"),
    "enum": ("MOD-21",),
    "const": ("MOD-20",),
    "skip": ("MOD-20", "MOD-26"),
    "flag": ("FLG-3",),
    "tensor": ("PAR-66",),
    "running": ("PAR-73",),
    "same": ("MOD-10",),
}


class Drawn(msgspec.Struct):
    """A tree, its leaves (id, path) in order, and the kinds of its nodes."""

    root: Node
    leaves: list[tuple[int, str]] = []
    kinds: list[str] = []

    @property
    def clauses(self) -> list[str]:
        """The clauses that the kinds of node show."""
        return sorted({clause for kind in self.kinds for clause in _CLAUSES.get(kind, ())})


class _Pencil:
    """Draws nodes until its budget is used up."""

    def __init__(
        self, rng: Random, nodes: int, *, lazy: bool, flags: bool, records: bool, devices: bool
    ) -> None:
        self.rng = rng
        self.budget = nodes
        self.lazy, self.flags, self.records, self.devices = lazy, flags, records, devices
        self.next_id = 0
        self.labels: dict[str, Node] = {}
        self.used: set[str] = set()
        self.kinds: list[str] = []

    def node(self, depth: int, without: tuple[str, ...] = ()) -> Node:
        """A node that may have children while the budget lasts."""
        self.budget -= 1
        inner = self.budget > 0 and depth < 4
        weights = {
            "float": 9,
            "int": 2,
            "bool": 2,
            "flag": 8 if self.flags else 2,
            "tensor": 0 if self.devices else 1,
            "running": 0 if self.devices else 1,
            "same": 2 if self.labels else 0,
            "none": 1,
            "struct": 5 if inner else 0,
            "vec": 3 if inner else 0,
            "array": 2 if inner else 0,
            "tuple": 2 if self.budget > 1 and depth < 4 else 0,
            "some": 2 if inner else 0,
            "enum": 2 if inner else 0,
        }
        # A weight of 0 is left out: not every generator of choices looks at the weights.
        kinds = {kind: weight for kind, weight in weights.items() if weight and kind not in without}
        return self.make(self.rng.choices(list(kinds), list(kinds.values()))[0], depth)

    def make(self, kind: str, depth: int) -> Node:
        """A node of one kind."""
        self.kinds.append(kind)
        rng = self.rng
        if kind in ("float", "int", "bool"):
            return {kind: self.param(kind)}
        match kind:
            case "flag":
                return {"flag": {"id": self.new_id(), "value": rng.random() < 0.6}}
            case "tensor":
                shape = list(rng.choice(_SHAPES))
                return {"tensor": {"kind": rng.choice(("float", "int", "bool")), "shape": shape}}
            case "running":
                return {"running": {"id": self.new_id(), "shape": [rng.randint(1, 3)]}}
            case "same":
                label = rng.choice(list(self.labels))
                self.used.add(label)
                return {"same": label}
            case "none":
                return {"none": True}
            case "some":
                return {"some": self.node(depth + 1, _OPTIONAL)}
            case "struct":
                return self.struct(depth)
            case "enum":
                return {"enum": "Choice", "variant": rng.choice(_VARIANTS), "payload": self.payload(depth)}
            case "tuple":
                return {"tuple": self.parts(depth)}
            case _:
                return {kind: self.elements(depth)}

    def parts(self, depth: int) -> list[Node]:
        """The parts of a tuple: each of its own type, the first a module."""
        parts = [self.node(depth + 1, _OPTIONAL)]
        while len(parts) < 2 or (len(parts) < 3 and self.rng.random() < 0.3):
            constant = self.rng.random() < 0.15
            parts.append(self.const() if constant else self.node(depth + 1, ("none",)))
        return parts

    def elements(self, depth: int) -> list[Node]:
        """The elements of a list, which has one type: optional all or none, of lists all or none."""
        count = self.rng.randint(0, 3)
        form = self.rng.random()
        if form < 0.2:
            return [self.option(depth + 1) for _ in range(count)]
        if form < 0.3:
            kind = self.rng.choice(("float", "int", "flag"))
            return [{"vec": [self.make(kind, depth + 2) for _ in range(count)]} for _ in range(2)]
        return [self.node(depth + 1, _NESTED) for _ in range(count)]

    def option(self, depth: int) -> Node:
        """An element of a list of options."""
        if self.rng.random() < 0.3:
            return self.make("none", depth)
        self.kinds.append("some")
        return {"some": self.node(depth + 1, _NESTED)}

    def payload(self, depth: int) -> Node:
        """What a variant holds: a constant now and then."""
        return self.const() if self.rng.random() < 0.2 else self.node(depth + 1, _OPTIONAL)

    def struct(self, depth: int) -> Node:
        names = self.rng.sample(_NAMES, self.rng.randint(2, 4) if depth == 0 else self.rng.randint(1, 3))
        fields: list[list[Any]] = []
        for name in names:
            if self.rng.random() < 0.12:
                fields.append([name, self.const()])
            elif self.rng.random() < 0.06:
                self.kinds.append("skip")
                fields.append([name, {"skip": self.const()}])
            else:
                fields.append([name, self.node(depth + 1)])
        return {"struct": self.rng.choice(_TYPES), "fields": fields}

    def const(self) -> Node:
        self.kinds.append("const")
        rng = self.rng
        value = rng.choice(
            (
                {"float": rng.choice((0.5, 1.0, 1e-5, 3e20))},
                {"int": rng.randint(-3, 9)},
                {"bool": True},
                {"str": 'a "b"'},
            )
        )
        return {"const": value}

    def param(self, kind: str) -> Node:
        rng = self.rng
        made: Node = {"id": self.new_id(), "shape": list(rng.choice(_SHAPES))}
        if self.devices:
            made["device"] = rng.choice(("d0", "d0+autodiff", "d1", "d1+autodiff", "d2"))
        if self.lazy and (self.devices or rng.random() < 0.7):
            made["how"] = "lazy"
            if kind == "float" and rng.random() < 0.3:
                made["require_grad"] = False
        elif kind == "float" and rng.random() < 0.2:
            made["how"] = "initialized"
        if self.records and kind == "float" and rng.random() < 0.25:
            made["dtype"] = rng.choice(("f64", "f16", "bf16"))
        if kind == "float" and not self.devices and rng.random() < 0.25:
            made["label"] = f"p{made['id']}"
            self.labels[made["label"]] = made
        return made

    def drop_unused_labels(self) -> None:
        """A label that no `same` names is noise."""
        for label, made in self.labels.items():
            if label not in self.used:
                del made["label"]

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id


def draw_tree(
    rng: Random,
    nodes: int,
    *,
    lazy: bool = False,
    flags: bool = False,
    records: bool = False,
    devices: bool = False,
    leaves: int = 0,
    kinds: tuple[str, ...] = (),
) -> Drawn:
    """A tree of about `nodes` nodes, with at least `leaves` parameters and a node of each of `kinds`."""
    while True:
        pencil = _Pencil(rng, nodes, lazy=lazy, flags=flags, records=records, devices=devices)
        root = pencil.make(rng.choices(("struct", "vec"), (16, 2))[0], 0)
        found = list(leaves_of(root, ""))
        whole = len(pencil.kinds) >= nodes and len(found) >= leaves
        if whole and all(kind in pencil.kinds for kind in kinds):
            pencil.drop_unused_labels()
            return Drawn(root, found, pencil.kinds)


def leaves_of(node: Node, path: str) -> list[tuple[int, str]]:
    """The parameters with an id below a node, each with its dotted path."""

    def below(name: str) -> str:
        return f"{path}.{name}" if path else name

    for kind in ("float", "int", "bool", "flag", "running"):
        if kind in node:
            return [(node[kind]["id"], path)]
    children: list[tuple[str, Node]] = []
    if "struct" in node:
        children = [(below(name), child) for name, child in node["fields"] if "skip" not in child]
    elif "enum" in node:
        children = [(below(node["variant"]), node["payload"])]
    elif "some" in node:
        children = [(path, node["some"])]
    for kind in ("vec", "array", "tuple"):
        children += [(below(str(index)), child) for index, child in enumerate(node.get(kind, ()))]
    return [leaf for place, child in children for leaf in leaves_of(child, place)]
