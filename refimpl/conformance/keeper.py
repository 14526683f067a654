"""Stands between the runner and a subject on Linux, so that none of the subject's descendants outlives it.

A process whose parent ends is adopted by the nearest ancestor that is a *child subreaper*: by this one. So
a grandchild that left its process group, or its session, is found and killed all the same. Run as a script:
`keeper.py CONTROL COMMAND...`; it ends everything when the pipe CONTROL is closed, by the runner or by its
death, and when the command ends; then it ends as the command did.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
#: Descendants that start others faster than they can be killed are given up after so many seconds.
_KILL_SECONDS = 2.0


def keep(control: int, command: list[str]) -> int:
    """Run the command; the status that it ended with, or that of a kill."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        _become(command)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    status: int = signal.SIGKILL
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        ended = _reap()
        if child in ended:
            status = ended[child]
            break
        if control in ready:
            break
        os.read(woken, 4096)
    _kill_all()
    return status


def _become(command: list[str]) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot start {command[0]!r}: {error}\n".encode())
    os._exit(127)


def _reap() -> dict[int, int]:
    """The children that have ended, with their statuses."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def _kill_all() -> None:
    """Kill every child until none is left; the children of the killed are adopted, and are next."""
    end = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < end:
        for pid in _children(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{entry.name}/stat", "rb") as stat:
            # The name in parentheses may hold anything; the state and the parent follow it.
            if int(stat.read().rpartition(b")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def main(words: list[str]) -> None:
    """Keep the command, then end as it ended."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    status = keep(int(words[0]), words[1:])
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
