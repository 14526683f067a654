"""Files from hand to hand: each subject writes some, each subject reads what each other wrote.

No answer is stored. What a record file holds is what its writer says of the module, or of the container, that
it wrote; a reader agrees when it says the same after it has read the file. What a safetensors file holds
stands in the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import SubjectError
from . import safetensors_files
from .case import Match, Step
from .events import Exchanged
from .matcher import compare
from .outcome import Fault, Missing, Outcome
from .subject import Subject
from .verdict import ADAPTER_FAULT, FAIL, PASS, UNSUPPORTED

#: Added to the ids of the module that a file is loaded into, so that ids are seen to come from the file.
_OTHER: Step = {"base": 500}
#: Modules whose files are at most 4,096 bytes long, so that BYTES tells them whole: the fixture, and what the
#: module is given that such a file is loaded into. The id of a running state is its own and stays.
MODULES: Mapping[str, tuple[str, Step]] = {
    "all kinds": ("zoo/net", _OTHER),
    "floats": ("zoo/floats", _OTHER),
    "integers": ("zoo/integers", _OTHER),
    "bools": ("zoo/bools", _OTHER),
    "empty and scalar shapes": ("zoo/shapes", _OTHER),
    "nested enums": ("zoo/nested", _OTHER),
    "save and load mappers": ("zoo/transposed", _OTHER),
    "running state": ("zoo/running", {}),
    "one parameter twice": ("zoo/shared", _OTHER),
    "into lazy parameters": ("zoo/net", _OTHER | {"lazy": True}),
}
#: Parameters of those modules whose values are there only when they have been asked for.
_LAZY = {"save and load mappers": ("weight",)}
#: What a file tells of a parameter.
TOLD = ("path", "kind", "id", "value")

_ENTRIES: tuple[tuple[str, str, list[int], int | None], ...] = (
    ("a.weight", "f32", [2, 3], 1),
    ("a.bias", "bf16", [3], 2),
    ("b", "f64", [], None),
    ("c.0", "i8", [5], (1 << 32) - 1),
    ("c.1", "bool", [3], 3),
    ("empty", "u32", [0, 3], 4),
    ('name with spaces, é and a " quote', "f16", [1], 5),
)
CONTAINER: Step = {
    "do": "pack.write",
    "entries": [
        {
            "name": name,
            "dtype": dtype,
            "shape": shape,
            "seed": 1,
            "id": None if number is None else str(number),
        }
        for name, dtype, shape, number in _ENTRIES
    ],
    "metadata": {"made by": "refimpl", "é": ""},
    "scalars": {"step": {"UInt": 12}, "rate": {"Float": 0.1}, "delta": {"Int": -3}, "done": {"Bool": True}},
    "as": "b",
}
_READ: tuple[Step, ...] = (
    {"do": "pack.open", "bytes": "b", "as": "p"},
    {"do": "pack.entries", "on": "p"},
)


Write = Callable[[Subject, str], tuple[str, Any]]
Read = Callable[[Subject, str, str], Any]


def exchange(subjects: Mapping[str, Subject]) -> Iterator[Exchanged]:
    """What each subject reads of each file of each, itself included; one verdict a writer, reader and file.

    Args:
        subjects: By the name that the verdicts give them.
    """
    yield from _round(subjects, "burnpack", (*MODULES, "container"), _write, _read)
    yield from _round(subjects, "safetensors", safetensors_files.TREES, _write_given, _read_given)


def _round(
    subjects: Mapping[str, Subject], form: str, files: Iterable[str], write: Write, read: Read
) -> Iterator[Exchanged]:
    for writer, asked in subjects.items():
        for file in files:
            try:
                written, told = write(asked, file)
            except _NoFileError as why:
                for reader in subjects:
                    yield Exchanged(writer, reader, file, why.verdict, f"not written: {why}", form)
                continue
            for reader, other in subjects.items():
                try:
                    _refuse_store(told, other)
                    verdict, message = _compared(told, read(other, file, written))
                except _NoFileError as why:
                    verdict, message = why.verdict, str(why)
                yield Exchanged(writer, reader, file, verdict, message, form)


class _NoFileError(Exception):
    """A subject did not get to the end of its steps."""

    def __init__(self, verdict: str, text: str) -> None:
        super().__init__(text)
        self.verdict = verdict


def _refuse_store(told: Any, reader: Subject) -> None:
    """A bool takes the store of the reader's device (REC-20): one without this store gives other bytes."""
    dtypes = reader.greeting.caps.dtypes
    values = [one["value"]["dtype"] for one in told if isinstance(one, dict) and one.get("kind") == "bool"]
    lacking = next((dtype for dtype in values if dtypes and dtype not in dtypes), None)
    if lacking is not None:
        raise _NoFileError(UNSUPPORTED, lacking)


def _write(subject: Subject, file: str) -> tuple[str, Any]:
    """The file as hexadecimal digits, and what its writer says is in it."""
    if file == "container":
        written, _, told = _ask(subject, file, (CONTAINER, *_READ))
        return written["hex"], told
    fixture, _ = MODULES[file]
    answers = _ask(
        subject,
        file,
        (
            {"do": "module.build", "fixture": fixture, "args": {}, "as": "m"},
            *({"do": "param.val", "on": "m", "path": path} for path in _LAZY.get(file, ())),
            {"observe": "state", "on": "m"},
            {"do": "module.save_file", "on": "m", "file": "m.bpk"},
            {"do": "file.read", "file": "m.bpk", "as": "b"},
        ),
    )
    return answers[-1]["hex"], _told(answers[-3])


def _read(subject: Subject, file: str, written: str) -> Any:
    """What a reader says is in a file."""
    taken: Step = {"do": "bytes.make", "hex": written, "as": "b"}
    if file == "container":
        return _ask(subject, file, (taken, *_READ))[-1]
    fixture, args = MODULES[file]
    answers = _ask(
        subject,
        file,
        (
            taken,
            {"do": "file.write", "file": "m.bpk", "bytes": "b"},
            {"do": "module.build", "fixture": fixture, "args": args, "as": "m"},
            {"do": "module.load_file", "on": "m", "file": "m.bpk"},
            {"observe": "state", "on": "m"},
        ),
    )
    return _told(answers[-1])


def _write_given(subject: Subject, file: str) -> tuple[str, Any]:
    """The file as hexadecimal digits, and what the request says is in it."""
    _, state, _, written = _ask_able(subject, file, safetensors_files.writing(file))
    told = safetensors_files.given(file)
    verdict, message = _compared(told, safetensors_files.told(state))
    if verdict != PASS:
        raise _NoFileError(verdict, f"the module is not what the request says: {message}")
    return written["hex"], told


def _read_given(subject: Subject, file: str, written: str) -> Any:
    """What a reader says is in a file."""
    return safetensors_files.told(_ask_able(subject, file, safetensors_files.reading(file, written))[-1])


def _ask_able(subject: Subject, name: str, steps: Sequence[Step]) -> list[Any]:
    """As `_ask`, of a subject that claims the format: another may pass over the word."""
    if subject.greeting.caps.lacks((safetensors_files.CAPABILITY,)) is not None:
        raise _NoFileError(UNSUPPORTED, safetensors_files.CAPABILITY)
    return _ask(subject, name, steps)


def _ask(subject: Subject, name: str, steps: Sequence[Step]) -> list[Any]:
    """The results of steps that all have one.

    Raises:
        _NoFileError: One has none, or there is no answer.
    """
    try:
        outcomes = subject.case(f"exchange.{name}", steps, 1)
    except SubjectError as error:
        subject.restart()
        raise _NoFileError(ADAPTER_FAULT, str(error)) from error
    for step, outcome in zip(steps, outcomes, strict=True):
        if isinstance(outcome.unsupported, Missing):
            raise _NoFileError(UNSUPPORTED, outcome.unsupported.capability)
        for refused in (outcome.error, outcome.panic):
            if isinstance(refused, Fault):
                name = step.get("do") or step["observe"]
                raise _NoFileError(FAIL, f"{name}: {refused.kind}: {refused.text}")
    return [outcome.ok for outcome in outcomes]


def _told(state: list[Step]) -> list[Step]:
    """What a file keeps of a state: no flags, and nothing of devices and gradients."""
    return [{key: one[key] for key in TOLD} for one in state if one["kind"] != "flag"]


def _compared(told: Any, read: Any) -> tuple[str, str]:
    found = compare(Outcome(ok=told), Outcome(ok=read), Match(bits=True), False)
    return (PASS, "") if found is None else (FAIL, str(found))
