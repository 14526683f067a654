"""Arguments of the wrong type: an error of ours, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.errors import RefimplError, ResourceError
from refimpl.param.param import Param
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.module_functions import embedding, layer_norm, linear
from refimpl.tensor.random import Distribution
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

SIM: Any = Device("sim", 0)
X: Any = Tensor.ones([2, 3], SIM)
INTS: Any = IntTensor.ones([2], SIM)
TRUTH: Any = BoolTensor.ones([2], SIM)
ANY: Any = "no device, no dtype"
ASKS: dict[str, Callable[[], Any]] = {
    "from_data, device": lambda: Tensor.from_data([1.0], ANY),
    "from_data, dtype": lambda: Tensor.from_data([1.0], SIM, ANY),
    "from_data, a masked array": lambda: Tensor.from_data(np.ma.array([1.0, 2.0], mask=[0, 1]), SIM),
    "from_data, a list of tensors": lambda: Tensor.from_data([X, X], SIM),
    "from_data, a parameter": lambda: Tensor.from_data(Param.from_tensor(X), SIM),
    "from_record_data, device": lambda: Tensor.from_record_data(X.to_data(), ANY, DType.F32),
    "from_record_data, data": lambda: Tensor.from_record_data(ANY, SIM, DType.F32),
    "from_record_data, dtype": lambda: Tensor.from_record_data(X.to_data(), SIM, ANY),
    "zeros, device": lambda: Tensor.zeros([1], ANY),
    "zeros, dtype": lambda: Tensor.zeros([1], SIM, np.float32),  # type: ignore[arg-type]
    "full, value": lambda: Tensor.full([1], ANY, SIM),
    "full, integer beyond floats": lambda: Tensor.full([1], 10**400, SIM),
    "random, device": lambda: Tensor.random([1], Distribution.DEFAULT, ANY),
    "from_dlpack, device": lambda: Tensor.from_dlpack(np.ones(1), ANY),
    "arange, device": lambda: IntTensor.arange(0, 3, ANY),
    "arange, end": lambda: IntTensor.arange(0, ANY, SIM),
    "to_device": lambda: X.to_device(ANY),
    "cast": lambda: X.cast(ANY),
    "cast of ints": lambda: INTS.cast(np.int8),
    "reshape": lambda: X.reshape("ab"),
    "reshape to floats": lambda: X.reshape([1.5, 4]),
    "reshape to nothing": lambda: X.reshape(None),
    "expand": lambda: X.expand([2.0, 3.0]),
    "repeat_dim": lambda: X.repeat_dim(0, 1.5),
    "narrow": lambda: X.narrow(0, "a", 1),
    "narrow, length": lambda: X.narrow(0, 0, 1.0),
    "chunk": lambda: X.chunk("a", 0),
    "unsqueeze": lambda: X.unsqueeze("a"),
    "permute": lambda: X.permute(1),
    "stack": lambda: Tensor.stack([1, 2], 0),  # type: ignore[list-item]
    "reshape to a dictionary": lambda: X.reshape({6: 1}),
    "zeros of a dictionary": lambda: Tensor.zeros({1: 2}, SIM),  # type: ignore[arg-type]
    "zeros of a set": lambda: Tensor.zeros({1, 2}, SIM),  # type: ignore[arg-type]
    "zeros of bytes": lambda: Tensor.zeros(b"12", SIM),
    "set_require_grad": lambda: X.autodiff().set_require_grad(1),
    "a quantised dtype": lambda: DType.qfloat(None),  # type: ignore[arg-type]
    "a dtype of None": lambda: DType.of(None),
    "a dtype by a list": lambda: DType.parse([]),  # type: ignore[arg-type]
    "stack of a tensor": lambda: Tensor.stack(X, 0),
    "stack of nothing": lambda: Tensor.stack(None, 0),  # type: ignore[arg-type]
    "device of many digits": lambda: Device.parse("sim:" + "9" * 5000),
    "device, an index of many digits": lambda: Device("sim", 10**5000),
    "device, an index past 64 bits": lambda: Device("sim", 2**64),
    "data, nothing": lambda: TensorData(None, None, None),  # type: ignore[arg-type]
    "data, dtype": lambda: TensorData(ANY, [1], b"a"),
    "data, shape": lambda: TensorData(DType.U8, None, b"a"),  # type: ignore[arg-type]
    "data, extent": lambda: TensorData(DType.U8, [1.0], b"a"),  # type: ignore[list-item]
    "data, bytes": lambda: TensorData(DType.U8, [1], None),  # type: ignore[arg-type]
    "data, array": lambda: TensorData.from_array(None),  # type: ignore[arg-type]
    "data, array's dtype": lambda: TensorData.from_array(np.ones(1), ANY),
    "deferred, provider": lambda: TensorData.deferred(DType.F32, [2], 8, None),  # type: ignore[arg-type]
    "deferred, bytes": lambda: TensorData.deferred(DType.F32, [2], -8, lambda: b""),
    "deferred, no number of bytes": lambda: TensorData.deferred(DType.F32, [2], True, lambda: b""),
    "deferred, given": lambda: TensorData.deferred(DType.F32, [2], 8, lambda: None).bytes,  # type: ignore
    "stack of none": lambda: Tensor.stack([], 0),
    "cat of a tensor": lambda: Tensor.cat(X, 0),
    "cat of numbers": lambda: Tensor.cat([1, 2], 0),  # type: ignore[list-item]
    "cat of nothing": lambda: Tensor.cat(None, 0),  # type: ignore[arg-type]
    "a step of 0": lambda: X[::0],
    "a range of floats": lambda: X[1.0:2.0],
    "mask": lambda: X.mask_fill(None, 0.0),
    "mask, value": lambda: X.mask_fill(X > 0, "a"),
    "mask, other": lambda: X.mask_where(X > 0, 1.0),
    "softmax": lambda: X.softmax(1.0),
    "power": lambda: X**None,
    "equal": lambda: X == None,  # noqa: E711
    "less": lambda: X < "a",
    "matmul": lambda: X.matmul(1.0),
    "matmul with an array": lambda: X @ np.ones((3, 2)),
    "sum with an array": lambda: X + np.ones((2, 3)),
    "complex": lambda: X + 1j,
    "integer of 71 bits": lambda: INTS + 2**70,
    "truth": lambda: TRUTH & True,
    "linear, weight": lambda: linear(X, None),  # type: ignore[arg-type]
    "linear, bias": lambda: linear(X, X.T, 1.0),  # type: ignore[arg-type]
    "configure": lambda: SIM.configure("F32"),
    "uniform": lambda: Distribution.uniform(ANY, 1.0),
    "normal": lambda: Distribution.normal(None, 1.0),  # type: ignore[arg-type]
    "too many elements": lambda: Tensor.zeros([2**62], SIM),
    "too many axes": lambda: X.reshape([1] * 63 + [2, 3]),
    "expanded too far": lambda: X.expand([2**62, 2, 3]),
}


@pytest.mark.parametrize("name", ASKS)
def test_it_is_refused_with_an_error_of_ours(name: str) -> None:
    with pytest.raises(RefimplError):
        ASKS[name]()


@pytest.mark.parametrize(
    ("ask", "message", "hint"),
    [
        (lambda: X @ Param.from_tensor(X), "Matmul takes a Tensor, got Param", "param.val()"),
        (lambda: X + Param.from_tensor(X), "a number, got Param", "param.val()"),
        (lambda: X @ np.ones((3, 2)), "Matmul takes a Tensor, got ndarray", "Tensor.from_data"),
        (lambda: Tensor.from_data(None, SIM), "made of numbers, got NoneType", "nested lists"),
        (lambda: Tensor.from_data(Param.from_tensor(X), SIM), "got Param", "param.val()"),
        (lambda: Tensor.from_data([[X]], SIM), "got a list of Tensor", "Tensor.stack"),
        (lambda: Tensor.cat(X, 0), "Cat takes several tensors, got Tensor", "[first, second]"),
        (lambda: Tensor.cat(None, 0), "Cat takes several tensors, got NoneType", "[first, second]"),  # type: ignore[arg-type]
        (lambda: Tensor.from_data(np.array([1], object), SIM), "got elements of object", "astype"),
        (lambda: Tensor.from_data(np.array([2**70], object), SIM), "an integer of more than 64 bits", ""),
        (lambda: Device("sim", 1.0), "a device index is an integer, got 1.0", ""),  # type: ignore[arg-type]
    ],
)
def test_the_error_names_what_was_given_and_the_way_out(
    ask: Callable[[], Any], message: str, hint: str
) -> None:
    with pytest.raises(RefimplError) as raised:
        ask()
    assert message in str(raised.value)
    assert hint in (raised.value.hint or "")


def test_an_array_whose_mask_hides_nothing_is_an_array() -> None:
    assert Tensor.from_data(np.ma.array([1.0, 2.0]), SIM).to_numpy().tolist() == [1.0, 2.0]


def test_a_tensor_is_walked_along_its_outermost_axis() -> None:
    rows = list(Tensor.from_data([[1.0], [2.0]], SIM))

    assert [row.shape for row in rows] == [(1, 1), (1, 1)]
    assert [row.item() for row in rows] == [1.0, 2.0]
    with pytest.raises(RefimplError):
        list(Tensor.from_data(1.0, SIM))


@pytest.mark.parametrize("function", [embedding, layer_norm])
def test_functions_of_layers_take_tensors(function: Callable[..., Any]) -> None:
    rest = (None, 1e-5) if function is layer_norm else ()
    with pytest.raises(RefimplError):
        function(X, 1.0, *rest)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tensor.random((2**70, 2), Distribution.DEFAULT, Device("cpu")),
        lambda: Tensor.random((2**45, 2), Distribution.DEFAULT, Device("cpu")),
        lambda: IntTensor.arange(0, 2**60, Device("cpu")),
        lambda: Tensor.zeros((2**40, 2**40), Device("cpu")),
    ],
)
def test_what_no_memory_holds_is_said_as_that(make: Callable[[], object]) -> None:
    with pytest.raises(ResourceError, match="no memory for a tensor of"):
        make()


HUGE = 2**24
ROW, COLUMN = Tensor.ones([1], SIM).expand([1, HUGE]), Tensor.ones([1], SIM).expand([HUGE, 1])
SQUARE: Any = Tensor.ones([1], SIM).expand([HUGE, HUGE])
TRUTHS: Any = BoolTensor.ones([1], SIM).expand([HUGE, HUGE])
NO_ROOM: dict[str, Callable[[], Any]] = {
    "repeat_dim past every array": lambda: X.repeat_dim(0, 2**62),
    "repeat_dim": lambda: X.repeat_dim(0, 2**45),
    "matmul": lambda: COLUMN @ ROW,
    "matmul of ints": lambda: COLUMN.int() @ ROW.int(),
    "linear": lambda: linear(COLUMN, ROW, Tensor.ones([1], SIM).expand([HUGE])),
    "broadcast": lambda: COLUMN + ROW,
    "comparison": lambda: COLUMN > ROW,
    "cast": lambda: SQUARE.cast(DType.F64),
    "int": lambda: SQUARE.int(),
    "of truths": lambda: TRUTHS.float(),
    "not": lambda: ~TRUTHS,
    "exp": lambda: SQUARE.exp(),
    "cat": lambda: Tensor.cat([SQUARE, SQUARE], 0),
    "stack": lambda: Tensor.stack([SQUARE, SQUARE], 0),
    "mask": lambda: SQUARE.mask_where(TRUTHS, SQUARE),
    "select": lambda: SQUARE.select(0, IntTensor.zeros([4], SIM).expand([4])).repeat_dim(0, 2**40),
    "to_data": lambda: SQUARE.to_data(),
    "a copy": lambda: np.array(SQUARE),
}


@pytest.mark.parametrize("name", NO_ROOM)
def test_a_result_that_no_memory_holds_is_said_to_be_one(name: str) -> None:
    with pytest.raises(ResourceError, match="no memory for the result of an operation") as raised:
        NO_ROOM[name]()
    assert isinstance(raised.value.__cause__, MemoryError | ValueError)
