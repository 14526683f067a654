"""Memory of large results that somebody dropped, used again for the next of the same size.

A new array of 64 MiB costs more than what is written into it: the kernel clears every page first. A forward
pass with quantised weights makes such an array for each weight and drops it again, so the last two are kept.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError

#: Bytes of what is kept: for less the allocator has memory at hand, and more would be too much to sit on.
LEAST: Final = 1 << 20
MOST: Final = 1 << 26
#: The newest two, so at most 128 MiB. To threads and the collector each method of a deque is one step.
_dropped: Final[deque[NDArray[np.uint8]]] = deque(maxlen=2)


class _Lent:
    """What an array and all views of it keep alive: with the last of them the memory is free again."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ArgumentTypeError(
            "the memory of an array cannot be copied or pickled by itself: two arrays would lie in it",
            clause="DEV-8",
            hint="copy the array: array.copy()",
        )

    def __del__(self, dropped: deque[NDArray[np.uint8]] = _dropped) -> None:
        dropped.append(self._memory)


def uninitialized(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array in row-major order whose values are not set, as `numpy.empty` gives it."""
    size = math.prod(shape) * dtype.itemsize
    if not LEAST <= size <= MOST:
        return np.empty(shape, dtype)
    memory: NDArray[Any] = np.asarray(_Lent(_of_size(size)))
    return memory.view(dtype).reshape(shape)


def _of_size(size: int) -> NDArray[np.uint8]:
    for _ in range(len(_dropped)):
        try:
            memory = _dropped.popleft()
        except IndexError:  # another thread took it
            break
        if memory.size == size:
            return memory
        _dropped.append(memory)
    return np.empty(size, np.uint8)
