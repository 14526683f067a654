"""Every small placement, the smallest first: up to 5 devices and 12 layers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from ..case import Step
from .comparison import Trace

MAX_DEVICES, MAX_LAYERS = 5, 12
#: So many questions travel in one trace: what differs is cut out afterwards.
BATCH = 16


def placements() -> Iterator[Trace]:
    """All that `even` and `new` make, some to a trace, in the order of their size."""
    return _batches(_shares(), ("PLC-3", "PLC-2", "PLC-4"))


def divisions() -> Iterator[Trace]:
    """The divisions by memory of up to 3 layers over up to 3 devices, in the order of their size."""
    return _batches(_by_memory(), ("PLC-6", "PLC-8", "PLC-9"))


def _batches(questions: Iterator[Step], clauses: tuple[str, ...]) -> Iterator[Trace]:
    while batch := tuple(islice(questions, BATCH)):
        yield Trace(batch, clauses, ("parallel",), len(batch))


def _shares() -> Iterator[Step]:
    for size in range(MAX_DEVICES + MAX_LAYERS + 1):
        for count in range(min(size, MAX_DEVICES) + 1):
            layers = size - count
            if layers > MAX_LAYERS:
                continue
            for devices in device_lists(count):
                yield {"do": "placement.even", "devices": devices, "hidden": layers, "as": "p"}
                for shares in compositions(layers, count):
                    stages = [list(stage) for stage in zip(devices, shares, strict=True)]
                    yield {"do": "placement.new", "stages": stages, "as": "p"}


def _by_memory() -> Iterator[Step]:
    for size in range(7):
        for count in range(max(0, size - 3), min(size, 3) + 1):
            yield from _divided(count, size - count)


def _divided(count: int, layers: int) -> Iterator[Step]:
    """So many layers of sizes 0, 1 and 3 over devices of little room."""
    devices = [f"d{index}" for index in range(count)]
    for capacities in product((0, 1, 2, 4, 9), repeat=count):
        for hidden in product((0, 1, 3), repeat=layers):
            for first, last in product((0, 1), ({"AfterHidden": 0}, {"AfterHidden": 2}, {"WithInput": 1})):
                yield {
                    "do": "placement.by_memory",
                    "devices": devices,
                    "capacities": list(capacities),
                    "input": first,
                    "hidden": list(hidden),
                    "output": last,
                    "as": "p",
                }


def device_lists(count: int) -> Iterator[list[str]]:
    """Every list of so many devices, up to their names: which are equal to which."""

    def grow(names: list[int]) -> Iterator[list[int]]:
        if len(names) == count:
            yield names
            return
        for name in range(max(names, default=-1) + 2):
            yield from grow([*names, name])

    for names in grow([]):
        yield [f"d{name}" for name in names]


def compositions(total: int, parts: int) -> Iterator[list[int]]:
    """Every way to write `total` as a sum of so many terms from 0 on."""
    if parts == 0:
        if total == 0:
            yield []
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield [first, *rest]
