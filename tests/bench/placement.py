"""How long it takes to place many layers on many devices by memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from refimpl import AfterHidden, Device, DeviceMemory, LayerMemory, LayerPlacement
from tests.bench.figure import Figure, least, span

DEVICES, LAYERS = 64, 2000


def figures() -> Iterator[Figure]:
    offered = [
        DeviceMemory(device=Device("sim", i), capacity=(24 + i % 3 * 8) * 2**30) for i in range(DEVICES)
    ]
    sizes = tuple((200 + i * 7919 % 100) * 2**20 for i in range(LAYERS))
    memory = LayerMemory(input=2**30, hidden=sizes, output=AfterHidden(2**30))
    found = LayerPlacement.by_memory(offered, memory)
    if found is None or len(found.devices()) < DEVICES // 2:
        raise AssertionError("the benchmark is meant to fill most devices")

    (ours,) = least(lambda: LayerPlacement.by_memory(offered, memory), rounds=9)
    peer = span(accelerate_takes(sizes))
    yield Figure(
        f"by_memory, {DEVICES} devices x {LAYERS} layers",
        ours * 1e3,
        30.0,
        "ms",
        f"{span(ours)}; accelerate's planner {peer}",
    )


def accelerate_takes(sizes: tuple[int, ...]) -> float:
    """The time of accelerate's `infer_auto_device_map` for layers of the same sizes."""
    import torch
    from accelerate import infer_auto_device_map

    logging.disable(
        logging.WARNING
    )  # it warns of every device that this machine lacks, and plans all the same
    with torch.device("meta"):
        layers = torch.nn.ModuleList(torch.nn.Linear(size // 4096, 1024, bias=False) for size in sizes)
        model = torch.nn.Sequential(*layers)
    capacities = {i: (24 + i % 3 * 8) * 2**30 for i in range(DEVICES)}
    (theirs,) = least(lambda: infer_auto_device_map(model, max_memory=capacities), rounds=2)
    return theirs
