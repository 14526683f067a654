"""A command that is told to end ends as on Ctrl-C: what it made is cleared away, its children die."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_ISCHR
from types import FrameType

#: Not every system has both.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class ToldToEnd(KeyboardInterrupt):
    """A signal other than that of Ctrl-C asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def code_of(stop: BaseException | None) -> int:
    """The exit code of what ended a command: 128 and the number of the signal, as shells have it."""
    return 128 + (stop.number if isinstance(stop, ToldToEnd) else signal.SIGINT)


@contextmanager
def ending() -> Iterator[None]:
    """While it lasts, `SIGTERM` and `SIGHUP` raise `ToldToEnd`; one that is ignored (`nohup`) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> None:
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)  # told once is enough: clearing away takes a moment
    if number != signal.SIGTERM:
        _leave_the_terminal()
    raise ToldToEnd(number)


def _leave_the_terminal() -> None:
    """It is gone: what is still said goes nowhere, and is no error. `isatty` would say that there is none."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        if S_ISCHR(os.fstat(stream).st_mode):
            os.dup2(nowhere, stream)
    os.close(nowhere)
