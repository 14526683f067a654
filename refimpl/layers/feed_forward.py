"""Feed-forward networks: the one inside a transformer, and one that is split across devices."""

from __future__ import annotations

from typing import Self

from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..parallel.layer import DistributedLayer, LayerParallelism, LayerSequence
from ..parallel.placement import LayerPlacement
from ..tensor.device import Device
from ..tensor.tensor import Tensor
from .activation import Gelu, Relu
from .dropout import Dropout
from .initializer import LINEAR_DEFAULT, Initializer
from .linear import Linear


class PositionWiseFeedForward(Module):
    """Two linear layers with GELU and dropout between them, applied to each place by itself.

    Burn: burn_nn::transformer::PositionWiseFeedForward
    """

    linear_inner: Linear
    linear_outer: Linear
    dropout: Dropout
    activation: Gelu

    @classmethod
    def init(
        cls,
        d_model: int,
        d_ff: int,
        device: Device,
        *,
        dropout: float = 0.1,
        initializer: Initializer = LINEAR_DEFAULT,
    ) -> Self:
        """From d_model to d_ff and back.

        Burn: burn_nn::transformer::PositionWiseFeedForwardConfig::init
        """
        return cls(
            linear_inner=Linear.init(d_model, d_ff, device, initializer=initializer),
            linear_outer=Linear.init(d_ff, d_model, device, initializer=initializer),
            dropout=Dropout.init(dropout),
            activation=Gelu.new(),
        )

    def forward(self, input: Tensor) -> Tensor:
        """Apply both layers.

        Shapes:
            input and result [..., d_model].
        """
        inner = self.activation.forward(self.linear_inner.forward(input))
        return self.linear_outer.forward(self.dropout.forward(inner))

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The extents and the probability."""
        d_model, d_ff = self.linear_inner.weight.shape
        return content.add("d_model", d_model).add("d_ff", d_ff).add("prob", self.dropout.prob)


class MlpLayer(DistributedLayer[Tensor, Tensor]):
    """A linear layer, and an activation after it or none."""

    linear: Linear
    activation: Relu | None

    @classmethod
    def init(cls, d_input: int, d_output: int, device: Device, *, activation: bool = True) -> Self:
        """A layer on `device`."""
        return cls(
            linear=Linear.init(d_input, d_output, device), activation=Relu.new() if activation else None
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis."""
        output = self.linear.forward(input)
        return output if self.activation is None else self.activation.forward(output)


class Mlp(LayerParallelism[Tensor, Tensor, Tensor]):
    """A multi-layer perceptron: linear layers with ReLU between them, each on a device of its own choice.

    >>> placement = LayerPlacement.even([Device("sim", 0), Device("sim", 1)], 2)
    >>> Mlp.init(4, 8, 3, placement).devices()
    (sim:0, sim:1)

    Clauses: DLM-1.
    """

    input: MlpLayer
    hidden: tuple[MlpLayer, ...]
    output: MlpLayer

    @classmethod
    def init(cls, d_input: int, d_hidden: int, d_output: int, placement: LayerPlacement) -> Self:
        """An input layer, as many hidden ones as the placement has, and an output layer without ReLU."""
        return cls(
            input=MlpLayer.init(d_input, d_hidden, placement.input),
            hidden=tuple(MlpLayer.init(d_hidden, d_hidden, device) for device in placement.hidden),
            output=MlpLayer.init(d_hidden, d_output, placement.output, activation=False),
        )

    def forward(self, input: Tensor) -> Tensor:
        """Run every layer where the input is: for a model on one device."""
        signal = self.input.forward(input)
        for layer in self.hidden:
            signal = layer.forward(signal)
        return self.output.forward(signal)

    def layer_input(self) -> MlpLayer:
        """The first layer."""
        return self.input

    def layers_hidden(self) -> tuple[MlpLayer, ...]:
        """The layers between."""
        return self.hidden

    def layer_output(self) -> MlpLayer:
        """The last layer."""
        return self.output

    def into_layers(self) -> LayerSequence[Tensor, Tensor, Tensor]:
        """The layers, in order."""
        return LayerSequence(input=self.input, hidden=self.hidden, output=self.output)
