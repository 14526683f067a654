"""One measured figure with its bound, and how it is measured."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`value` is to be at most `bound`; `beside` gives the two times or sizes that it was made from.

    `why` is the measured reason, for a bound that the full rules do not allow.
    """

    what: str
    value: float
    bound: float
    unit: str
    beside: str
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the figure is within its bound."""
        return self.value <= self.bound


@contextmanager
def without_collector() -> Iterator[None]:
    """Run with the cyclic garbage collector off, so that neither side pays for the other's objects."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def least(*calls: Callable[[], object], rounds: int = 7, number: int = 1) -> list[float]:
    """The least CPU time of each call in seconds, taken in turns so that all meet the same machine.

    Args:
        rounds: How often each call is measured; the first, warm-up round does not count.
        number: How often it runs in one measurement: more than once where a call takes microseconds.
    """
    best = [float("inf")] * len(calls)
    with without_collector():
        for turn in range(rounds + 1):
            for index, call in enumerate(calls):
                begin = time.process_time()
                for _ in range(number):
                    call()
                spent = (time.process_time() - begin) / number
                if turn:
                    best[index] = min(best[index], spent)
    return best


def ratio(what: str, ours: float, theirs: float, bound: float, peer: str, why: str = "") -> Figure:
    """How many times `theirs` ours took."""
    return Figure(what, ours / theirs, bound, "x", f"{span(ours)} / {span(theirs)} {peer}", why)


def span(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
