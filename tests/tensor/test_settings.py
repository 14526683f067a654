from __future__ import annotations

import pytest

from refimpl.errors import DeviceError, UnsupportedDTypeError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.settings import DeviceSettings, configure, settings
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

pytestmark = pytest.mark.clause("DEV-13")
LOCKED = (
    "Device {} settings have already been initialized and cannot be changed.\n"
    "Default data types lock on the first tensor operation for a device (or on a previous "
    "`set_default_dtypes`/`configure` call). Configure the device before creating any tensor "
    "on it, or create tensors with an explicit dtype instead."
)


def test_the_defaults_are_those_of_burns_flex_backend() -> None:
    assert settings(Device("sim", 5000)) == DeviceSettings(DType.F32, DType.I32, DType.BOOL_NATIVE)


def test_what_is_configured_holds_for_every_kind_of_tensor_and_for_both_handles() -> None:
    device = Device("sim", 5001)
    configure(device.autodiff(), DType.F16, DType.I64, DType.BOOL_U8)

    assert settings(device) == DeviceSettings(DType.F16, DType.I64, DType.BOOL_U8)
    assert Tensor.zeros([1], device).dtype is DType.F16
    assert IntTensor.zeros([1], device.autodiff()).dtype is DType.I64
    assert BoolTensor.zeros([1], device).dtype is DType.BOOL_U8
    assert (Tensor.ones([1], device) > 0).dtype is DType.BOOL_U8
    assert Tensor.ones([1], device).argmax(0).dtype is DType.I64


def test_what_is_not_named_keeps_the_default() -> None:
    device = Device("sim", 5002)
    configure(device, int_dtype=DType.I64)

    assert settings(device) == DeviceSettings(DType.F32, DType.I64, DType.BOOL_NATIVE)


def test_a_device_answers_for_its_settings_itself() -> None:
    device = Device("sim", 7004)
    device.configure(float_dtype=DType.F64)

    assert device.autodiff().settings().float_dtype is DType.F64
    with pytest.raises(DeviceError):
        device.configure()


def test_reading_the_settings_does_not_lock_them() -> None:
    device = Device("sim", 5003)
    settings(device)
    configure(device, DType.F64)

    assert settings(device).float_dtype is DType.F64


@pytest.mark.parametrize(
    "make",
    [
        lambda device: Tensor.from_data([1.0], device, DType.F64),
        lambda device: IntTensor.arange(0, 2, device),
        lambda device: BoolTensor.full([1], True, device),
        lambda device: Tensor.random([1], device=device),
    ],
)
def test_the_first_tensor_locks_them_even_with_a_dtype_of_its_own(make: object) -> None:
    device = Device("sim", 5004 + id(make) % 1000)
    make(device)  # type: ignore[operator]

    with pytest.raises(DeviceError) as caught:
        configure(device, DType.F64)
    assert str(caught.value) == LOCKED.format(device)


def test_configuring_twice_is_refused_and_names_the_handle_that_asked() -> None:
    device = Device("sim", 7001)
    configure(device, DType.F64)

    with pytest.raises(DeviceError) as caught:
        configure(device.autodiff(), DType.F64)
    assert str(caught.value) == LOCKED.format("sim:7001+autodiff")


@pytest.mark.parametrize("dtype", [DType.FLEX32, DType.I32, DType.BOOL_NATIVE])
def test_a_float_dtype_that_the_device_does_not_compute_with_is_refused(dtype: DType) -> None:
    with pytest.raises(UnsupportedDTypeError) as caught:
        configure(Device("sim", 7002), dtype)

    assert str(caught.value) == f"Device sim:7002 does not support the requested data type {dtype}"


def test_a_refused_dtype_leaves_the_settings_open() -> None:
    device = Device("sim", 7003)
    with pytest.raises(UnsupportedDTypeError):
        configure(device, bool_dtype=DType.BOOL_U32)
    configure(device, DType.F16)

    assert settings(device).float_dtype is DType.F16
