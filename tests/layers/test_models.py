from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from refimpl.errors import PanicError, PlacementError
from refimpl.layers.feed_forward import Mlp
from refimpl.layers.transformer import DecoderOnlyTransformer
from refimpl.parallel.model import DistributedLayeredModel
from refimpl.parallel.placement import LayerPlacement
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import IntTensor, Tensor

SIMS = [Device("sim", i) for i in range(3)]
CPU = Device("cpu")
TOKENS = [[3, 1, 4, 1], [5, 9, 2, 6]]


def transformer(placement: LayerPlacement) -> DecoderOnlyTransformer:
    return DecoderOnlyTransformer.init(11, 8, 8, 16, 2, placement, dropout=0.0)


@pytest.mark.clause("DLM-2", "DLM-4")
def test_a_transformer_spread_over_devices_computes_what_it_computes_on_one(tmp_path: Path) -> None:
    placement = LayerPlacement.even(SIMS, 5)
    spread = DistributedLayeredModel.new(transformer(placement), placement)
    spread.save_file(tmp_path / "model")
    alone = transformer(LayerPlacement.even([CPU], 5)).load_file(tmp_path / "model")

    got = spread.forward(IntTensor.from_data(TOKENS, CPU))
    want = alone.forward(IntTensor.from_data(TOKENS, CPU))
    assert (str(got.device), got.shape) == ("sim:2", (2, 4, 11))
    assert got.to_data() == want.to_data()


def test_a_place_does_not_see_the_places_after_it() -> None:
    model = transformer(LayerPlacement.even([CPU], 2))
    whole = model.forward(IntTensor.from_data(TOKENS, CPU)).to_numpy()
    start = model.forward(IntTensor.from_data([row[:2] for row in TOKENS], CPU)).to_numpy()

    np.testing.assert_allclose(whole[:, :2], start, rtol=1e-5, atol=1e-6)


def test_a_sequence_longer_than_the_table_of_places_is_refused() -> None:
    model = transformer(LayerPlacement.even([CPU], 1))

    with pytest.raises(PanicError, match="a sequence of 9 tokens is longer than the 8 places"):
        model.forward(IntTensor.zeros([1, 9], CPU))


@pytest.mark.clause("DLM-4")
def test_a_perceptron_spread_over_devices_agrees_with_bare_numpy() -> None:
    placement = LayerPlacement.even(SIMS, 4)
    model = Mlp.init(4, 8, 2, placement)
    x = np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32)
    got = DistributedLayeredModel.new(model, placement).forward(Tensor.from_data(x, CPU))

    layers = [model.input, *model.hidden, model.output]
    want = x.astype(np.float64)
    for i, layer in enumerate(layers):
        weight, bias = layer.linear.weight.val(), layer.linear.bias
        want = want @ weight.to_numpy() + (0 if bias is None else bias.val().to_numpy())
        want = np.maximum(want, 0.0) if i < len(layers) - 1 else want
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-4, atol=1e-5)
    assert str(got.device) == "sim:2"


def test_a_perceptron_on_one_device_runs_by_itself() -> None:
    model = Mlp.init(4, 8, 2, LayerPlacement.even([CPU], 2))
    x = Tensor.ones([1, 4], CPU)
    spread = DistributedLayeredModel.new(model, LayerPlacement.even([CPU], 2))

    assert model.forward(x).to_data() == spread.forward(x).to_data()


@pytest.mark.clause("DLM-2")
def test_a_model_built_elsewhere_than_placed_is_refused() -> None:
    model = Mlp.init(4, 8, 2, LayerPlacement.even([CPU], 2))

    with pytest.raises(PlacementError):
        DistributedLayeredModel.new(model, LayerPlacement.even(SIMS, 2))


@pytest.mark.clause("DLM-5")
def test_trained_layers_give_non_leaves_across_devices_and_validation_plain_tensors() -> None:
    devices = [device.autodiff() for device in SIMS]
    placement = LayerPlacement.even(devices, 3)
    model = DistributedLayeredModel.new(Mlp.init(4, 8, 2, placement), placement)
    x = Tensor.ones([1, 4], CPU.autodiff())

    assert model.forward(x).is_tracked
    assert not model.valid().forward(x.inner()).is_autodiff


def test_a_model_comes_apart_into_its_layers_in_order() -> None:
    for model in (Mlp.init(2, 2, 2, LayerPlacement.even(SIMS, 3)), transformer(LayerPlacement.even(SIMS, 3))):
        parts = model.into_layers()

        assert parts.input is model.layer_input()
        assert parts.hidden == tuple(model.layers_hidden())
        assert parts.output is model.layer_output()
