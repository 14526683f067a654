"""The subjects by their names on the command line."""

from __future__ import annotations

import importlib
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ..errors import InvalidArgumentError, SubjectError
from .case import Step
from .outcome import Outcome
from .process import ProcessSubject
from .protocol import Greeting, read_greeting, read_trace

REFERENCE = "refimpl.conformance.reference.subject:ReferenceSubject"
FORMS = "`refimpl`, `burn`, `cmd:<command line>` or `py:<module>:<class>`"


class Subject(Protocol):
    """Whatever answers cases."""

    greeting: Greeting

    @property
    def in_flight(self) -> int:
        """How many cases may be sent before the first of them is received."""
        ...

    def send(self, name: str, steps: Sequence[Step], cost: int) -> None:
        """Put a case on its way."""
        ...

    def receive(self) -> tuple[Outcome, ...]:
        """The outcomes of the oldest case under way."""
        ...

    def case(self, name: str, steps: Sequence[Step], cost: int) -> tuple[Outcome, ...]:
        """One outcome a step."""
        ...

    def restart(self) -> None:
        """Begin anew after a crash, a timeout or a broken answer."""
        ...

    def close(self) -> None:
        """End."""
        ...

    def stderr(self) -> str:
        """What it last said to people."""
        ...


class InProcess:
    """A Python object with `hello()`, `case(name, steps)` and `reset()`, asked without any text between."""

    in_flight = 1

    def __init__(self, implementation: Any, *, is_ours: bool = False) -> None:
        self._implementation = implementation
        self._is_ours = is_ours
        self._sent: tuple[str, Sequence[Step]] = ("", ())
        with _telling(f"{type(implementation).__name__} greets with nonsense"):
            greeting = _told(implementation.hello())
        self.greeting = read_greeting(greeting.encode())

    def case(self, name: str, steps: Sequence[Step], cost: int) -> tuple[Outcome, ...]:
        """One outcome a step; there is no deadline in the same process."""
        self.send(name, steps, cost)
        return self.receive()

    def send(self, name: str, steps: Sequence[Step], cost: int) -> None:  # noqa: ARG002
        """Keep the case until it is received."""
        self._sent = name, steps

    def receive(self) -> tuple[Outcome, ...]:
        """Ask the case that was sent, and give one outcome a step."""
        name, steps = self._sent
        with _telling("the subject raised"):
            # A stranger's own copy: what is written into it would change the case for whoever asks it next.
            given = list(steps) if self._is_ours else deepcopy(list(steps))
            answer = self._implementation.case(name, given)
        if not self._is_ours:
            return read_trace(_as_told(answer), len(steps))
        with _telling("the reference gave no outcomes"):
            outcomes = msgspec.convert(answer, tuple[Outcome, ...])
        if len(outcomes) != len(steps):
            raise SubjectError(f"the reference gave {len(outcomes)} outcomes for {len(steps)} steps")
        return outcomes

    def restart(self) -> None:
        """Forget all state."""
        with _telling("the subject cannot be reset"):
            self._implementation.reset()

    def close(self) -> None:
        """Nothing is held."""

    def stderr(self) -> str:
        """An object in this process writes to our own standard error."""
        return ""


def _as_told(answer: object) -> bytes:
    """The outcomes of a stranger as they would have come through a pipe: so they are judged alike.

    Raises:
        SubjectError: They are no list, or one of them is no JSON.
    """
    if not isinstance(answer, (list, tuple)):
        raise SubjectError(f"`case` gives a list of outcomes, not a {type(answer).__name__}")
    outcomes = []
    for index, outcome in enumerate(answer):
        with _telling(f"the outcome of step {index} is no JSON"):
            outcomes.append(_told(outcome))
    return f'{{"steps":[{",".join(outcomes)}]}}'.encode()


#: Plain JSON and nothing else: no NaN, no bytes, no arrays; a tuple is a list.
_told = json.JSONEncoder(allow_nan=False).encode


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Whatever a stranger's code raises is the subject's fault, and ends nothing but its answer."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SubjectError(f"{what}: {type(error).__name__}: {error}") from error


@contextmanager
def open_subject(name: str, *, sandbox: bool = False) -> Iterator[Subject]:
    """The subject of that name, closed at the end.

    Args:
        name: One of the forms.
        sandbox: Whether a subject in a process of its own is kept apart from the machine.

    Raises:
        InvalidArgumentError: No subject has a name like this.
        SubjectError: It is not there, or it does not start.
    """
    if sandbox and (name == "refimpl" or name.startswith("py:")):
        raise InvalidArgumentError(f"{name!r} runs in this process: a sandbox is for `burn` and `cmd:`")
    if name == "refimpl":
        yield InProcess(_load(REFERENCE), is_ours=True)
        return
    if name.startswith("py:"):
        yield InProcess(_load(name.removeprefix("py:")))
        return
    if name == "burn":
        command = [str(build_burn())]
    elif name.startswith("cmd:"):
        command = split_command(name.removeprefix("cmd:"))
    else:
        raise InvalidArgumentError(f"there is no subject {name!r}", hint=f"a subject is {FORMS}")
    if not command:
        raise InvalidArgumentError("`cmd:` needs a command line", hint=f"a subject is {FORMS}")
    with tempfile.TemporaryDirectory(prefix="refimpl-", ignore_cleanup_errors=True) as scratch:
        subject = ProcessSubject(command, scratch, sandbox=sandbox)
        try:
            yield subject
        finally:
            subject.close()


def split_command(line: str) -> list[str]:
    """The words of a command line, as a shell reads them.

    Raises:
        InvalidArgumentError: A quotation mark is never closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidArgumentError(f"{line!r} is no command line: {error}") from None


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    if not name:
        raise InvalidArgumentError(f"'py:{place}' names no class", hint=f"a subject is {FORMS}")
    if str(Path.cwd()) not in sys.path:
        # As `python -m` does: a class in the current folder is found.
        sys.path.insert(0, str(Path.cwd()))
    with _telling(f"cannot make the subject {place!r}"):
        return getattr(importlib.import_module(module), name)()


def build_burn() -> Path:
    """The adapter of real Burn, built now by cargo from `tests/adapters/burn`.

    Raises:
        SubjectError: There is no cargo, no source of the adapter, or it does not build.
    """
    manifest = Path(__file__).resolve().parents[2] / "tests" / "adapters" / "burn" / "Cargo.toml"
    cargo = shutil.which("cargo")
    if cargo is None:
        raise SubjectError(
            "the subject `burn` is built with cargo, which is not here",
            hint="install Rust: https://rustup.rs",
        )
    if not manifest.is_file():
        raise SubjectError(
            f"the adapter's source is not at {manifest.parent}", hint="run from a clone of the project"
        )
    build = [
        cargo,
        "build",
        "--release",
        "--bin",
        "burn-adapter",
        "--manifest-path",
        str(manifest),
        "--message-format",
        "json-render-diagnostics",
    ]
    errors = None if sys.stderr.isatty() else subprocess.PIPE
    done = subprocess.run(build, stdout=subprocess.PIPE, stderr=errors, check=False)
    if done.returncode != 0:
        tail = (done.stderr or b"").decode("utf-8", "replace")[-2000:]
        raise SubjectError(f"cargo ended with code {done.returncode}: {tail}")
    made = [msgspec.json.decode(line).get("executable") for line in done.stdout.splitlines()]
    programs = [program for program in made if program is not None]
    if not programs:
        raise SubjectError("cargo built no program")
    return Path(programs[-1])
