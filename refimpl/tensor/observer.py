"""One slot for whoever wants to know what is allocated and moved: a simulated cluster, a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .device import Device


class Observer(Protocol):
    """What is told about arrays. `array` is the storage itself: two tensors can share it, views included."""

    def allocated(self, device: Device, array: Any) -> None:
        """A tensor whose storage is `array` came to be on `device`."""

    def moved(self, source: Device, destination: Device, array: Any) -> None:
        """A tensor went to other hardware, where its storage is `array`."""


#: The observer, or None: then an operation pays one comparison.
current: Observer | None = None


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Tell `observer` about allocations and moves within the block."""
    global current
    before, current = current, observer
    try:
        yield
    finally:
        current = before
