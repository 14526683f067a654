"""What the rules cost on top of the arithmetic, in a forward pass over simulated devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from refimpl import (
    Device,
    DistributedLayer,
    DistributedLayeredModel,
    LayerParallelism,
    LayerPlacement,
    LayerSequence,
    Param,
    Tensor,
)
from refimpl.layers.linear import Linear
from tests.bench.figure import Figure, least, ratio, span

DEPTH, BATCH = 24, 32
Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


class Affine(DistributedLayer[Tensor, Tensor]):
    """`x @ weight + bias`."""

    linear: Linear

    def forward(self, input: Tensor) -> Tensor:
        return self.linear.forward(input)


class Tower(LayerParallelism[Tensor, Tensor, Tensor]):
    """Affine layers, one after the other."""

    first: Affine
    middle: tuple[Affine, ...]
    last: Affine

    def layer_input(self) -> Affine:
        return self.first

    def layers_hidden(self) -> Iterator[Affine]:
        return iter(self.middle)

    def layer_output(self) -> Affine:
        return self.last

    def into_layers(self) -> LayerSequence[Tensor, Tensor, Tensor]:
        return LayerSequence(input=self.first, hidden=self.middle, output=self.last)


def contenders(width: int) -> tuple[Callable[[], object], Callable[[], object], Callable[[], object]]:
    """The same 24 layers as our model on four devices, as bare NumPy, and as `torch.nn.Sequential`."""
    rng = np.random.default_rng(0)
    weights: list[Array] = [
        rng.standard_normal((width, width), dtype=np.float32) / np.float32(width**0.5) for _ in range(DEPTH)
    ]
    biases: list[Array] = [rng.standard_normal((width,), dtype=np.float32) for _ in range(DEPTH)]
    x: Array = rng.standard_normal((BATCH, width), dtype=np.float32)

    placement = LayerPlacement.even([Device("sim", i) for i in range(4)], DEPTH - 2)
    devices = (placement.input, *placement.hidden, placement.output)
    layers = [
        Affine(linear=Linear(weight=Param.from_data(w, device), bias=Param.from_data(b, device)))
        for w, b, device in zip(weights, biases, devices, strict=True)
    ]
    tower = Tower(first=layers[0], middle=tuple(layers[1:-1]), last=layers[-1])
    model = DistributedLayeredModel.new(tower, placement)
    signal_in = Tensor.from_data(x, placement.input)

    # The bare loop reads the very arrays that the model holds: where they lie in memory counts for both.
    held = [(layer.linear.weight.val(), layer.linear.bias.val()) for layer in layers]
    arrays = [(w.to_numpy(), b.to_numpy()) for w, b in held]

    def bare() -> Array:
        signal = x
        for w, b in arrays:
            signal = signal @ w
            signal += b
        return signal

    torch.set_num_threads(1)
    sequential = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(DEPTH)))
    with torch.no_grad():
        for linear, w, b in zip(sequential, weights, biases, strict=True):
            linear.weight.copy_(torch.from_numpy(w.T))
            linear.bias.copy_(torch.from_numpy(b))
    given = torch.from_numpy(x)

    def torch_forward() -> object:
        with torch.no_grad():
            return sequential(given)

    if not np.array_equal(model.forward(signal_in).to_numpy(), bare()):
        raise AssertionError("both are meant to compute the same bits")
    return (lambda: model.forward(signal_in)), bare, torch_forward


def figures() -> Iterator[Figure]:
    ours, bare, _ = contenders(512)
    mine, plain = least(ours, bare, rounds=300)
    yield ratio(f"forward, {DEPTH} layers of width 512, batch {BATCH}", mine, plain, 1.08, "bare NumPy")

    ours, bare, sequential = contenders(8)
    mine, plain, theirs = least(ours, bare, sequential, rounds=40, number=100)
    yield Figure(
        "forward, width 8: a layer on top of bare NumPy",
        (mine - plain) / DEPTH * 1e6,
        2.5,
        "us",
        f"({span(mine)} - {span(plain)}) / {DEPTH}",
    )
    yield ratio("forward, width 8", mine, theirs, 1.0, "torch.nn.Sequential")
