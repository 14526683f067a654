"""What a model must say about its layers to be split across devices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..module.module import Module
from ..rust_text import debug_list

In = TypeVar("In")
Signal = TypeVar("Signal")
Out = TypeVar("Out")


class DistributedLayer(Module, Generic[In, Out]):
    """One layer of a model split by `LayerParallelism`: it runs on the device its placement gives it.

    Burn: burn_core::module::parallel::DistributedLayer
    Clauses: DLM-1.
    """

    @abstractmethod
    def forward(self, input: In) -> Out:
        """Run the layer on what is already on its device; what it returns stays there.

        Burn: DistributedLayer::forward
        """


@dataclass(frozen=True, slots=True, repr=False)
class LayerSequence(Generic[In, Signal, Out]):
    """The layers of a model, owned; the hidden ones in forward order.

    Burn: burn_core::module::parallel::LayerSequence
    Clauses: DLM-1.
    """

    input: DistributedLayer[In, Signal]
    hidden: tuple[DistributedLayer[Signal, Signal], ...]
    output: DistributedLayer[Signal, Out]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))

    def __repr__(self) -> str:
        return (
            f"LayerSequence {{ input: {self.input!r}, hidden: {debug_list(self.hidden)}, "
            f"output: {self.output!r} }}"
        )


class LayerParallelism(Module, Generic[In, Signal, Out]):
    """A model that runs as an input layer, hidden layers in order, and an output layer.

    `In` is what the model takes; `Signal` what the input layer returns, every hidden layer takes and
    returns, and the output layer takes: both move between devices, so each is a tensor, a module, or a tuple
    of such. `Out` is what the model returns.

    Each layer is built on the device that a `LayerPlacement` gives it, so the model never exists whole on
    one device.

    Burn: burn_core::module::parallel::LayerParallelism
    Clauses: DLM-1.
    """

    @abstractmethod
    def layer_input(self) -> DistributedLayer[In, Signal]:
        """The layer that runs first.

        Burn: LayerParallelism::layer_input
        """

    @abstractmethod
    def layers_hidden(self) -> Iterable[DistributedLayer[Signal, Signal]]:
        """The hidden layers in forward order, the same order on every call.

        Burn: LayerParallelism::layers_hidden
        """

    @abstractmethod
    def layer_output(self) -> DistributedLayer[Signal, Out]:
        """The layer that runs last.

        Burn: LayerParallelism::layer_output
        """

    @abstractmethod
    def into_layers(self) -> LayerSequence[In, Signal, Out]:
        """The model taken apart, the hidden layers in the order of `layers_hidden`.

        Burn: LayerParallelism::into_layers
        """
