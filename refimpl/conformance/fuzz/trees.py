"""Every small module tree, the smallest first: up to 6 nodes, each asked about all that a tree can show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..case import Step
from .comparison import Trace
from .placements import compositions

MAX_NODES = 6

Shape = tuple[str, tuple["Shape", ...]]

_LEAVES = ("float", "int", "flag")
_CLAUSES = ("MOD-5", "MOD-8", "MOD-18", "PAR-45", "PAR-46", "REC-2")


def trees() -> Iterator[Trace]:
    """All of them in the order of their size, the kinds of nodes in a fixed order."""
    for nodes in range(1, MAX_NODES + 1):
        for children in _rows(nodes - 1):
            tree = _Writer().node(("struct", children))
            yield Trace(tuple(_questions(tree)), _CLAUSES, ("dynamic/1", "autodiff", "records"))


def _shapes(nodes: int) -> Iterator[Shape]:
    """Every node that has so many nodes with itself."""
    if nodes == 1:
        for leaf in (*_LEAVES, "vec"):
            yield leaf, ()
        return
    for row in _rows(nodes - 1):
        yield "struct", row
        if len({kind for kind, _ in row}) == 1 and row[0][0] != "some":
            yield "vec", row
        if len(row) >= 2:
            yield "tuple", row
        if len(row) == 1 and row[0][0] != "some":
            yield "some", row
        if len(row) == 1:
            yield "enum", row


def _rows(nodes: int) -> Iterator[tuple[Shape, ...]]:
    """Every row of children that has so many nodes together."""
    for count in range(nodes + 1):
        for sizes in compositions(nodes, count):
            if 0 not in sizes:
                yield from _row(sizes)


def _row(sizes: list[int]) -> Iterator[tuple[Shape, ...]]:
    if not sizes:
        yield ()
        return
    for first in _shapes(sizes[0]):
        for rest in _row(sizes[1:]):
            yield (first, *rest)


class _Writer:
    """Turns a shape into a tree of the fixture `dynamic/1`, with ids in the order written."""

    def __init__(self) -> None:
        self.ids = 0

    def node(self, shape: Shape) -> dict[str, Any]:
        kind, row = shape
        if kind in _LEAVES:
            self.ids += 1
            made: dict[str, Any] = {"id": self.ids}
            return {kind: {**made, "value": True} if kind == "flag" else {**made, "shape": [2]}}
        if kind == "struct":
            fields = [["zyxwvu"[index], self.node(child)] for index, child in enumerate(row)]
            return {"struct": "Net", "fields": fields}
        if kind == "some":
            return {"some": self.node(row[0])}
        if kind == "enum":
            return {"enum": "Choice", "variant": "One", "payload": self.node(row[0])}
        return {kind: [self.node(child) for child in row]}


def _questions(tree: dict[str, Any]) -> Iterator[Step]:
    yield {
        "do": "module.build",
        "fixture": "dynamic/1",
        "args": {"tree": tree, "device": "d0+autodiff"},
        "as": "m",
    }
    for what in ("events", "num_params", "param_ids", "state", "display"):
        yield {"observe": what, "on": "m"}
    yield {"do": "module.clone", "on": "m", "as": "c"}
    yield {"do": "module.record", "on": "c", "as": "r"}
    yield {"observe": "record", "on": "r"}
    for name in ("valid", "train", "freeze"):
        yield {"do": f"module.{name}", "on": "m"}
        yield {"observe": "state", "on": "m"}
    yield {"do": "module.load_record", "on": "m", "record": "r"}
    yield {"observe": "state", "on": "m"}
