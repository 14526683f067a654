"""Arithmetic without warnings: Burn's floats follow IEEE 754 in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np

from ..errors import ResourceError


def no_memory(error: Exception) -> ResourceError:
    """What an operation raises whose result has no place; NumPy's words name its shape and elements."""
    return ResourceError(f"no memory for the result of an operation on tensors: {error}")


class Quiet(threading.local):
    """Runs array functions with NumPy's floating-point warnings off, in this thread.

    An overflow is infinity and 0/0 is NaN in Burn, silently; NumPy would warn, or raise where the caller
    asked it to. NumPy keeps what it does in a context variable, so a context in which that is set
    once costs a tenth of entering `numpy.errstate` for each operation.

    >>> Quiet().run(np.divide, np.float32(1), np.float32(0))
    np.float32(inf)
    """

    run: Callable[..., Any]

    def __init__(self) -> None:
        context = Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run
