"""The default dtypes of a device: set once, before its first tensor."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from ..errors import ArgumentTypeError, DeviceError, UnsupportedDTypeError
from .device import Device
from .dtype import DType


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """The dtypes of tensors whose maker names none.

    Burn: burn_tensor::DeviceSettings
    Clauses: DEV-13.
    """

    float_dtype: DType = DType.F32
    int_dtype: DType = DType.I32
    bool_dtype: DType = DType.BOOL_NATIVE


DEFAULTS: Final = DeviceSettings()
#: No element type of a device's arithmetic, though tensors can be stored in them.
_STORAGE_ONLY: Final = frozenset({DType.FLEX32, DType.BOOL_U32})
_LOCK: Final = threading.Lock()
_locked: Final[dict[Device, DeviceSettings]] = {}


def settings(device: Device) -> DeviceSettings:
    """The default dtypes of `device` as they stand; asking does not lock them.

    Clauses: DEV-13.
    """
    return _locked.get(device, DEFAULTS)


def locked_settings(device: Device) -> DeviceSettings:
    """The default dtypes of `device`, which can change no more: making a tensor asks for them.

    Clauses: DEV-13.
    """
    found = _locked.get(device)
    if found is None:
        with _LOCK:
            found = _locked.setdefault(device, DEFAULTS)
    return found


def configure(
    device: Device,
    float_dtype: DType | None = None,
    int_dtype: DType | None = None,
    bool_dtype: DType | None = None,
) -> None:
    """Set the default dtypes of `device`, plain handle and autodiff handle alike, for the whole process.

    What is not named keeps Burn's default: `F32`, `I32`, `Bool(Native)`.

    Raises:
        UnsupportedDTypeError: the device does not compute with such elements.
        DeviceError: a tensor was made there, or the settings were set before.

    Clauses: DEV-13.
    """
    wanted = DeviceSettings(
        float_dtype or DEFAULTS.float_dtype,
        int_dtype or DEFAULTS.int_dtype,
        bool_dtype or DEFAULTS.bool_dtype,
    )
    if not all(
        isinstance(dtype, DType) for dtype in (wanted.float_dtype, wanted.int_dtype, wanted.bool_dtype)
    ):
        raise ArgumentTypeError(f"default dtypes are DTypes, got {wanted}", clause="DEV-13")
    checks = (
        (wanted.float_dtype, wanted.float_dtype.is_float),
        (wanted.int_dtype, wanted.int_dtype.is_int),
        (wanted.bool_dtype, wanted.bool_dtype.is_bool),
    )
    for dtype, is_of_its_kind in checks:
        if not is_of_its_kind or dtype in _STORAGE_ONLY:
            raise UnsupportedDTypeError(
                f"Device {device} does not support the requested data type {dtype}", clause="DEV-13"
            )
    with _LOCK:
        if device in _locked:
            raise DeviceError(
                f"Device {device} settings have already been initialized and cannot be changed.\n"
                "Default data types lock on the first tensor operation for a device (or on a previous "
                "`set_default_dtypes`/`configure` call). Configure the device before creating any tensor "
                "on it, or create tensors with an explicit dtype instead.",
                clause="DEV-13",
                hint="configure the device first, or give each tensor its dtype",
            )
        _locked[device] = wanted
