"""The path of a `cuda` device, driven with a CuPy of our own: two GPUs, arrays in host memory."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refimpl.errors import DeviceError, DeviceMismatchError, UnsupportedDTypeError
from refimpl.tensor import namespace
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import IntTensor, Tensor


class Runtime:
    CUDARuntimeError = type("CUDARuntimeError", (Exception,), {})
    count = 2

    @classmethod
    def getDeviceCount(cls) -> int:  # noqa: N802 - CuPy's name
        if cls.count < 0:
            raise cls.CUDARuntimeError("no CUDA-capable device is detected")
        return cls.count


class Current:
    """CuPy's `cuda.Device`: the GPU that is current within a block."""

    stack: list[int]

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        Current.stack.append(self.index)

    def __exit__(self, *_: object) -> None:
        Current.stack.pop()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    fake = ModuleType("cupy")
    fake.cuda = SimpleNamespace(runtime=Runtime, Device=Current)  # type: ignore[attr-defined]
    fake.asarray = np.array  # type: ignore[attr-defined]
    fake.asnumpy = np.array  # type: ignore[attr-defined]
    compat = ModuleType("array_api_compat")
    compat.cupy = SimpleNamespace(**vars(np))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setitem(sys.modules, "array_api_compat", compat)
    monkeypatch.setattr(Runtime, "count", 2)
    monkeypatch.setattr(Current, "stack", [], raising=False)
    yield fake
    for index in range(3):
        namespace._keep(Device("cuda", index), None)


@pytest.mark.usefixtures("cupy")
def test_a_tensor_is_made_on_the_gpu_moves_and_comes_back() -> None:
    tensor = Tensor.from_data([1.0, 2.0], Device("cuda", 0)) * 2.0

    assert isinstance(namespace.space_of(Device("cuda", 0)), namespace.CupySpace)
    assert tensor.to_numpy().tolist() == [2, 4]
    assert str(tensor.to_device(Device("cuda", 1)).device) == "cuda:1"
    assert tensor.to_device(Device("sim", 0)).to_numpy().tolist() == [2, 4]


@pytest.mark.report("BL-46")
@pytest.mark.usefixtures("cupy")
def test_an_operation_runs_with_its_gpu_current_and_leaves_none_behind_even_when_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = Tensor.ones([2], Device("cuda", 1))
    seen: list[Any] = []
    xp = sys.modules["array_api_compat"].cupy
    monkeypatch.setattr(xp, "exp", lambda _: (seen.append(list(Current.stack)), 1 / 0)[1])

    with pytest.raises(ZeroDivisionError):
        tensor.exp()
    assert seen == [[1]]
    assert Current.stack == []


@pytest.mark.report("BL-46")
@pytest.mark.usefixtures("cupy")
def test_two_gpus_are_never_mixed() -> None:
    with pytest.raises(DeviceMismatchError, match="cuda:0"):
        Tensor.ones([1], Device("cuda", 0)) + Tensor.ones([1], Device("cuda", 1))


@pytest.mark.usefixtures("cupy")
def test_an_index_beyond_the_gpus_is_refused_with_their_number() -> None:
    with pytest.raises(DeviceError, match=r"there is no cuda:2: the machine has 2 GPU"):
        Tensor.ones([1], Device("cuda", 2))


@pytest.mark.usefixtures("cupy")
def test_bfloat16_is_refused_there_before_anything_is_made() -> None:
    with pytest.raises(UnsupportedDTypeError, match="cuda:0 has no BF16"):
        Tensor.ones([1], Device("cuda", 0), DType.BF16)
    with pytest.raises(UnsupportedDTypeError, match="cuda:0 has no BF16"):
        Tensor.ones([1], Device("sim", 0), DType.BF16).to_device(Device("cuda", 0))


@pytest.mark.usefixtures("cupy")
def test_reductions_and_integers_work_there() -> None:
    ints = IntTensor.from_data([[3, 1], [2, 5]], Device("cuda", 0))

    assert ints.sum_dim(0).to_numpy().tolist() == [[5, 6]]
    assert (ints / 2).to_numpy().tolist() == [[1, 0], [1, 2]]


@pytest.mark.usefixtures("cupy")
def test_a_driver_that_fails_is_an_error_with_a_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Runtime, "count", -1)

    with pytest.raises(DeviceError, match="no CUDA-capable device") as caught:
        Tensor.ones([1], Device("cuda", 0))
    assert "sim:0" in str(caught.value.hint)


def test_without_cupy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_cupy(name: str, *rest: Any) -> Any:
        if name == "cupy":
            raise ImportError("No module named 'cupy'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_cupy)
    with pytest.raises(DeviceError, match="cuda:0 needs CuPy") as caught:
        Tensor.ones([1], Device("cuda", 0))
    assert "refimpl[cuda]" in str(caught.value.hint)


def test_a_host_without_gpus_never_imports_cupy() -> None:
    Tensor.ones([1], Device("sim", 0))

    assert "cupy" not in sys.modules
