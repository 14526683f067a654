from __future__ import annotations

import math
import re

import pytest

from refimpl.errors import PanicError
from refimpl.layers.embedding import Embedding
from refimpl.layers.initializer import (
    ONES,
    ZEROS,
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Uniform,
    XavierNormal,
    XavierUniform,
    init_param,
)
from refimpl.layers.linear import Linear
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor

SIM = Device("sim", 70)
SHAPE = (100, 60)


def values(initializer: Initializer, fan_in: int | None = None, fan_out: int | None = None) -> Tensor:
    Tensor.seed(SIM, 1)
    return init_param(initializer, SHAPE, SIM, fan_in, fan_out).val()


@pytest.mark.parametrize(("initializer", "value"), [(ZEROS, 0.0), (ONES, 1.0), (Constant(2.5), 2.5)])
def test_constants_fill(initializer: Initializer, value: float) -> None:
    assert set(values(initializer).to_numpy().ravel().tolist()) == {value}


# Burn: the bound of a uniform one is sqrt(3) gain std; std is 1/sqrt(fan) or sqrt(2/(in + out)).
@pytest.mark.parametrize(
    ("initializer", "bound"),
    [
        (Uniform(-0.25, 0.25), 0.25),
        (KaimingUniform(1.0 / math.sqrt(3.0)), 1.0 / math.sqrt(100)),
        (KaimingUniform(2.0, fan_out_only=True), 2.0 * math.sqrt(3.0 / 60)),
        (XavierUniform(1.0), math.sqrt(6.0 / 160)),
    ],
)
def test_uniform_ones_reach_their_bound_and_do_not_pass_it(initializer: Initializer, bound: float) -> None:
    largest = float(abs(values(initializer, 100, 60)).max().item())

    assert 0.99 * bound < largest <= bound * (1 + 1e-6)


@pytest.mark.parametrize(
    ("initializer", "std"),
    [
        (Normal(0.0, 0.5), 0.5),
        (KaimingNormal(1.0), 0.1),
        (KaimingNormal(1.0, fan_out_only=True), 1 / math.sqrt(60)),
        (XavierNormal(3.0), 3.0 * math.sqrt(2.0 / 160)),
    ],
)
def test_normal_ones_have_their_deviation(initializer: Initializer, std: float) -> None:
    assert float(values(initializer, 100, 60).to_numpy().std()) == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize(
    ("initializer", "text"),
    [
        (KaimingUniform(1.0), "without specifying fan. Use init_with"),
        (KaimingNormal(1.0), "without specifying fan. Use init_with"),
        (XavierUniform(1.0), "without specifying fan in."),
    ],
)
def test_a_fan_that_is_needed_and_not_given_is_refused(initializer: Initializer, text: str) -> None:
    with pytest.raises(PanicError, match=re.escape(text)):
        values(initializer)


def test_the_other_fan_is_needed_too() -> None:
    with pytest.raises(PanicError, match="without specifying fan out"):
        values(XavierNormal(1.0), fan_in=3)


@pytest.mark.clause("PAR-16")
def test_parameters_are_lazy_and_trainable_on_an_autodiff_device() -> None:
    layer = Linear.init(4, 3, SIM.autodiff())

    assert not layer.weight.is_initialized()
    assert layer.weight.val().is_require_grad
    assert not Linear.init(4, 3, SIM).weight.val().is_autodiff


def test_a_linear_layer_starts_within_the_root_of_its_fan_in() -> None:
    layer = Linear.init(4, 300, SIM)
    weight, bias = layer.weight.val(), layer.bias.val()  # type: ignore[union-attr]

    for part in (weight, bias):
        assert 0.45 < float(abs(part).max().item()) <= 0.5


def test_an_embedding_starts_normal() -> None:
    assert Embedding.init(100, 60, SIM).weight.val().to_numpy().std() == pytest.approx(1.0, rel=0.05)
