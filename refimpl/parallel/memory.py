"""Layers laid in order across devices of given capacities, so that the fullest is as empty as can be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from ..errors import CapacityOverflowError

U64_MAX: Final = (1 << 64) - 1
#: Halvings of the share: a double stops changing at about 50.
SEARCH_STEPS: Final = 48


def fill(capacities: Sequence[int], layers: Sequence[int]) -> list[int] | None:
    """The index of the device of each layer; None when they do not fit in order.

    Every device is bounded by the smallest share of its capacity under which the layers fit, the same
    share for all. Within it a device takes about its part of what is left to place, and more only when
    the devices after it would not hold the rest.

    Numbers are Burn's: sums are 64-bit, shares and targets doubles in Burn's order of operations.

    Raises:
        CapacityOverflowError: the layers fit, and a sum that Burn then takes does not fit 64 bits.

    Clauses: PLC-7, PLC-8, PLC-9, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14.
    """
    held = _Layers(layers)
    share = _smallest_share(capacities, held)
    return None if share is None else _balanced(capacities, held, share)


class _Layers:
    """The bytes of each layer, and `before[i]`: the bytes of the layers before layer `i`."""

    __slots__ = ("before", "bytes", "count")

    def __init__(self, layers: Sequence[int]) -> None:
        self.bytes = layers
        self.count = len(layers)
        self.before = list(accumulate(layers, initial=0))

    def fits(self, limits: Sequence[int], device: int = 0, layer: int = 0) -> bool:
        """Whether the layers from `layer` on are placed when each device from `device` on takes what it can.

        A layer of no bytes needs no device at all.

        Clauses: PLC-7.
        """
        before, count = self.before, self.count
        layer = bisect_right(before, before[layer]) - 1
        while layer < count and device < len(limits):
            layer = bisect_right(before, before[layer] + limits[device]) - 1
            device += 1
        return layer == count


def _limits(capacities: Sequence[int], share: float) -> list[int]:
    """`share` of each capacity, as a double cut to 64 bits (PLC-7, PLC-13)."""
    return [min(int(float(capacity) * share), U64_MAX) for capacity in capacities]


def _smallest_share(capacities: Sequence[int], layers: _Layers) -> float | None:
    """The smallest share of every capacity that the layers fit under, to 48 halvings.

    Clauses: PLC-8.
    """
    if not layers.fits(_limits(capacities, 1.0)):
        return None
    fits, short = 1.0, 0.0
    for _ in range(SEARCH_STEPS):
        share = (fits + short) / 2.0
        if layers.fits(_limits(capacities, share)):
            fits = share
        else:
            short = share
    return fits


def _balanced(capacities: Sequence[int], layers: _Layers, share: float) -> list[int] | None:
    """The device of each layer, every device near its part of the layers left to place.

    Clauses: PLC-9.
    """
    limits = _limits(capacities, share)
    left = _u64_sum("the layers", layers.before[-1])
    rest = _u64_sum("the capacities", sum(capacities))
    on: list[int] = []
    for device, capacity in enumerate(capacities):
        target = float(left) * float(capacity) / float(rest) if rest else 0.0
        load = 0
        while len(on) < layers.count:
            size = layers.bytes[len(on)]
            if load + size > limits[device]:
                break
            # A layer whose middle lands within the target: a run rounds to the nearest layer.
            wanted = float(load) + float(size) / 2.0 <= target
            if not wanted and layers.fits(limits, device + 1, len(on)):
                break
            load += size
            on.append(device)
        left -= load
        rest -= capacity
    return on if len(on) == layers.count else None


def _u64_sum(what: str, total: int) -> int:
    if total > U64_MAX:
        raise CapacityOverflowError(
            f"{what} add up to {total} bytes, more than 2^64-1",
            clause="PLC-12",
            hint="Burn wraps or panics here; for a device without a limit give a capacity such as 2^60",
        )
    return total
