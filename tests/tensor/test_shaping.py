from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.errors import ArgumentTypeError, InvalidArgumentError, TensorError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.gradient import GradState
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

CPU = Device("cpu")
A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
X = Tensor.from_data(A, CPU)
MOVES: dict[str, tuple[Callable[[Any], Any], np.ndarray[Any, Any]]] = {
    "reshape": (lambda x: x.reshape([4, 6]), A.reshape(4, 6)),
    "reshape one": (lambda x: x.reshape(24), A.reshape(24)),
    "reshape -1": (lambda x: x.reshape([2, -1]), A.reshape(2, 12)),
    "flatten": (lambda x: x.flatten(), A.reshape(24)),
    "flatten some": (lambda x: x.flatten(1, 2), A.reshape(2, 12)),
    "transpose": (lambda x: x.transpose(), A.swapaxes(1, 2)),
    "T": (lambda x: x.T, A.swapaxes(1, 2)),
    "swap_dims": (lambda x: x.swap_dims(0, -1), A.swapaxes(0, 2)),
    "permute": (lambda x: x.permute([2, 0, 1]), A.transpose(2, 0, 1)),
    "flip": (lambda x: x.flip([0, 2]), A[::-1, :, ::-1]),
    "unsqueeze_dim": (lambda x: x.unsqueeze_dim(1), A[:, None]),
    "unsqueeze_dim end": (lambda x: x.unsqueeze_dim(-1), A[..., None]),
    "unsqueeze": (lambda x: x.unsqueeze(5), A[None, None]),
    "squeeze_dim": (lambda x: x.unsqueeze_dim(1).squeeze_dim(1), A),
    "squeeze": (lambda x: x.unsqueeze_dim(1).unsqueeze_dim(0).squeeze(), A),
    "expand": (lambda x: x[0:1].expand([5, -1, 4]), np.broadcast_to(A[:1], (5, 3, 4))),
    "expand leading": (lambda x: x.expand([2, 2, 3, 4]), np.broadcast_to(A, (2, 2, 3, 4))),
    "repeat_dim": (lambda x: x.repeat_dim(1, 2), np.tile(A, (1, 2, 1))),
    "repeat_dim none": (lambda x: x.repeat_dim(0, 0), A[:0]),
    "index": (lambda x: x[1], A[1:2]),
    "index last": (lambda x: x[-1], A[1:2]),
    "ranges": (lambda x: x[:, 1:3, 0], A[:, 1:3, 0:1]),
    "step": (lambda x: x[:, ::2], A[:, ::2]),
    "backwards": (lambda x: x[:, 1:3:-1], A[:, [2, 1]]),
    "backwards by two": (lambda x: x[:, :, 0:4:-2], A[:, :, [3, 1]]),
    "backwards to the first": (lambda x: x[:, ::-2], A[:, [2, 0]]),
    "backwards through nothing": (lambda x: x[:, 2:1:-1], A[:, :0]),
    "none": (lambda x: x[None, 2], A[:, 2:3]),
    "slice": (lambda x: x.slice([slice(0, 1), 2]), A[0:1, 2:3]),
    "slice one": (lambda x: x.slice(slice(1, 2)), A[1:2]),
    "narrow": (lambda x: x.narrow(2, 1, 2), A[:, :, 1:3]),
    "select": (lambda x: x.select(1, IntTensor.from_data([2, 0, 2], CPU)), A[:, [2, 0, 2]]),
    "cat": (lambda x: type(x).cat([x, x[:, :1]], 1), np.concatenate([A, A[:, :1]], 1)),
    "stack": (lambda x: type(x).stack([x, x], -1), np.stack([A, A], -1)),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("kind", ["float", "int"])
def test_rearranging_agrees_with_numpy(name: str, kind: str) -> None:
    move, want = MOVES[name]
    got = move(X if kind == "float" else X.int())

    assert got.shape == want.shape
    np.testing.assert_array_equal(got.to_numpy(), want)


def test_rearranging_keeps_dtype_device_and_kind() -> None:
    x = BoolTensor.ones([2, 3], Device("sim", 3).autodiff())

    assert (x.T.dtype, str(x.T.device), type(x.T)) == (DType.BOOL_NATIVE, "sim:3+autodiff", BoolTensor)


@pytest.mark.parametrize(
    ("extent", "chunks", "want"), [(7, 3, [3, 3, 1]), (7, 5, [2, 2, 2, 1]), (3, 9, [1, 1, 1]), (0, 2, [])]
)
def test_chunks_are_as_long_as_the_first_but_the_last(extent: int, chunks: int, want: list[int]) -> None:
    assert [part.shape[0] for part in Tensor.ones([extent], CPU).chunk(chunks, 0)] == want


# Burn's own texts, recorded: `recorded/ask.rs`, "misc".
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: X[0, 0].reshape([4, 2]), "Current shape: [1, 1, 4], target shape: [4, 2]."),
    (lambda: X.reshape([-1, 5]), "Cannot infer a valid target shape."),
    (lambda: X.reshape([-1, -1]), "Repeated -1 in reshape."),
    (lambda: X.reshape([-1, 0]), "Cannot infer a dimension when another resolved dimension is zero."),
    (lambda: X.reshape([-2, 3]), "The given shape cannot contain negative dimensions (other than -1)."),
    (lambda: X.sum_dim(3), "1. BoundsError: dimension 3 out of bounds: 0..3"),
    (lambda: X.sum_dim(-4), "1. BoundsError: dimension -4 out of bounds: 0..3"),
    (lambda: X.swap_dims(0, 5), "Operation: 'Swap Dims'"),
    (lambda: X.squeeze_dim(0), "Can't squeeze dimension 0 because its size is not 1"),
    (
        lambda: X.narrow(0, 1, 5),
        "start + length exceeds the size of the tensor along this dimension (Size=2)",
    ),
    (lambda: X.narrow(0, 7, 5), "start exceeds the size of the tensor along this dimension (Size=2)"),
    (lambda: X.narrow(0, 1, 0), "length must be greater than 0"),
    (
        lambda: X[0].expand([2, 3, 5]),
        "Incompatible size at dimension '0' => '4 != 5', which can't be broadcasted. "
        "Tensor shape Shape { dims: [1, 3, 4] }, Target shape Shape { dims: [2, 3, 5] }.",
    ),
    (lambda: X.expand([3, 4]), "got 2, need at least 3"),
    (lambda: X.flatten(1, 0), "The start dim (1) must be smaller than or equal to the end dim (0)"),
    (lambda: X.permute([0, 0, 1]), "The axes must be unique. The axes '[0, 0, 1]' are not unique."),
    (lambda: X.flip([0, 0]), "Operation: 'flip'"),
    (lambda: X.unsqueeze(2), "Can't unsqueeze"),
    (lambda: X.chunk(0, 0), "at least one part"),
    (lambda: Tensor.cat([], 0), "Can't concatenate an empty list of tensors."),
    (
        lambda: Tensor.cat([X, X[:, :1]], 0),
        "Provided dimension (0), tensors shapes: [Shape { dims: [2, 3, 4] }, Shape { dims: [2, 1, 4] }]",
    ),
    (lambda: Tensor.cat([X, X.cast(DType.F64)], 0), "cat: dtype mismatch: expected F32, got F64"),  # type: ignore[list-item]
    (lambda: Tensor.stack([X, X[:1]], 0), "Can't stack"),
    (
        lambda: X.select(0, IntTensor.from_data([5], CPU)),
        "index 5 out of bounds for dimension of size 2",
    ),
    (
        lambda: X.select(0, IntTensor.from_data([-1], CPU)),
        "index -1 out of bounds for dimension of size 2",
    ),
    (lambda: X[2], "out of bounds"),
    (lambda: X[0, 0, 0, 0], "Too many slices provided for shape, got 4 but expected at most 3"),
    (lambda: X[::0], "Step cannot be zero"),
    (lambda: X.mask_where(BoolTensor.ones([5], CPU), X), "incompatible shapes"),
]


@pytest.mark.parametrize(("ask", "text"), REFUSED)
def test_what_does_not_fit_is_refused_with_the_facts(ask: Callable[[], Any], text: str) -> None:
    with pytest.raises(TensorError) as caught:
        ask()

    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: X.permute([0, 1]), "name each of the 3 axes once"),
        (lambda: X.repeat_dim(0, -1), "at least 0 times"),
        (lambda: X.select(0, IntTensor.zeros([1, 1], CPU)), "of rank 1"),
    ],
)
def test_what_rust_cannot_write_is_refused_as_an_argument(ask: Callable[[], Any], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x[1:1],
        lambda x: x.repeat_dim(0, 0),
        lambda x: type(x).cat([x[1:1].require_grad(), x[2:1].require_grad()], 0),
    ],
)
def test_a_result_of_nothing_is_new_and_has_no_part_in_a_graph(ask: Callable[[Any], Any]) -> None:
    leaf = Tensor.ones([2, 3], CPU.autodiff()).require_grad()

    assert ask(leaf).grad_state is GradState.UNTRACKED
    assert ask(leaf + 1.0).grad_state is GradState.UNTRACKED


def test_nothing_brings_no_gradient_into_what_it_is_joined_to() -> None:
    leaf = Tensor.ones([2, 3], CPU.autodiff()).require_grad()
    nothing = leaf[1:1].require_grad()

    assert Tensor.cat([nothing, leaf.detach().set_require_grad(False)], 0).grad_state is GradState.UNTRACKED
    assert Tensor.cat([nothing, leaf], 0).grad_state is GradState.NON_LEAF


@pytest.mark.parametrize(
    "ask",
    [
        lambda: X[[0, 1]],  # type: ignore[index]
        lambda: X[True],
        lambda: X.sum_dim("0"),  # type: ignore[arg-type]
        lambda: X.select(0, [0]),  # type: ignore[arg-type]
        lambda: X.select(0, X),  # type: ignore[arg-type]
        lambda: Tensor.cat([X, X.int()], 0),  # type: ignore[list-item]
        lambda: X.mask_where(X, X),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_another_type_are_refused(ask: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        ask()


def test_where_a_mask_is_true_the_other_value_is_taken() -> None:
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], CPU)
    mask = BoolTensor.from_data([True, False], CPU)

    assert x.mask_fill(mask, -1.0).to_numpy().tolist() == [[-1, 2], [-1, 4]]
    assert x.mask_where(mask, x * 10.0).to_numpy().tolist() == [[10, 2], [30, 4]]
    assert x.int().mask_fill(mask, 7).to_numpy().tolist() == [[7, 2], [7, 4]]


@given(st.permutations(range(3)))
def test_permuting_back_gives_the_tensor_again(order: list[int]) -> None:
    back = [order.index(axis) for axis in range(3)]

    assert X.permute(order).permute(back).to_data() == X.to_data()


def test_axes_that_stay_where_they_are_record_no_operation() -> None:
    leaf = Tensor.from_data(np.ones((2, 3), np.float32), Device("cpu").autodiff()).require_grad()

    assert leaf.permute([0, -1]) is leaf
    assert leaf.swap_dims(1, 1) is leaf
    assert leaf.permute([1, 0]).grad_state is GradState.NON_LEAF


def test_floats_of_one_axis_are_transposed_where_no_graph_is_recorded() -> None:
    plain = Tensor.from_data(np.ones(2, np.float32), Device("cpu"))

    assert plain.transpose() is plain
    with pytest.raises(TensorError, match="the len is 1"):
        plain.autodiff().transpose()
