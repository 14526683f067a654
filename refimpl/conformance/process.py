"""A subject in a process of its own, asked over pipes, never waited for without a deadline."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from ..errors import SubjectError
from .case import Outcome, Step
from .protocol import MAX_FRAME, Greeting, decode, encode, hello, read_greeting, read_trace

START_SECONDS = 60.0
CASE_SECONDS = 5.0
#: How long a subject that closed its output, or was told to end, may take to be gone.
END_SECONDS = 1.0
TAIL = 64 * 1024
_CHUNK = 1 << 20


class SubjectCrashError(SubjectError):
    """The subject ended, or closed its output, while it was asked."""


class SubjectTimeoutError(SubjectError):
    """The subject gave no answer before the deadline."""


class ProcessSubject:
    """A command that speaks protocol 1 on its standard input and output."""

    def __init__(self, command: Sequence[str], scratch: str) -> None:
        self.command = list(command)
        self.scratch = scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._output = bytearray()
        self._errors = bytearray()
        self._poll = select.poll()
        self._last_id = 0
        self.greeting = self._start()

    def case(self, name: str, steps: Sequence[Step], cost: int) -> tuple[Outcome, ...]:
        """The outcomes of one case, within `cost` times the deadline of a case.

        Raises:
            SubjectError: There is no answer, or none that can be read; `restart` before asking again.
        """
        request = {"op": "case", "case": name, "steps": steps}
        return read_trace(self._ask(request, CASE_SECONDS * cost), len(steps))

    def restart(self) -> None:
        """Kill the process and all of its group, and greet a new one."""
        self._kill()
        self.greeting = self._start()

    def close(self) -> None:
        """Say good-bye, wait a moment, then kill what is left."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(SubjectError):
                self._ask({"op": "bye"}, END_SECONDS)
                self._process.wait(END_SECONDS)
        self._kill()

    def stderr(self) -> str:
        """The end of what the subject wrote to standard error, for people."""
        return self._errors.decode("utf-8", "replace")

    def _start(self) -> Greeting:
        self._output.clear()
        self._errors.clear()
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise SubjectError(f"cannot start {self.command[0]!r}: {error}") from error
        self._stdin, self._stdout, self._stderr = (
            stream.fileno()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream is not None
        )
        self._poll = select.poll()
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        for descriptor in (self._stdout, self._stderr):
            self._poll.register(descriptor, select.POLLIN)
        try:
            return read_greeting(self._ask(hello(self.scratch), START_SECONDS))
        except BaseException:
            self._kill()
            raise

    def _ask(self, request: dict[str, Any], seconds: float) -> bytes:
        if self._process is None:
            raise SubjectCrashError("the subject is not running")
        self._last_id += 1
        line = encode({"id": self._last_id, **request})
        self._read(0.0)
        if self._output:
            raise SubjectError(f"the subject wrote before it was asked: {bytes(self._output[:80])!r}")
        return decode(self._exchange(memoryview(line), time.monotonic() + seconds, seconds), self._last_id)

    def _exchange(self, unsent: memoryview, deadline: float, seconds: float) -> bytes:
        """Send a line and return the line that answers it."""
        unsent = self._write(unsent)
        if unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        seen = 0
        while True:
            at = self._output.find(b"\n", seen)
            if at >= 0:
                break
            seen = len(self._output)
            if seen > MAX_FRAME:
                raise SubjectError(f"the subject wrote {seen} bytes without the end of a line")
            left = deadline - time.monotonic()
            if left <= 0:
                raise SubjectTimeoutError(f"no answer within {seconds:g} seconds")
            if self._read(left) and unsent:
                unsent = self._write(unsent)
                if not unsent:
                    self._poll.unregister(self._stdin)
        if unsent:
            raise SubjectError("the subject answered before it had read the request")
        line = bytes(self._output[:at])
        del self._output[: at + 1]
        return line

    def _write(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._stdin, unsent) :]
        except BlockingIOError:
            return unsent
        except OSError:
            raise SubjectCrashError(f"the subject no longer reads: {self._ending()}") from None

    def _read(self, seconds: float) -> bool:
        """Wait for the pipes; whether the standard input takes more."""
        writable = False
        for descriptor, event in self._poll.poll(seconds * 1000):
            if descriptor == self._stdin:
                writable = True
                continue
            if not event & (select.POLLIN | select.POLLHUP):
                continue
            try:
                chunk = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                continue
            if descriptor == self._stderr:
                if not chunk:
                    self._poll.unregister(descriptor)
                self._errors += chunk
                del self._errors[:-TAIL]
            elif chunk:
                self._output += chunk
            else:
                raise SubjectCrashError(f"the subject closed its output: {self._ending()}")
        return writable

    def _ending(self) -> str:
        """How the process ended, said for people."""
        if self._process is None:
            return "it is not running"
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it is still running"
        with contextlib.suppress(OSError, ValueError):
            self._errors += os.read(self._stderr, TAIL)
            del self._errors[:-TAIL]
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
