"""The messages of protocol 1: one JSON object a line. `spec/protocol.md` is the text that others read."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ..errors import SubjectError
from .outcome import Outcome
from .versions import BURN

PROTOCOL = 1
SUITE = "1.0.0"
PROFILE = f"burn-{BURN}"

#: Longer lines of a subject are refused, whatever it says about its own limits.
MAX_FRAME = 16 * 1024 * 1024


class Implementation(msgspec.Struct, frozen=True):
    """Who the subject says it is."""

    name: str
    version: str = ""
    language: str = ""
    backend: str = ""


class Devices(msgspec.Struct, frozen=True):
    """The devices of a subject."""

    #: The names of those that execute.
    executing: tuple[str, ...] = ()
    #: How many devices there are.
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Caps(msgspec.Struct, frozen=True):
    """What the subject says it can do."""

    fixtures: tuple[str, ...] = ()
    devices: Devices = Devices()
    dtypes: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()

    def lacks(self, requires: tuple[str, ...]) -> str | None:
        """The first required word that the subject does not claim.

        A word is a capability, a fixture tier, a dtype, or the name of a device that executes.
        """
        claimed = (self.capabilities, self.fixtures, self.dtypes, self.devices.executing)
        return next((word for word in requires if not any(word in words for words in claimed)), None)


class Limits(msgspec.Struct, frozen=True):
    """What the subject can take at once."""

    #: The longest line that it reads, in bytes.
    max_frame: Annotated[int, msgspec.Meta(ge=4096)] = MAX_FRAME
    #: How many requests may be under way before the first of them is answered.
    in_flight: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 1


class Greeting(msgspec.Struct, frozen=True):
    """The answer to `hello`."""

    protocol: int
    impl: Implementation
    caps: Caps = Caps()
    limits: Limits = Limits()


class Trace(msgspec.Struct, frozen=True):
    """The answer to `case`: one outcome a step."""

    steps: tuple[Outcome, ...]


class Answer(msgspec.Struct, frozen=True):
    """One line of a subject, before its content is looked at."""

    id: int | None = None
    ok: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


_encoder = msgspec.json.Encoder()
_answer = msgspec.json.Decoder(Answer)
_greeting = msgspec.json.Decoder(Greeting)
_trace = msgspec.json.Decoder(Trace)


def hello(scratch: str) -> dict[str, Any]:
    """The fields of the first request."""
    return {"op": "hello", "protocol": [PROTOCOL], "suite": SUITE, "profile": PROFILE, "scratch": scratch}


def encode(request: dict[str, Any]) -> bytes:
    """A request as one line."""
    return _encoder.encode(request) + b"\n"


def decode(line: bytes, request_id: int) -> bytes:
    """The content of the answer to request `request_id`.

    Raises:
        SubjectError: The line is no answer, answers another request, or reports an error.
    """
    try:
        answer = _answer.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SubjectError(
            f"the subject wrote a line that is no answer ({error}): {line[:80]!r}; standard output is for"
            " answers alone, and standard error for everything else"
        ) from None
    if answer.id != request_id:
        raise SubjectError(f"the subject answered request {answer.id}, not {request_id}")
    if (answer.ok is msgspec.UNSET) is (answer.error is msgspec.UNSET):
        which = "neither `ok` nor `error`" if answer.ok is msgspec.UNSET else "both `ok` and `error`"
        raise SubjectError(f"the subject wrote a line with {which}: {line[:80]!r}")
    if answer.ok is msgspec.UNSET:
        raise SubjectError(f"the subject refused a request: {answer.error}")
    return bytes(answer.ok)


def read_greeting(content: bytes) -> Greeting:
    """The greeting in the content of an answer.

    Raises:
        SubjectError: It is none, or of another protocol.
    """
    try:
        greeting = _greeting.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SubjectError(f"the subject's greeting is broken: {error}") from None
    if greeting.protocol != PROTOCOL:
        raise SubjectError(f"the subject speaks protocol {greeting.protocol}, this is protocol {PROTOCOL}")
    return greeting


def read_trace(content: bytes, steps: int) -> tuple[Outcome, ...]:
    """The outcomes in the content of an answer to `case`.

    Raises:
        SubjectError: They are broken, or not one a step.
    """
    try:
        trace = _trace.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SubjectError(f"the subject's outcomes are broken: {error}") from None
    if len(trace.steps) != steps:
        raise SubjectError(f"the subject gave {len(trace.steps)} outcomes for {steps} steps")
    if any(outcome.one_of is not msgspec.UNSET for outcome in trace.steps):
        raise SubjectError("`one_of` is for cases: a subject gives one outcome")
    return trace.steps
