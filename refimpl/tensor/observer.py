"""One slot for whoever wants to know what is allocated and moved: a simulated cluster, a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .device import Device


class Observer:
    """What is told about arrays. `array` is the storage itself: two tensors can share it, views included.

    This one keeps nothing of it.
    """

    def allocated(self, device: Device, array: Any) -> None:
        """A tensor whose storage is `array` came to be on `device`."""

    def moved(self, source: Device, destination: Device, array: Any) -> None:
        """A tensor went to other hardware, where its storage is `array`."""


NOBODY: Final = Observer()
#: Whoever is told; at first nobody.
current = NOBODY


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Tell `observer` about allocations and moves within the block."""
    global current
    before, current = current, observer
    try:
        yield
    finally:
        current = before
