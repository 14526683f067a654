from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from refimpl.errors import TensorError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.gradient import GradState, detached, of_operation, untracked
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

CPU, SIM = Device("cpu"), Device("sim", 0)
STATES = st.sampled_from(list(GradState))
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FLOATS = st.floats(-1e3, 1e3, width=32)
INTS = st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
ANY_DTYPE = st.sampled_from([np.float64, np.float32, np.float16, np.bool_]) | INTS


def arrays(shape: Any = SHAPES) -> st.SearchStrategy[Any]:
    return hnp.arrays(np.float32, shape, elements=FLOATS)


def kind_of(array: Any) -> type[Any]:
    return {"f": Tensor, "b": BoolTensor}.get(array.dtype.kind, IntTensor)


@given(ANY_DTYPE.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES)))
def test_values_come_back_as_they_went_in(array: Any) -> None:
    data = kind_of(array).from_data(array, CPU).to_data()

    assert bytes(data.bytes) == array.tobytes()
    assert data.shape == array.shape
    assert kind_of(array).from_data(data, SIM).to_device(CPU).to_data() == data


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4), st.data())
def test_arithmetic_broadcasts_as_numpy_does(shapes: Any, data: st.DataObject) -> None:
    x, y = (data.draw(arrays(shape)) for shape in shapes.input_shapes)
    a, b = Tensor.from_data(x, CPU), Tensor.from_data(y, CPU)

    with np.errstate(all="ignore"):
        for got, want in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y)):
            assert got.shape == want.shape == shapes.result_shape
            np.testing.assert_array_equal(got.to_numpy(), want)
        assert (a < b).to_numpy().tolist() == (x < y).tolist()


@given(arrays(), arrays())
def test_any_two_shapes_give_a_result_or_an_error_of_ours(x: Any, y: Any) -> None:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        fits = False
    else:
        fits = True
    try:
        Tensor.from_data(x, CPU) + Tensor.from_data(y, CPU)
    except TensorError:
        assert not fits
    else:
        assert fits


@given(st.data())
def test_a_matrix_product_is_the_sum_of_products(data: st.DataObject) -> None:
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    x, y = data.draw(arrays((2, n, k))), data.draw(arrays((k, m)))
    got = Tensor.from_data(x, CPU) @ Tensor.from_data(y, CPU)

    want = (x[..., None].astype(np.float64) * y[None, None]).sum(2)
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-4, atol=1.0)


@given(arrays(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)), st.data())
def test_ranges_keep_every_axis_and_are_those_of_python_unless_they_go_backwards(
    x: Any, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, x.ndim - 1))
    part = data.draw(st.slices(x.shape[axis]) | st.integers(-x.shape[axis], x.shape[axis] - 1))
    index = (slice(None),) * axis + (part,)
    got = Tensor.from_data(x, CPU)[index]

    if isinstance(part, int):
        want = np.expand_dims(x[index], axis)
    elif part.step is not None and part.step < 0:  # Burn takes the range first, then goes back
        first = (slice(None),) * axis
        want = x[(*first, slice(part.start, part.stop))][(*first, slice(None, None, part.step))]
    else:
        want = x[index]
    np.testing.assert_array_equal(got.to_numpy(), want)


@given(arrays(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6)), st.integers(1, 7), st.data())
def test_chunks_put_together_are_the_tensor(x: Any, chunks: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    tensor = Tensor.from_data(x, CPU)
    parts = tensor.chunk(chunks, axis)

    assert len(parts) <= chunks
    assert Tensor.cat(parts, axis).to_data() == tensor.to_data()


@given(arrays(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)), st.data())
def test_softmax_sums_to_one_and_log_softmax_is_its_logarithm(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, x.ndim - 1))
    tensor = Tensor.from_data(x, CPU, DType.F64)
    soft = tensor.softmax(axis)

    np.testing.assert_allclose(soft.sum_dim(axis).to_numpy(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        tensor.log_softmax(axis).exp().to_numpy(), soft.to_numpy(), rtol=1e-9, atol=1e-300
    )


@given(INTS, st.data())
def test_integers_wrap_as_numpys_do(dtype: Any, data: st.DataObject) -> None:
    x, y = (data.draw(hnp.arrays(dtype, 5)) for _ in range(2))
    a, b = IntTensor.from_data(x, CPU), IntTensor.from_data(y, CPU)

    for got, want in ((a + b, x + y), (a - b, x - y), (a * b, x * y)):
        np.testing.assert_array_equal(got.to_numpy(), want)


@given(INTS, st.data())
def test_division_of_integers_truncates_and_its_remainder_has_the_divisors_sign(
    dtype: Any, data: st.DataObject
) -> None:
    x = data.draw(hnp.arrays(dtype, 5))
    y = data.draw(hnp.arrays(dtype, 5, elements=hnp.from_dtype(np.dtype(dtype)).filter(bool)))
    lows = (x == np.iinfo(dtype).min) & (y == (-1 if np.dtype(dtype).kind == "i" else 0))
    x = np.where(lows, dtype(0), x)  # the one quotient that has no place in the dtype

    a, b = IntTensor.from_data(x, CPU), IntTensor.from_data(y, CPU)
    quotients = [
        abs(int(n)) // abs(int(d)) * (1 if (n < 0) == (d < 0) else -1) for n, d in zip(x, y, strict=True)
    ]
    assert (a / b).to_numpy().tolist() == quotients
    assert (a % b).to_numpy().tolist() == [int(n) % int(d) for n, d in zip(x, y, strict=True)]


@given(STATES, STATES, STATES)
def test_the_state_of_a_result_is_a_join_untracked_below_tracked(
    a: GradState, b: GradState, c: GradState
) -> None:
    assert of_operation(a, b) is of_operation(b, a)
    assert of_operation(of_operation(a, b), c) is of_operation(a, of_operation(b, c))
    assert of_operation(a, a) is of_operation(of_operation(a, a), of_operation(a, a))


@given(STATES)
def test_every_change_of_state_done_twice_is_done_once(state: GradState) -> None:
    for change in (detached, untracked):
        assert change(change(state)) is change(state)


@given(STATES)
def test_no_change_of_state_adds_or_takes_the_context(state: GradState) -> None:
    for change in (detached, untracked):
        assert (change(state) is GradState.PLAIN) == (state is GradState.PLAIN)
