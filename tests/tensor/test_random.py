from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.errors import InvalidArgumentError, PanicError, TensorError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.random import Distribution, seed
from refimpl.tensor.tensor import IntTensor, Tensor

SIM = Device("sim", 40)
FLOATS = [DType.F64, DType.F32, DType.FLEX32, DType.F16, DType.BF16]


def _values(distribution: Distribution, dtype: DType, n: int = 4000) -> Any:
    seed(SIM, 3)
    cls = Tensor if dtype.is_float else IntTensor
    made = cls.random([n], distribution, SIM, dtype)
    assert (made.dtype, made.shape) == (dtype, (n,))
    return made.to_numpy().astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_default_is_uniform_over_zero_to_one_which_is_left_out(dtype: DType) -> None:
    values = _values(Distribution.DEFAULT, dtype)

    assert values.min() >= 0.0
    assert values.max() < 1.0
    assert abs(values.mean() - 0.5) < 0.02


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_stays_below_its_high_end_even_where_rounding_would_reach_it(dtype: DType) -> None:
    values = _values(Distribution.uniform(1.0, 1.01), dtype)

    assert values.min() >= 1.0
    assert values.max() < 1.01


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_normal_has_its_mean_and_deviation(dtype: DType) -> None:
    values = _values(Distribution.normal(2.0, 3.0), dtype)

    assert abs(values.mean() - 2.0) < 0.2
    assert abs(values.std() - 3.0) < 0.2


@pytest.mark.parametrize("dtype", [DType.F32, DType.I32])
@pytest.mark.parametrize(("prob", "share"), [(0.0, 0.0), (1.0, 1.0), (0.25, 0.25)])
def test_bernoulli_is_one_with_its_probability(dtype: DType, prob: float, share: float) -> None:
    values = _values(Distribution.bernoulli(prob), dtype)

    assert set(values) <= {0.0, 1.0}
    assert abs(values.mean() - share) < 0.03


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I64, DType.U64], ids=str)
def test_the_default_of_integers_is_their_whole_range(dtype: DType) -> None:
    values, info = _values(Distribution.DEFAULT, dtype), np.iinfo(dtype.numpy)

    assert values.min() < info.min + 0.01 * (float(info.max) - info.min)
    assert values.max() > info.max - 0.01 * (float(info.max) - info.min)


def test_uniform_integers_leave_the_high_end_out() -> None:
    assert set(_values(Distribution.uniform(-2.0, 2.0), DType.I16)) == {-2.0, -1.0, 0.0, 1.0}


def test_normal_integers_are_truncated() -> None:
    values = _values(Distribution.normal(0.0, 0.9), DType.I32)

    assert np.mean(values == 0.0) > 0.6


# Burn's own texts, recorded: `recorded/ask.rs`, "misc".
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Distribution.uniform(1.0, 1.0), "EmptyRange"),
        (lambda: Distribution.uniform(2.0, 1.0), "EmptyRange"),
        (lambda: Distribution.uniform(0.0, float("inf")), "NonFinite"),
        (lambda: Distribution.bernoulli(1.5), "InvalidProbability"),
        (lambda: Distribution.normal(0.0, float("nan")), "BadVariance"),
        (lambda: _values(Distribution.uniform(0.5, 0.7), DType.I32), "EmptyRange"),
    ],
)
def test_a_distribution_that_cannot_be_is_refused_with_burns_text(make: Any, reason: str) -> None:
    with pytest.raises(PanicError) as caught:
        make()

    assert str(caught.value) == f"called `Result::unwrap()` on an `Err` value: {reason}"


@pytest.mark.parametrize(
    ("distribution", "dtype", "kind"),
    [
        (Distribution.uniform(-3.0, 7.0), DType.U8, "unsigned"),
        (Distribution.uniform(0.0, 300.0), DType.I8, "signed"),
        (Distribution.normal(1e30, 1.0), DType.I32, "signed"),
    ],
)
def test_integers_that_the_dtype_does_not_hold_are_refused(
    distribution: Distribution, dtype: DType, kind: str
) -> None:
    with pytest.raises(TensorError, match=f"in the target {kind} int type"):
        _values(distribution, dtype)


def test_a_negative_deviation_is_legal() -> None:
    assert _values(Distribution.normal(0.0, -1.0), DType.F32).std() > 0.9


def test_one_seed_gives_one_stream_on_each_device_of_its_own() -> None:
    other = Device("sim", 41)
    draws = {}
    for device in (SIM, other):
        Tensor.seed(device, 11)
        draws[device] = Tensor.random([4], device=device).to_data()
    seed(SIM, 11)
    Tensor.random([9], device=other)

    assert Tensor.random([4], device=SIM).to_data() == draws[SIM] == draws[other]


def test_the_plain_and_the_autodiff_handle_share_a_stream() -> None:
    seed(SIM.autodiff(), 5)
    first = Tensor.random([2], device=SIM.autodiff())
    seed(SIM, 5)

    assert Tensor.random([2], device=SIM).to_data() == first.to_data()
    assert first.is_autodiff


def test_a_device_starts_its_stream_itself() -> None:
    SIM.seed(4)
    first = Tensor.random([2], device=SIM)
    seed(SIM, 4)

    assert Tensor.random([2], device=SIM).to_data() == first.to_data()


def test_a_draw_moves_the_stream_on() -> None:
    assert Tensor.random([4], device=SIM).to_data() != Tensor.random([4], device=SIM).to_data()


@pytest.mark.parametrize("number", [-1, 2**64, 1.5])
def test_a_seed_is_a_u64(number: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a seed is an integer"):
        seed(SIM, number)


def test_draws_from_many_threads_are_those_of_one() -> None:
    seed(SIM, 2)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: Tensor.random([64], device=SIM), range(64)))
    seed(SIM, 2)
    alone = [Tensor.random([64], device=SIM) for _ in range(64)]

    key = lambda tensor: bytes(tensor.to_data().bytes)  # noqa: E731
    assert sorted(map(key, drawn)) == sorted(map(key, alone))


def test_a_random_tensor_like_another_has_its_shape_dtype_and_device() -> None:
    like = Tensor.ones([2, 3], SIM, DType.F16).random_like()

    assert (like.shape, like.dtype, like.device) == ((2, 3), DType.F16, SIM)


def test_without_a_device_it_is_the_host() -> None:
    assert str(Tensor.random([1]).device) == "cpu"


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="is no distribution"):
        Tensor.random([1], "uniform", SIM)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("distribution", "text"),
    [
        (Distribution.DEFAULT, "Default"),
        (Distribution.uniform(0, 1), "Uniform(0.0, 1.0)"),
        (Distribution.normal(0, 1), "Normal(0.0, 1.0)"),
        (Distribution.bernoulli(1), "Bernoulli(1.0)"),
    ],
)
def test_a_distribution_shows_as_burn_shows_it(distribution: Distribution, text: str) -> None:
    assert repr(distribution) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_every_uniform_draw_is_in_its_range(low: float, width: float) -> None:
    values = _values(Distribution.uniform(low, low + width), DType.F64, 50)

    assert ((low <= values) & (values < low + width)).all()
