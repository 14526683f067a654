from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from refimpl.errors import InvalidArgumentError, PanicError, TensorError
from refimpl.layers.activation import Gelu, Relu
from refimpl.layers.attention import MhaInput, MultiHeadAttention, generate_autoregressive_mask
from refimpl.layers.dropout import Dropout
from refimpl.layers.embedding import Embedding
from refimpl.layers.feed_forward import PositionWiseFeedForward
from refimpl.layers.linear import Linear, LinearLayout
from refimpl.layers.norm import BatchNorm, LayerNorm
from refimpl.layers.transformer import TransformerEncoderLayer
from refimpl.module.module import Module
from refimpl.param.param import Param
from refimpl.param.traversal import ModuleMapper
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

from .burn_nn_answers import CPU, answers, array, close, filled, tensor

AUTODIFF = CPU.autodiff()


class CastTo(ModuleMapper):
    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        return param.map(lambda tensor: tensor.cast(self._dtype))  # type: ignore[return-value, arg-type]


class Encoder(Module):
    layers: tuple[TransformerEncoderLayer, ...]


def test_linear_gives_burns_values_for_rows_and_for_one_row() -> None:
    want = answers()["linear"]
    layer = filled(Linear.init(4, 3, CPU), want["params"])

    close(layer.forward(tensor(want["x"])), want["y"])
    close(layer.forward(tensor(want["x1"])), want["y1"])


def test_linear_is_the_product_and_the_bias() -> None:
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    layer = Linear.init(4, 3, CPU)
    weight, bias = layer.weight.val().to_numpy(), layer.bias.val().to_numpy()  # type: ignore[union-attr]

    np.testing.assert_allclose(
        layer.forward(Tensor.from_data(x, CPU)).to_numpy(),
        np.einsum("bi,io->bo", x, weight) + bias,
        rtol=1e-5,
        atol=1e-6,  # of terms that cancel
    )


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F64])
def test_linear_computes_in_the_dtype_of_its_weights(dtype: DType) -> None:
    layer = Linear.init(4, 3, CPU).map(CastTo(dtype))

    assert layer.forward(Tensor.ones([2, 4], CPU, dtype)).dtype is dtype


@pytest.mark.parametrize("shape", [[2, 5], [5]])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_refuses_another_extent_and_names_both(shape: list[int], bias: bool) -> None:
    with pytest.raises(
        TensorError, match=r"Last dimension of input \(5\) must match input dimension of weight \(4\)"
    ):
        Linear.init(4, 3, CPU, bias=bias).forward(Tensor.ones(shape, CPU))


def test_linear_refuses_another_dtype_and_a_bias_of_another_extent() -> None:
    layer = Linear.init(4, 3, CPU)
    with pytest.raises(TensorError, match="do not have the same dtype"):
        layer.forward(Tensor.ones([1, 4], CPU, DType.F64))
    wrong = Linear(weight=layer.weight, bias=Param.from_tensor(Tensor.ones([2], CPU)))
    with pytest.raises(
        TensorError, match=r"Dimension of bias \(2\) must match output dimension of weight \(3\)"
    ):
        wrong.forward(Tensor.ones([1, 4], CPU))


@pytest.mark.clause("PAR-32", "REC-18")
def test_a_column_layout_is_stored_transposed_and_used_as_any_other() -> None:
    layer = Linear.init(4, 3, CPU, layout=LinearLayout.COL)

    assert layer.weight.lazy_shape() == (3, 4)
    assert layer.forward(Tensor.ones([2, 4], CPU)).shape == (2, 3)
    assert layer.weight.lazy_shape() == (4, 3)
    (entry,) = [entry for entry in layer.into_record().entries if entry[0] == "weight"]
    assert entry[2].shape == (3, 4)


class Quantize(ModuleMapper):
    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        scheme = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
        return param.map(lambda tensor: tensor.quantize_dynamic(scheme))


@pytest.mark.clause("QNT-35")
@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: Linear.init(4, 3, CPU), Tensor.from_data([[1.0, -2.0, 3.0, 0.5]], CPU)),
        (lambda: Linear.init(4, 3, CPU), Tensor.from_data([1.0, -2.0, 3.0, 0.5], CPU)),
        (lambda: Embedding.init(6, 4, CPU), IntTensor.from_data([[5, 0]], CPU)),
        (lambda: LayerNorm.init(4, CPU), Tensor.from_data([[1.0, -2.0, 3.0, 0.5]], CPU)),
    ],
)
def test_a_layer_with_quantised_parameters_computes_with_their_values(make: Any, x: Any) -> None:
    layer = make().map(Quantize())
    dense = layer.map(Dequantize())
    got = layer.forward(x)

    assert got.dtype is DType.F32
    np.testing.assert_array_equal(got.to_numpy(), dense.forward(x).to_numpy())


class Dequantize(ModuleMapper):
    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        return param.map(lambda tensor: tensor.dequantize())


def test_embedding_looks_rows_up_as_burn_does() -> None:
    want = answers()["embedding"]
    layer = filled(Embedding.init(6, 4, CPU), want["params"])

    close(layer.forward(IntTensor.from_data([[0, 5, 2], [3, 3, 1]], CPU)), want["y"], 0.0)


def test_an_index_beyond_the_table_is_refused() -> None:
    with pytest.raises(TensorError, match="index 6 out of bounds for dimension of size 6"):
        Embedding.init(6, 4, CPU).forward(IntTensor.from_data([[6]], CPU))


def test_layer_norm_gives_burns_values() -> None:
    want = answers()["layer_norm"]
    layer = filled(LayerNorm.init(4, CPU), want["params"])

    close(layer.forward(tensor(want["x"])), want["y"])


@pytest.mark.parametrize(
    ("dtype", "name", "tolerance"), [(DType.F16, "y16", 1e-3), (DType.BF16, "ybf", 8e-3)]
)
def test_layer_norm_of_halves_is_computed_in_f32(dtype: DType, name: str, tolerance: float) -> None:
    want = answers()["layer_norm"]
    layer = filled(LayerNorm.init(4, CPU), want["params"]).map(CastTo(dtype))
    got = layer.forward(tensor(want["x"]).cast(dtype))  # type: ignore[arg-type]

    assert got.dtype is dtype
    close(got, want[name], tolerance)


def test_layer_norm_does_not_overflow_in_f16() -> None:
    layer = LayerNorm.init(2, CPU, bias=False).map(CastTo(DType.F16))
    got = layer.forward(Tensor.from_data([[1000.0, -1000.0]], CPU, DType.F16))

    assert got.to_numpy().tolist() == [[1.0, -1.0]]


def test_layer_norm_refuses_another_extent() -> None:
    with pytest.raises(TensorError, match="gamma of shape"):
        LayerNorm.init(4, CPU).forward(Tensor.ones([2, 3], CPU))


def test_batch_norm_trains_and_infers_as_burn_does() -> None:
    want = answers()["batch_norm"]
    layer = BatchNorm.init(3, AUTODIFF)
    first, second = tensor(want["x1"], AUTODIFF), tensor(want["x2"], AUTODIFF)

    close(layer.forward(first), want["y1"])
    close(layer.running_mean.value(), want["mean_after_1"])
    close(layer.forward(second), want["y2"])
    close(layer.running_mean.value(), want["mean_after_2"])
    close(layer.running_var.value(), want["var_after_2"])

    valid = layer.valid()
    close(valid.running_mean.value(), want["valid_mean"])
    close(valid.running_var.value(), want["valid_var"])
    close(valid.forward(first.inner()), want["valid_y"])


@pytest.mark.report("BL-20")
def test_a_frozen_batch_norm_neither_uses_nor_updates_batch_statistics() -> None:
    layer = BatchNorm.init(3, AUTODIFF).freeze()
    x = Tensor.from_data(np.arange(12.0, dtype=np.float32).reshape(4, 3), AUTODIFF)
    got = layer.forward(x)

    np.testing.assert_allclose(got.to_numpy(), x.to_numpy() / math.sqrt(1.00001), rtol=1e-6)
    assert layer.running_mean.value_sync().to_numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [[3], [2, 4]])
def test_batch_norm_refuses_other_channels(shape: list[int]) -> None:
    with pytest.raises(PanicError, match=r"\[batch, 3, ...\]"):
        BatchNorm.init(3, CPU).forward(Tensor.ones(shape, CPU))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"num_features": 0}, "num_features must be greater than zero."),
        ({"epsilon": 0.0}, "epsilon must be finite and positive."),
        ({"epsilon": math.inf}, "epsilon must be finite and positive."),
        ({"momentum": 1.5}, "momentum must be finite and within [0, 1]."),
        ({"momentum": math.nan}, "momentum must be finite and within [0, 1]."),
    ],
)
def test_a_batch_norm_that_cannot_be_is_refused_with_burns_text(asked: dict[str, Any], text: str) -> None:
    with pytest.raises(PanicError) as caught:
        BatchNorm.init(**{"num_features": 3, "device": CPU, **asked})

    assert str(caught.value) == text


@pytest.mark.report("BL-20")
def test_dropout_drops_only_where_the_device_is_autodiff_and_the_flag_is_on() -> None:
    layer = Dropout.init(0.5)
    plain, tracked = Tensor.ones([1000], CPU), Tensor.ones([1000], AUTODIFF)

    assert layer.forward(plain) is plain
    assert layer.freeze().forward(tracked) is tracked
    assert layer.valid().forward(tracked) is tracked
    assert Dropout.init(0.0).forward(tracked) is tracked
    dropped = layer.forward(tracked).to_numpy()
    assert set(dropped.tolist()) == {0.0, 2.0}
    assert 0.4 < (dropped == 0.0).mean() < 0.6


@pytest.mark.report("BL-20")
def test_no_grad_leaves_dropout_on() -> None:
    assert Dropout.init(0.5).no_grad().training.is_enabled()
    assert Dropout.init(0.5).freeze().unfreeze().training.is_enabled()


@pytest.mark.parametrize(("prob", "shown"), [(1.0, "1"), (-0.1, "-0.1"), (math.nan, "nan")])
def test_a_dropout_probability_is_in_zero_to_one(prob: float, shown: str) -> None:
    with pytest.raises(PanicError, match=rf"in the range \[0, 1\), but got {shown}"):
        Dropout.init(prob)


def test_attention_gives_burns_weights_and_context() -> None:
    want = answers()["mha"]
    layer = filled(MultiHeadAttention.init(4, 2, CPU, dropout=0.0), want["params"])
    got = layer.forward(MhaInput(*(tensor(want[name]) for name in "qkv")))

    close(got.weights, want["cross"][0])
    close(got.context, want["cross"][1])


def test_masked_attention_gives_burns_weights_and_context_fully_masked_rows_included() -> None:
    want = answers()["mha"]
    layer = filled(MultiHeadAttention.init(4, 2, CPU, dropout=0.0), want["params"])
    mask = generate_autoregressive_mask(2, 3, CPU)
    given = MhaInput.self_attn(tensor(want["q"])).with_mask_attn(mask)
    pad = BoolTensor.from_data([[True, True, True], [False, False, True]], CPU)

    for each, name in ((given, "masked"), (given.with_mask_pad(pad), "padded")):
        got = layer.forward(each)
        close(got.weights, want[name][0])
        close(got.context, want[name][1])


def test_attention_with_a_padding_mask_alone_hides_the_padding() -> None:
    layer = MultiHeadAttention.init(4, 2, CPU, dropout=0.0)
    pad = BoolTensor.from_data([[False, True]], CPU)
    got = layer.forward(MhaInput.self_attn(Tensor.ones([1, 2, 4], CPU)).with_mask_pad(pad))

    assert got.weights.to_numpy()[..., 1].max() == 0.0


def test_quiet_attention_gives_burns_weights_and_context() -> None:
    want = answers()["mha"]
    layer = filled(MultiHeadAttention.init(4, 2, CPU, dropout=0.0, quiet_softmax=True), want["params"])
    got = layer.forward(MhaInput.self_attn(tensor(want["q"])))

    close(got.weights, want["quiet"][0])
    close(got.context, want["quiet"][1])


def test_an_autoregressive_mask_hides_what_comes_later() -> None:
    want = answers()["mha"]["mask"]
    got = generate_autoregressive_mask(2, 3, CPU)

    assert got.to_numpy().tolist() == np.array(want["values"]).reshape(want["shape"]).tolist()


@pytest.mark.parametrize(
    "bad", [("query", [2, 3, 5]), ("key", [1, 3, 4]), ("value", [2, 9, 4]), ("key", [4])]
)
def test_attention_refuses_what_does_not_fit_and_names_it(bad: tuple[str, list[int]]) -> None:
    shapes = {"query": [2, 3, 4], "key": [2, 3, 4], "value": [2, 3, 4], bad[0]: bad[1]}
    given = MhaInput(*(Tensor.ones(shapes[name], CPU) for name in ("query", "key", "value")))

    with pytest.raises(PanicError, match="of an attention is"):
        MultiHeadAttention.init(4, 2, CPU).forward(given)


def test_heads_divide_the_model() -> None:
    with pytest.raises(InvalidArgumentError, match="multiple of n_heads, got 5 and 2"):
        MultiHeadAttention.init(5, 2, CPU)


def test_the_feed_forward_network_gives_burns_values() -> None:
    want = answers()["pwff"]
    layer = filled(PositionWiseFeedForward.init(4, 8, CPU, dropout=0.0), want["params"])

    close(layer.forward(tensor(want["x"])), want["y"])


def test_a_stack_of_encoder_layers_gives_burns_values_under_burns_paths() -> None:
    want = answers()["encoder"]
    layers = tuple(TransformerEncoderLayer.init(4, 8, 2, CPU, dropout=0.0, norm_first=True) for _ in range(2))
    model = filled(Encoder(layers=layers), want["params"])
    mask = generate_autoregressive_mask(2, 3, CPU)
    x = tensor(want["x"])
    for layer in model.layers:
        x = layer.forward(x, mask_attn=mask)

    close(x, want["y"], 1e-5)


def test_an_encoder_layer_with_the_norm_last_normalises_its_result() -> None:
    layer = TransformerEncoderLayer.init(4, 8, 2, CPU, dropout=0.0)
    got = layer.forward(Tensor.from_data(np.arange(12.0, dtype=np.float32).reshape(1, 3, 4), CPU)).to_numpy()

    np.testing.assert_allclose(got.mean(-1), 0.0, atol=1e-6)
    np.testing.assert_allclose(got.std(-1), 1.0, atol=1e-3)


def test_activations_are_those_of_the_tensor() -> None:
    x = Tensor.from_data([-1.0, 0.5, 2.0], CPU)

    assert Relu.new().forward(x).to_numpy().tolist() == [0.0, 0.5, 2.0]
    want = [v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in (-1.0, 0.5, 2.0)]
    np.testing.assert_allclose(Gelu.new().forward(x).to_numpy(), want, rtol=1e-6)
    near = [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in (-1.0, 0.5, 2.0)]
    np.testing.assert_allclose(Gelu.new_approximate().forward(x).to_numpy(), near, rtol=1e-6)


@pytest.mark.clause("DSP-26")
@pytest.mark.parametrize(
    ("make", "layer", "name"),
    [
        (lambda: Linear.init(4, 3, CPU), "linear", "display"),
        (lambda: Linear.init(4, 3, CPU, bias=False), "linear", "nobias"),
        (lambda: Embedding.init(6, 4, CPU), "embedding", "display"),
        (lambda: LayerNorm.init(4, CPU), "layer_norm", "display"),
        (lambda: BatchNorm.init(3, CPU), "batch_norm", "display"),
        (lambda: BatchNorm.init(3, CPU).freeze(), "batch_norm", "frozen"),
        (lambda: Dropout.init(0.3), "dropout", "display"),
        (lambda: Dropout.init(0.3).freeze(), "dropout", "frozen"),
        (lambda: MultiHeadAttention.init(4, 2, CPU, dropout=0.0, quiet_softmax=True), "mha", "display"),
        (lambda: PositionWiseFeedForward.init(4, 8, CPU, dropout=0.0), "pwff", "display"),
        (lambda: Gelu.new(), "activations", "gelu"),
        (lambda: Relu.new(), "activations", "relu"),
    ],
)
def test_a_layer_shows_as_burn_shows_it(make: Any, layer: str, name: str) -> None:
    assert str(make()) == answers()[layer][name]


@pytest.mark.report("BL-44")
def test_every_part_of_a_layer_moves_with_it() -> None:
    layer = BatchNorm.init(3, CPU).to_device(Device("sim", 2))

    assert [str(device) for device in layer.devices()] == ["sim:2"]
    assert layer.forward(Tensor.ones([2, 3], Device("sim", 2))).device == Device("sim", 2)


def test_batch_norm_files_hold_the_running_statistics() -> None:
    paths = [entry[0] for entry in BatchNorm.init(3, CPU).into_record().entries]

    assert paths == [path for path, value in answers()["batch_norm"]["params"] if not isinstance(value, bool)]


def test_recorded_arrays_are_what_they_say() -> None:
    assert array({"values": [1, 2], "shape": [2, 1]}).tolist() == [[1.0], [2.0]]
