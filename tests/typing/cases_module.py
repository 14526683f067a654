"""What a type checker says about modules; a comment at each mistake holds a part of what is said."""

import dataclasses
from collections.abc import Iterator
from typing import assert_type

from refimpl import (
    Device,
    DistributedLayer,
    DistributedLayeredModel,
    LayerParallelism,
    LayerPlacement,
    LayerSequence,
    Module,
    Param,
    Skip,
    Tensor,
)

cpu = Device("cpu")


class Linear(Module):
    """A field of each kind."""

    weight: Param[Tensor]
    bias: Param[Tensor] | None
    d_in: int
    mask: Skip[Tensor | None] = None


weight = Param.from_data([1.0], cpu)
linear = Linear(weight=weight, bias=None, d_in=2)

assert_type(linear, Linear)
assert_type(linear.d_in, int)
assert_type(linear.mask, Tensor | None)
assert_type(linear.weight, Param[Tensor])
assert_type(linear.weight.val(), Tensor)
assert_type(linear.to_device(cpu), Linear)
assert_type(linear.freeze().valid().clone(), Linear)
assert_type(linear.load_file("linear"), Linear)
assert_type(dataclasses.replace(linear, d_in=4), Linear)

linear.d_in = 3  # error: read-only
Linear(weight, None, 2)  # error: Too many positional arguments
Linear(weight=weight, bias=None)  # error: Missing named argument "d_in"
Linear(weight=weight.val(), bias=None, d_in=1)  # error: Argument "weight"
linear.to_device("cpu")  # error: Argument 1 to "to_device"


class Embed(DistributedLayer[int, Tensor]):
    """From a number to the signal."""

    def forward(self, input: int) -> Tensor:
        return Tensor.ones((1,), cpu)


class Hidden(DistributedLayer[Tensor, Tensor]):
    """The signal stays the signal."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class Head(DistributedLayer[Tensor, str]):
    """From the signal to anything."""

    def forward(self, input: Tensor) -> str:
        return ""


class Model(LayerParallelism[int, Tensor, str]):
    """Three kinds of layers that fit together."""

    embed: Embed
    layers: tuple[Hidden, ...]
    head: Head

    def layer_input(self) -> Embed:
        return self.embed

    def layers_hidden(self) -> Iterator[Hidden]:
        return iter(self.layers)

    def layer_output(self) -> Head:
        return self.head

    def into_layers(self) -> LayerSequence[int, Tensor, str]:
        return LayerSequence(input=self.embed, hidden=self.layers, output=self.head)


class Mismatched(LayerParallelism[int, Tensor, str]):
    """Its output layer takes a number where the signal comes."""

    embed: Embed

    def layer_input(self) -> Embed:
        return self.embed

    def layers_hidden(self) -> Iterator[Hidden]:
        return iter(())

    def layer_output(self) -> Embed:  # error: Return type "Embed" of "layer_output" incompatible
        return self.embed


model = DistributedLayeredModel.new(
    Model(embed=Embed(), layers=(), head=Head()), LayerPlacement.even([cpu], 0)
)
assert_type(model.forward(3), str)
assert_type(model.model(), LayerParallelism[int, Tensor, str])
model.forward("three")  # error: Argument 1 to "forward"
