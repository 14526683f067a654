from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from refimpl.errors import DeviceMismatchError, RefimplError
from refimpl.tensor.device import Device
from refimpl.tensor.module_functions import embedding, layer_norm, linear
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

ZERO, ONE = Device("sim", 0), Device("sim", 1)
MIXED: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "Div": lambda x, y: x / y,
    "Matmul": lambda x, y: x @ y,
    "Cat": lambda x, y: Tensor.cat([x, y], 0),
    "stack": lambda x, y: Tensor.stack([x, y], 0),
    "Equal": lambda x, y: x == y,
    "Lower": lambda x, y: x < y,
    "Mask Where": lambda x, y: x.mask_where(x > 0, y),
    "mask": lambda x, y: x.mask_fill(y > 0, 0.0),
    "linear": lambda x, y: linear(x, y),
    "linear bias": lambda x, y: linear(x, x, y.reshape([-1])[: x.shape[0]]),
    "layer_norm": lambda x, y: layer_norm(x, y, None, 1e-5),
    "Select": lambda x, y: x.select(0, y.int().reshape([y.size])),
    "embedding": lambda x, y: embedding(x, y.int()),
    "And": lambda x, y: (x > 0) & (y > 0),
    "int": lambda x, y: x.int() + y.int(),
    "powf": lambda x, y: x**y,
    "augmented": lambda x, y: _augmented(x, y),
}


def _augmented(x: Tensor, y: Tensor) -> Tensor:
    x += y
    return x


@pytest.mark.report("BL-46")
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in MIXED
        for shape in ([2, 2], [0, 0], [1, 1])
        if (name, shape) != ("Cat", [0, 0])
    ],
)
def test_every_operation_on_two_devices_is_refused_and_names_both(name: str, shape: list[int]) -> None:
    with pytest.raises(DeviceMismatchError, match="sim:0") as caught:
        MIXED[name](Tensor.ones(shape, ZERO), Tensor.ones(shape, ONE))

    assert "sim:1" in str(caught.value)
    assert "The provided tensors are not on the same device." in str(caught.value)


def test_what_is_joined_and_has_nothing_along_the_axis_is_not_looked_at() -> None:
    nothing, something = Tensor.ones([0, 2], ONE), Tensor.ones([1, 2], ZERO)

    assert Tensor.cat([nothing, something], 0).device is ZERO
    assert Tensor.cat([nothing, Tensor.ones([0, 2], ZERO)], 0).device is ONE


@pytest.mark.report("BL-46")
def test_tensors_of_rank_zero_on_two_devices_are_refused_too() -> None:
    with pytest.raises(DeviceMismatchError):
        Tensor.from_data(1.0, ZERO) + Tensor.from_data(1.0, ONE)


@pytest.mark.report("BL-46")
@pytest.mark.clause("DEV-2")
def test_the_autodiff_tag_makes_no_other_device() -> None:
    assert (Tensor.ones([1], ZERO) + Tensor.ones([1], ZERO.autodiff())).item() == 2.0


@pytest.mark.report("BL-46")
def test_a_result_is_where_its_operands_are() -> None:
    assert (Tensor.ones([1], ONE) + 1.0).device is ONE
    assert (Tensor.ones([1, 1], ONE) @ Tensor.ones([1, 1], ONE)).device is ONE
    assert (Tensor.ones([1], ONE) > 0).device is ONE


@pytest.mark.report("BL-44")
@pytest.mark.parametrize("kind", [Tensor, IntTensor, BoolTensor])
def test_every_kind_of_tensor_moves_and_keeps_its_values(kind: type[Tensor]) -> None:
    moved = kind.ones([2, 3], ZERO).to_device(ONE)

    assert (str(moved.device), moved.shape, moved.to_numpy().min()) == ("sim:1", (2, 3), 1)


def test_the_text_of_the_refusal_is_burns() -> None:
    with pytest.raises(DeviceMismatchError) as caught:
        Tensor.ones([1], ZERO) + Tensor.ones([1], ONE)

    assert str(caught.value) == (
        "=== Tensor Operation Error ===\n  Operation: 'Add'\n  Reason:\n    1. The provided tensors are not "
        "on the same device. Lhs tensor device sim:0, Rhs tensor device sim:1. \n"
    )


@pytest.mark.report("BL-46")
def test_a_gpu_that_is_not_there_is_an_error_with_a_way_out() -> None:
    with pytest.raises(RefimplError) as caught:
        Tensor.ones([1], Device("cuda", 12345))

    assert "sim" in str(caught.value.hint)  # type: ignore[attr-defined]
