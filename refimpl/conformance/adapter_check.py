"""Is the adapter right? Questions about the protocol alone, before any about the rules."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from ..errors import InvalidArgumentError, SubjectError
from .case import Step
from .claimable import CAPABILITIES, DTYPES, FIXTURES, is_device
from .outcome import Outcome
from .process import CASE_SECONDS, ProcessSubject
from .protocol import encode
from .subject import split_command

_NO_STEP: Final[Step] = {"do": "check.no_such_step"}
_LONG: Final = "x" * 200_000


class Answer(msgspec.Struct, frozen=True):
    """A question about the adapter; `fault` is empty where the answer is yes."""

    question: str
    fault: str = ""
    hint: str = ""


class _WrongError(Exception):
    """The adapter answers, and not as it should."""


def check_adapter(command: str, *, sandbox: bool = False) -> Iterator[Answer]:
    """Ask a command each question about the protocol, in a process of its own each.

    Args:
        command: The command line of the adapter.
        sandbox: Whether it is kept apart from the machine.

    Raises:
        InvalidArgumentError: It is no command line.
        SubjectError: There is no such command.
    """
    words = split_command(command.removeprefix("cmd:"))
    if not words:
        raise InvalidArgumentError("--check-adapter needs a command line")
    with tempfile.TemporaryDirectory(prefix="refimpl-", ignore_cleanup_errors=True) as root:
        for number, (question, hint, put) in enumerate(_QUESTIONS):
            fault = ""
            subject: ProcessSubject | None = None
            try:
                folder = tempfile.mkdtemp(prefix=f"{number}-", dir=root)
                subject = ProcessSubject(words, folder, sandbox=sandbox)
                put(subject)
            except (SubjectError, _WrongError) as error:
                tail = subject.stderr()[-300:].strip() if subject is not None else ""
                fault = f"{error}{'; it says: ' if tail else ''}{tail}"
            finally:
                if subject is not None:
                    subject.kill()
            yield Answer(question, fault, hint if fault else "")
            if subject is None:
                return


def _greets(subject: ProcessSubject) -> None:
    caps = subject.greeting.caps
    for words, known, name in (
        (caps.capabilities, CAPABILITIES, "capabilities"),
        (caps.fixtures, FIXTURES, "fixtures"),
        (caps.dtypes, DTYPES, "dtypes"),
    ):
        unknown = sorted(set(words) - known)
        if unknown:
            raise _WrongError(f"no case requires {', '.join(unknown)}, which stands among the {name}")
    odd = [name for name in caps.devices.executing if not is_device(name)]
    if odd:
        raise _WrongError(f"devices are called d0, d1, d2, ...: not {', '.join(odd)}")
    for field in ("name", "version"):
        if not getattr(subject.greeting.impl, field).strip():
            raise _WrongError(f"`impl.{field}` is empty")


def _pings(subject: ProcessSubject) -> None:
    for op in ("ping", "reset", "ping"):
        content = subject.exchange({"op": op}, CASE_SECONDS)
        if msgspec.json.decode(content) != {}:
            raise _WrongError(f"`{op}` is answered with {content[:80]!r}")


def _one_outcome(subject: ProcessSubject) -> Outcome:
    (outcome,) = subject.case("check.step", [_NO_STEP], 1)
    return outcome


def _unknown_step(subject: ProcessSubject) -> None:
    outcome = _one_outcome(subject)
    if outcome.unsupported is not msgspec.UNSET:
        return
    if outcome.error is msgspec.UNSET or outcome.error.kind != "Protocol":
        raise _WrongError(f"`check.no_such_step` is no step, and came to {_text(outcome)}")


def _many_steps(subject: ProcessSubject) -> None:
    subject.case("check.none", [], 1)
    subject.case("check.many", [_NO_STEP] * 100, 1)


def _long_line(subject: ProcessSubject) -> None:
    if len(_LONG) < subject.greeting.limits.max_frame:
        subject.case("check.long", [_NO_STEP | {"text": _LONG}], 1)


def _unicode(subject: ProcessSubject) -> None:
    words = {"text": 'é 漢 𝛼 \u0000 \n \\ "', "number": 2**53 + 1, "big": str(2**64 - 1), "deep": [[[{}]]]}
    subject.case("check.text", [_NO_STEP | words], 1)


def _handles(subject: ProcessSubject) -> None:
    step = {"do": "placement.even", "devices": ["d0"], "hidden": 1, "as": "p"}
    (made,) = subject.case("check.first", [step], 1)
    (found,) = subject.case("check.second", [{"observe": "placement", "on": "p"}], 1)
    if made.ok is not msgspec.UNSET and found.ok is not msgspec.UNSET:
        raise _WrongError(f"the handle `p` of one case is there in the next: {_text(found)}")


def _closed_kinds(subject: ProcessSubject) -> None:
    steps: list[Step] = [
        {"do": "placement.even", "devices": [], "hidden": 1, "as": "p"},
        {"do": "param_id.parse", "text": "!"},
    ]
    for step, outcome in zip(steps, subject.case("check.kinds", steps, 1), strict=True):  # other kinds raise
        if outcome.error is not msgspec.UNSET and outcome.error.kind == "Protocol":
            raise _WrongError(f"`{step['do']}` is a step of the document, and came to {_text(outcome)}")


def _in_flight(subject: ProcessSubject) -> None:
    count = 3 * subject.in_flight
    for number in range(count):
        subject.send(f"check.flight{number}", [_NO_STEP] * (number % 5), 1)
        if number + 1 >= subject.in_flight:
            subject.receive()
    for _ in range(subject.in_flight - 1):
        subject.receive()


def _refused(subject: ProcessSubject, line: bytes) -> dict[str, Any]:
    content = subject.exchange_line(line, CASE_SECONDS)
    try:
        answer = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _WrongError(f"the answer is no JSON object ({error}): {content[:80]!r}") from None
    if not isinstance(answer.get("error"), dict) or answer["error"].get("kind") != "Protocol":
        raise _WrongError(f"the answer is no error of the kind `Protocol`: {content[:80]!r}")
    subject.exchange({"op": "ping"}, CASE_SECONDS)
    return answer


def _garbage(subject: ProcessSubject) -> None:
    _refused(subject, b'{"id": 7, "op":\n')


def _unknown_op(subject: ProcessSubject) -> None:
    answer = _refused(subject, encode({"id": 77, "op": "check"}))
    if answer.get("id") != 77:
        raise _WrongError(f"request 77 is answered as {answer.get('id')!r}")


def _ends(subject: ProcessSubject) -> None:
    code = subject.bye()
    if code != 0:
        told = "it does not end" if code is None else f"it ends with code {code}"
        raise _WrongError(f"after `bye` {told}")


def _text(outcome: Outcome) -> str:
    return msgspec.json.encode(outcome).decode()[:120]


_Put = Callable[[ProcessSubject], None]
_QUESTIONS: Final[tuple[tuple[str, str, _Put], ...]] = (
    ("greets as it should", "`hello` of spec/protocol.md; flush standard output after each line", _greets),
    ("answers ping and reset", 'the answer is {"id": <the request\'s>, "ok": {}}', _pings),
    (
        "says of a step that is in no document that it is none",
        'answer the step with {"error":{"kind":"Protocol","text":...}} or `unsupported`',
        _unknown_step,
    ),
    (
        "gives one outcome a step, for none and for many",
        "`steps` of the answer is as long as that of the request",
        _many_steps,
    ),
    (
        "reads a line of 200,000 characters",
        "read to the end of the line, or say `limits.max_frame`",
        _long_line,
    ),
    ("reads any text and number", "UTF-8; integers past 2^53 are decimal strings", _unicode),
    ("forgets the handles of a case", "a case begins with a reset", _handles),
    (
        "takes or lacks a step of the document, with kinds of the closed lists",
        "answer with `unsupported` what the subject lacks; spec/protocol.md has the tables of kinds",
        _closed_kinds,
    ),
    ("answers in order what is under way at once", "say `limits.in_flight`: 1 or more", _in_flight),
    (
        "goes on after a line that is no JSON",
        'answer {"id":null,"error":{"kind":"Protocol","text":...}}',
        _garbage,
    ),
    (
        "goes on after an unknown operation",
        "answer with the request's id and an error of the kind `Protocol`",
        _unknown_op,
    ),
    ("ends after bye, with code 0", "answer it, then leave the loop", _ends),
)
