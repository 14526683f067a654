"""A subject in a process of its own, asked over pipes, never waited for without a deadline."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import SubjectError
from . import blobs
from .case import Step
from .outcome import Outcome
from .protocol import MAX_FRAME, Greeting, decode, encode, hello, read_greeting, read_trace
from .sandbox import sandboxed

START_SECONDS = 60.0
CASE_SECONDS = 5.0
#: How long a subject that closed its output, or was told to end, may take to be gone.
END_SECONDS = 1.0
#: So much of standard error is kept.
TAIL = 64 * 1024
#: So much may lie in the scratch folder.
MAX_SCRATCH = 4 << 30
#: While an answer is waited for, the scratch folder is looked at this often.
_LOOK_SECONDS = 0.25
_CHUNK = 1 << 20
_KEEPER = str(Path(__file__).with_name("keeper.py"))


class SubjectCrashError(SubjectError):
    """The subject ended, or closed its output, while it was asked."""


class SubjectTimeoutError(SubjectError):
    """The subject gave no answer before the deadline."""


class FrameLimitError(SubjectError):
    """A request is longer than the subject says it reads."""


class _Sent(NamedTuple):
    """A request under way."""

    number: int
    steps: int
    seconds: float
    #: How many bytes had been put out in all when its line was complete.
    end: int
    refused: SubjectError | None = None


def _why_not(word: str) -> str:
    """Why what is no program on the path cannot be started."""
    if not os.path.dirname(word) or not os.path.exists(word):
        return "there is no such program"
    return "it is a folder" if os.path.isdir(word) else "it is a file that may not be executed"


class ProcessSubject:
    """A command that speaks protocol 1 on its standard input and output."""

    def __init__(self, command: Sequence[str], scratch: str, *, sandbox: bool = False) -> None:
        self.command = list(command)
        self.sandbox = sandbox
        self._root = scratch
        self.scratch = scratch
        self._starts = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: int | None = None
        self._errors = bytearray()
        self._last_id = 0
        self._gaps = random.Random()
        self.greeting = self._start()

    @property
    def in_flight(self) -> int:
        """How many requests the subject takes before it has answered the first of them."""
        return self.greeting.limits.in_flight

    def case(self, name: str, steps: Sequence[Step], cost: int) -> tuple[Outcome, ...]:
        """The outcomes of one case, within `cost` times the deadline of a case.

        Raises:
            SubjectError: There is no answer, or none that can be read; `restart` before asking again.
        """
        self.send(name, steps, cost)
        return self.receive()

    def send(self, name: str, steps: Sequence[Step], cost: int) -> None:
        """Put a case on its way; what goes wrong is said by the `receive` that belongs to it."""
        self._send({"op": "case", "case": name, "steps": steps}, len(steps), CASE_SECONDS * cost)

    def receive(self) -> tuple[Outcome, ...]:
        """The outcomes of the oldest case under way. Its deadline begins now, or when it was sent.

        Raises:
            SubjectError: There is no answer, or none that can be read; `restart` before asking again.
        """
        steps = self._sent[0].steps
        content = self._receive()
        outcomes = read_trace(content, steps)
        return blobs.take(outcomes, self.scratch) if b'"blob"' in content else outcomes

    def exchange(self, request: dict[str, Any], seconds: float) -> bytes:
        """Send any request and return the content of its answer.

        Raises:
            SubjectError: There is no answer, or none that can be read.
        """
        self._send(request, 0, seconds)
        return self._receive()

    def exchange_line(self, line: bytes, seconds: float) -> bytes:
        """Send a line as it stands and return the line that answers it.

        Raises:
            SubjectError: There is no answer.
        """
        self._unsent += line
        return self._line(time.monotonic() + seconds, seconds, 0)

    def restart(self) -> None:
        """Kill the process and all of its descendants, and greet a new one."""
        self.kill()
        self.greeting = self._start()

    def close(self) -> None:
        """Say good-bye, wait a moment, then kill what is left."""
        with contextlib.suppress(SubjectError):
            self.bye()
        self.kill()

    def bye(self) -> int | None:
        """Say good-bye and wait a moment: the exit code, or None when it does not end.

        Raises:
            SubjectError: The subject does not answer.
        """
        process = self._process
        if process is None or process.poll() is not None or self._sent:
            return None
        self.exchange({"op": "bye"}, END_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(END_SECONDS)
        return None

    def stderr(self) -> str:
        """The end of what the subject wrote to standard error, for people."""
        return self._errors.decode("utf-8", "replace")

    def _start(self) -> Greeting:
        self._output, self._unsent = bytearray(), bytearray()
        self._put_out, self._deaf = 0, False
        self._sent: deque[_Sent] = deque()
        self._errors.clear()
        self.scratch = str(Path(self._root, str(next(self._starts))))
        os.mkdir(self.scratch)
        self._launch(sandboxed(self.command, self.scratch) if self.sandbox else self.command)
        try:
            return read_greeting(self.exchange(hello(self.scratch), START_SECONDS))
        except SubjectError as error:
            self.kill()
            said = self.stderr()[-2000:].strip()
            if not said:
                raise
            raise type(error)(f"{error}: {said}", clause=error.clause, hint=error.hint) from error
        except BaseException:
            self.kill()
            raise

    def _launch(self, command: Sequence[str]) -> None:
        """Start the command, on Linux under a keeper that ends with us."""
        if not command or shutil.which(command[0]) is None:
            word = command[0] if command else ""
            raise SubjectError(f"cannot start {word!r}: {_why_not(word)}")
        pipe = subprocess.PIPE
        held: int | None = None
        pass_fds: tuple[int, ...] = ()
        words = list(command)
        if sys.platform == "linux":
            held, self._control = os.pipe()
            pass_fds = (held,)
            words = [sys.executable, "-I", "-S", _KEEPER, str(held), *words]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError) as error:
            self.kill()
            raise SubjectError(f"cannot start {command[0]!r}: {error}") from error
        finally:
            if held is not None:
                os.close(held)
        self._stdin, self._stdout, self._stderr = (
            stream.fileno()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream is not None
        )
        self._poll = select.poll()
        self._polls_input = False
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        for descriptor in (self._stdout, self._stderr):
            self._poll.register(descriptor, select.POLLIN)

    def _send(self, request: dict[str, Any], steps: int, seconds: float) -> None:
        # Nobody can answer ahead: the next number is not known before it is asked.
        self._last_id += 1 + self._gaps.getrandbits(20)
        refused: SubjectError | None = None
        line = encode({"id": self._last_id, **request})
        if len(line) > blobs.INLINE and steps and blobs.CAPABILITY in self.greeting.caps.capabilities:
            given = blobs.give(list(request["steps"]), self.scratch)
            line = encode({"id": self._last_id, **request, "steps": given})
        if steps and len(line) > self.greeting.limits.max_frame:
            refused = FrameLimitError(f"a request of {len(line)} bytes is longer than the subject reads")
            line = b""
        elif self._process is None:
            refused = SubjectCrashError("the subject is not running")
        elif not self._sent:
            refused = self._early()
        self._unsent += line
        self._sent.append(_Sent(self._last_id, steps, seconds, self._put_out + len(self._unsent), refused))

    def _early(self) -> SubjectError | None:
        """What the subject said although nothing was asked."""
        with contextlib.suppress(SubjectError):
            self._read(0.0)
        if self._output:
            return SubjectError(f"the subject wrote before it was asked: {bytes(self._output[:80])!r}")
        return None

    def _receive(self) -> bytes:
        sent = self._sent.popleft()
        if sent.refused is not None:
            raise sent.refused
        return decode(self._line(time.monotonic() + sent.seconds, sent.seconds, sent.end), sent.number)

    def _line(self, deadline: float, seconds: float, end: int) -> bytes:
        """The next line, given to requests that were put out up to `end`."""
        seen = 0
        look = time.monotonic() + _LOOK_SECONDS
        if self._unsent:
            # All that was sent since the last answer goes out at once.
            self._write()
        while True:
            at = self._output.find(b"\n", seen)
            if at >= 0:
                break
            seen = len(self._output)
            if seen > MAX_FRAME:
                raise SubjectError(f"the subject wrote {seen} bytes without the end of a line")
            now = time.monotonic()
            if now >= deadline and self._deaf:
                raise SubjectCrashError(f"the subject no longer reads: {self._ending()}")
            if now >= deadline:
                raise SubjectTimeoutError(f"no answer within {seconds:g} seconds")
            if now >= look:
                self._check_scratch()
                look = now + _LOOK_SECONDS
            if self._unsent and self._polls_input:
                self._write()
            self._read(min(deadline, look) - now)
        if self._put_out < end:
            raise SubjectError("the subject answered before it had read the request")
        line = bytes(self._output[:at])
        del self._output[: at + 1]
        return line

    def _check_scratch(self) -> None:
        size = 0
        for folder, _, names in os.walk(self.scratch):
            for name in names:
                with contextlib.suppress(OSError):
                    size += os.lstat(os.path.join(folder, name)).st_size
            if size > MAX_SCRATCH:
                raise SubjectError(f"the subject put more than {MAX_SCRATCH} bytes into its scratch folder")

    def _write(self) -> None:
        """Put out what the pipe takes; whether there is more decides what is waited for.

        A subject that no longer reads may have answered before: that is read first.
        """
        try:
            count = os.write(self._stdin, self._unsent[:_CHUNK])
            del self._unsent[:count]
            self._put_out += count
        except BlockingIOError:
            pass
        except OSError:
            self._deaf = True
            self._unsent.clear()
        if bool(self._unsent) != self._polls_input:
            self._polls_input = bool(self._unsent)
            if self._polls_input:
                self._poll.register(self._stdin, select.POLLOUT)
            else:
                self._poll.unregister(self._stdin)

    def _read(self, seconds: float) -> None:
        """Wait for the pipes, and take what is there."""
        for descriptor, event in self._poll.poll(max(0.0, seconds) * 1000):
            if descriptor == self._stdin or not event & (select.POLLIN | select.POLLHUP):
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

    def kill(self) -> None:
        """End the process and its descendants, and throw its scratch folder away."""
        process, self._process = self._process, None
        control, self._control = self._control, None
        if control is not None:
            os.close(control)
        if process is not None:
            if control is not None:
                # The keeper ends all of them; it is killed only when it does not get there.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(3 * END_SECONDS)
            if process.poll() is None or control is None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if self.scratch != self._root:
            shutil.rmtree(self.scratch, ignore_errors=True)
