from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest

from refimpl.errors import UnsupportedDTypeError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.module_functions import batch_norm_train, embedding, layer_norm, linear
from refimpl.tensor.namespace import Space, StandardSpace, installed, space_of
from refimpl.tensor.random import Distribution
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

HOST, STRICT, STRICT_TOO = Device("sim", 60), Device("sim", 61), Device("sim", 62)
# What the standard's dtypes allow: float32, float64, the integers and bool.
DTYPES = [DType.F32, DType.F64]


@pytest.fixture(autouse=True)
def strict_devices() -> Iterator[None]:
    """Two devices of a library that refuses whatever the array API standard does not promise."""
    ones = [StandardSpace(array_api_strict, array_api_strict.Device(name)) for name in ("device1", "device2")]
    with installed(STRICT, ones[0]), installed(STRICT_TOO, ones[1]):
        yield


OPERATIONS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rem": lambda x, y: x % y,
    "scalar": lambda x, y: (1.0 - x * 2.0) / 3.0 + 4,
    "reversed": lambda x, y: 1.0 / y,
    "pow": lambda x, y: x.abs() ** 2.5,
    "neg": lambda x, y: -x,
    "matmul": lambda x, y: x @ y.T,
    "functions": lambda x, y: x.exp() + x.abs().log1p() + x.abs().sqrt() + x.sin() + x.cos() + x.tanh(),
    "rounding": lambda x, y: x.floor() + x.ceil() + x.round() + x.sign(),
    "erf": lambda x, y: x.erf(),
    "gelu": lambda x, y: x.gelu(),
    "gelu_approximate": lambda x, y: x.gelu_approximate(),
    "relu": lambda x, y: x.relu(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "softmax": lambda x, y: x.softmax(0),
    "log_softmax": lambda x, y: x.log_softmax(1),
    "sum": lambda x, y: x.sum(),
    "sum_dim": lambda x, y: x.sum_dim(1),
    "prod": lambda x, y: x.prod(),
    "mean": lambda x, y: x.mean(),
    "var": lambda x, y: x.var(1),
    "max": lambda x, y: x.max() + x.min_dim(0),
    "argmax": lambda x, y: x.argmax(1),
    "compare": lambda x, y: (x > y) | (x == y) | ~(x >= y),
    "any": lambda x, y: (x > 0).any(),
    "all_dim": lambda x, y: (x > 0).all_dim(1),
    "is_nan": lambda x, y: x.is_nan(),
    "mask": lambda x, y: x.mask_fill(x > 0, -1.0).mask_where(y > 0, y),
    "reshape": lambda x, y: x.reshape([3, -1]).flatten(),
    "permute": lambda x, y: x.permute([1, 0]).flip([0]),
    "slice": lambda x, y: x[1:, ::2][0],
    "narrow": lambda x, y: x.narrow(1, 1, 2),
    "select": lambda x, y: x.select(1, IntTensor.from_data([2, 0], x.device)),
    "cat": lambda x, y: Tensor.cat([x, y], 1),
    "stack": lambda x, y: Tensor.stack([x, y], 0),
    "expand": lambda x, y: x.unsqueeze_dim(0).expand([2, 2, 3]),
    "repeat": lambda x, y: x.repeat_dim(0, 3),
    "squeeze": lambda x, y: x.unsqueeze_dim(0).squeeze_dim(0),
    "cast": lambda x, y: x.cast(DType.F64),
    "int": lambda x, y: x.int(),
    "int arithmetic": lambda x, y: (x.int() * 3 - 1) / 2 + x.int() % 2,
    "bool": lambda x, y: x.bool().float(),
    "linear": lambda x, y: linear(x, y.T, y.T[0].reshape([2])),
    "layer_norm": lambda x, y: layer_norm(x, y[0].reshape([3]), None, 1e-5),
    "batch_norm": lambda x, y: batch_norm_train(x, y[0].reshape([3]), y[1].reshape([3]), 1e-5)[0],
    "embedding": lambda x, y: embedding(x, IntTensor.from_data([[1, 0]], x.device)),
    "zeros_like": lambda x, y: x.zeros_like() + x.ones_like(),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_keeps_to_the_standard_and_agrees_with_numpy(name: str, dtype: DType) -> None:
    x, y = [[1.5, -2.0, 0.25], [3.0, -0.5, 2.0]], [[1.0, 3.0, -2.0], [0.5, -0.5, 4.0]]
    results = [
        OPERATIONS[name](Tensor.from_data(x, device, dtype), Tensor.from_data(y, device, dtype))
        for device in (HOST, STRICT)
    ]

    assert isinstance(results[1].array, type(array_api_strict.asarray(0)))
    assert results[0].dtype is results[1].dtype
    np.testing.assert_allclose(results[1].to_numpy(), results[0].to_numpy(), rtol=1e-6)


def test_a_tensor_moves_between_libraries_and_their_devices_and_back() -> None:
    tensor = Tensor.from_data([[1.0, 2.0]], HOST.autodiff()).require_grad()
    there = tensor.to_device(STRICT)
    further = there.to_device(STRICT_TOO)
    back = further.to_device(HOST)

    assert (str(there.device), str(further.device)) == ("sim:61+autodiff", "sim:62+autodiff")
    assert further.array.device == array_api_strict.Device("device2")
    assert back.to_data() == tensor.to_data()
    assert not back.is_require_grad


def test_elements_that_the_library_does_not_know_are_refused_before_anything_is_made() -> None:
    half = Tensor.ones([1], HOST, DType.F16)

    with pytest.raises(UnsupportedDTypeError, match="no elements of F16"):
        half.to_device(STRICT)
    for dtype in (DType.F16, DType.BF16):
        with pytest.raises(UnsupportedDTypeError, match="has no elements of"):
            Tensor.zeros([1], STRICT, dtype)
        with pytest.raises(UnsupportedDTypeError, match="has no elements of"):
            Tensor.from_data([1.0], STRICT, dtype)


@pytest.mark.parametrize("cls", [Tensor, IntTensor, BoolTensor])
def test_every_kind_is_made_there_and_shown(cls: type[Tensor]) -> None:
    tensor = cls.from_data([1, 0], STRICT)

    assert tensor.to_numpy().tolist() == [1, 0]
    assert "sim:61" in repr(tensor)
    assert cls.from_data(tensor.to_data(), STRICT).to_data() == tensor.to_data()


def test_random_values_are_made_there() -> None:
    assert Tensor.random([3], Distribution.DEFAULT, STRICT).to_numpy().shape == (3,)


def test_nothing_warns_there_either() -> None:
    assert math.isinf((Tensor.ones([1], STRICT) / 0.0).item())  # type: ignore[arg-type]


def test_a_device_keeps_its_library_and_gives_the_stand_in_up() -> None:
    device = Device("sim", 63)
    first = space_of(device)

    assert isinstance(first, Space)
    assert space_of(device.autodiff()) is first is device.space
    with installed(device, StandardSpace(array_api_strict)):
        assert space_of(device) is not first
    assert space_of(device) is first
