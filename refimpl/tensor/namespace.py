"""The array library of each device, found once a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, UnsupportedDTypeError
from .device import Device
from .dtype import DType
from .quiet import Quiet, no_memory


class Space:
    """An array library that follows the array API standard, and what the standard leaves open.

    `xp` is the namespace of its functions. This one is NumPy's own, for `cpu` and every simulated device.
    """

    xp: Any = np
    #: Whether two devices of this library share storage: then a move copies nothing.
    is_host: bool = True

    def __init__(self) -> None:
        #: `quiet.run(function, *arrays)` runs a function where the arrays are, without warnings.
        self.quiet: Any = Quiet()

    def reduce(self, name: str, array: Any, axis: int | None, dtype: DType) -> Any:
        """The `sum`, `prod`, `max` or `min` of `array`, in elements of `dtype`; a reduced axis is kept."""
        function = _REDUCE[name]
        if name in ("sum", "prod"):
            return function(array, axis=axis, dtype=dtype.numpy, keepdims=axis is not None)
        return function(array, axis=axis, keepdims=axis is not None)

    def dtype(self, dtype: DType) -> Any:
        """The library's own name of the elements."""
        return dtype.numpy

    def from_host(self, array: NDArray[Any]) -> Any:
        """`array` on the device; on the host that is `array` itself."""
        return array

    def to_host(self, array: Any) -> NDArray[Any]:
        """`array` as NumPy's; on the host that is `array` itself."""
        return array  # type: ignore[no-any-return]

    def astype(self, array: Any, dtype: DType) -> Any:
        """The elements of `array` converted as the library does."""
        try:
            return array.astype(dtype.numpy)
        except MemoryError as error:
            raise no_memory(error) from error

    def asarray(self, value: Any) -> Any:
        """An array of this library for a result of its own, which can be a scalar."""
        return np.asarray(value)


#: NumPy's functions of these names are wrappers in Python around these.
_REDUCE: Final[dict[str, Any]] = {
    "sum": np.add.reduce,
    "prod": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
}


class StandardSpace(Space):
    """Any library that follows the array API standard, and nothing beyond it.

    The arrays of a library with devices of its own are made on `device`, as the library names it.
    """

    is_host = False

    def __init__(self, xp: Any, device: Any = None) -> None:
        super().__init__()
        self.xp = xp
        self._device = device

    def reduce(self, name: str, array: Any, axis: int | None, dtype: DType) -> Any:
        """The reduction, by the function of that name."""
        function = getattr(self.xp, name)
        if name in ("sum", "prod"):
            return function(array, axis=axis, dtype=self.dtype(dtype), keepdims=axis is not None)
        return function(array, axis=axis, keepdims=axis is not None)

    def dtype(self, dtype: DType) -> Any:
        """The library's name of the elements; refused where it has none."""
        name = "bool" if dtype is DType.BOOL_NATIVE else dtype.numpy.name
        found = getattr(self.xp, name, None)
        if found is None:
            raise UnsupportedDTypeError(
                f"{self.xp.__name__} has no elements of {dtype}",
                clause="BPK-7",
                hint="cast to F32 before the move",
            )
        return found

    def from_host(self, array: NDArray[Any]) -> Any:
        """A copy on the device."""
        return self.xp.asarray(array, device=self._device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """A copy in host memory."""
        return np.from_dlpack(array, device="cpu")  # type: ignore[arg-type, unused-ignore]

    def astype(self, array: Any, dtype: DType) -> Any:
        """The elements converted by the standard's function."""
        return self.xp.astype(array, self.dtype(dtype))

    def asarray(self, value: Any) -> Any:
        """The result itself: the standard's functions give arrays."""
        return value


class CupySpace(StandardSpace):
    """CuPy on one GPU. Imported when a `cuda` device is first used, and only here."""

    def __init__(self, device: Device) -> None:
        try:
            import cupy
            from array_api_compat import cupy as xp
        except ImportError as error:
            raise DeviceError(
                f"{device} needs CuPy, which cannot be imported: {error}",
                clause="DEV-12",
                hint="pip install 'refimpl[cuda]', or take a simulated device: sim:0",
            ) from error
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"{device} cannot be used: {error}", clause="DEV-12", hint="take a simulated device: sim:0"
            ) from error
        if device.index >= count:
            raise DeviceError(
                f"there is no {device}: the machine has {count} GPU(s)",
                clause="DEV-12",
                hint=f"take an index below {count}, or a simulated device",
            )
        super().__init__(xp)
        self._cupy, self._gpu = cupy, cupy.cuda.Device(device.index)
        self._name = str(device)
        self.quiet = self

    def run(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """`function(*args)` with this GPU as the current one, which it stops being whatever happens."""
        with self._gpu:
            return function(*args, **named)

    def dtype(self, dtype: DType) -> Any:
        """The library's name of the elements; refused where it has none."""
        if dtype is DType.BF16:
            raise UnsupportedDTypeError(
                f"{self._name} has no BF16 elements: CuPy knows no such dtype",
                clause="BPK-7",
                hint="cast to F16 or F32 before the move",
            )
        return dtype.numpy

    def astype(self, array: Any, dtype: DType) -> Any:
        """The elements converted on their GPU."""
        with self._gpu:
            return array.astype(self.dtype(dtype))

    def from_host(self, array: NDArray[Any]) -> Any:
        """A copy on the device."""
        with self._gpu:
            return self._cupy.asarray(array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """A copy in host memory."""
        return self._cupy.asnumpy(array)  # type: ignore[no-any-return]

    def asarray(self, value: Any) -> Any:
        """The result itself: the standard's functions give arrays."""
        with self._gpu:
            return self._cupy.asarray(value)


_HOST: Final = Space()


def space_of(device: Device) -> Space:
    """The array library of `device`, kept with the device after the first question.

    Raises:
        DeviceError: it cannot be had on this machine.
    """
    found: Space | None = device.space
    if found is None:
        found = _HOST if device.kind != "cuda" else CupySpace(device)
        _keep(device, found)
    return found


@contextmanager
def installed(device: Device, space: Space) -> Iterator[None]:
    """Let `space` be the library of `device` within the block: a stand-in for a GPU in tests."""
    before: Space | None = device.space
    _keep(device, space)
    try:
        yield
    finally:
        _keep(device, before)


def _keep(device: Device, space: Space | None) -> None:
    for handle in (device.inner(), device.autodiff(), device.autodiff().gradient_checkpointing()):
        object.__setattr__(handle, "space", space)  # the one thing that a device finds out later
