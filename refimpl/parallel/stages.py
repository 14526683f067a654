"""A model taken apart into what each device holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from ..rust_text import debug_list
from ..tensor.device import Device
from .layer import DistributedLayer, In, Out, Signal


@dataclass(frozen=True, slots=True, repr=False)
class HeldStage(Generic[Signal]):
    """One stage's hidden layers in forward order, and the device they run on.

    Burn: burn_core::module::parallel::HeldStage
    Clauses: DLM-10.
    """

    device: Device
    layers: tuple[DistributedLayer[Signal, Signal], ...]

    def __repr__(self) -> str:
        return f"HeldStage {{ device: {self.device}, layers: {debug_list(self.layers)} }}"


@dataclass(frozen=True, slots=True, repr=False)
class StagedLayers(Generic[In, Signal, Out]):
    """The layers of a `DistributedLayeredModel`, the hidden ones in its placement's stages.

    Burn: burn_core::module::parallel::StagedLayers
    Clauses: DLM-10.
    """

    input: DistributedLayer[In, Signal]
    stages: tuple[HeldStage[Signal], ...]
    output: DistributedLayer[Signal, Out]

    def __repr__(self) -> str:
        return (
            f"StagedLayers {{ input: {self.input!r}, stages: {debug_list(self.stages)}, "
            f"output: {self.output!r} }}"
        )
