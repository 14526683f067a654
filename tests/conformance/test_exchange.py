"""The writer and reader matrix of record files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from refimpl.conformance.events import Exchanged
from refimpl.conformance.exchange import MODULES, _NoFileError, _refuse_store, exchange
from refimpl.conformance.outcome import Missing, Outcome, Panic
from refimpl.conformance.protocol import Caps, Greeting, Implementation
from refimpl.conformance.subject import Subject, open_subject
from refimpl.errors import SubjectError

FILES = (*MODULES, "container")


def records(subjects: Mapping[str, Subject]) -> list[Exchanged]:
    """What became of the record files."""
    return [one for one in exchange(subjects) if one.format == "burnpack"]


class Altered:
    """The reference, with its answers changed on the way."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.greeting, self.in_flight = subject.greeting, 1
        self.restarts = 0

    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        raise NotImplementedError

    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        answers = self.subject.case(name, steps, cost)
        return tuple(self.alter(step, answer) for step, answer in zip(steps, answers, strict=True))

    def restart(self) -> None:
        self.restarts += 1

    def send(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> None:
        raise NotImplementedError

    def receive(self) -> tuple[Outcome, ...]:
        raise NotImplementedError

    def close(self) -> None:
        pass

    def stderr(self) -> str:
        return ""


class LosesAnId(Altered):
    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        if step.get("observe") != "state" or not int(outcome.ok[0]["id"]) < 500:
            return outcome
        return Outcome(ok=[{**outcome.ok[0], "id": "501"}, *outcome.ok[1:]])


class LoadsNoFile(Altered):
    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        refused = Outcome(panic=Panic("Load", "no such thing"))
        return refused if step.get("do") == "module.load_file" else outcome


class WritesNoFile(Altered):
    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        lacking = Outcome(unsupported=Missing("records"))
        return lacking if step.get("do") == "module.save_file" else outcome


class Gone(Altered):
    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        raise SubjectError("it is gone")


@pytest.mark.clause("REC-10", "REC-13", "REC-22", "BPK-1")
def test_the_reference_reads_every_file_that_it_writes() -> None:
    with open_subject("refimpl") as subject:
        found = records({"refimpl": subject})

    assert [(one.file, one.verdict, one.message) for one in found] == [(file, "pass", "") for file in FILES]


def test_a_reader_that_renews_an_id_differs_there() -> None:
    with open_subject("refimpl") as subject:
        found = records({"right": subject, "wrong": LosesAnId(subject)})

    (one,) = [one for one in found if (one.writer, one.reader, one.file) == ("right", "wrong", "floats")]
    assert (one.verdict, one.message) == ("fail", '$.ok[0].id: expected "1", got "501"')


def test_a_reader_that_refuses_a_file_differs_with_its_words() -> None:
    with open_subject("refimpl") as subject:
        found = records({"right": subject, "wrong": LoadsNoFile(subject)})

    told = {
        one.file: (one.verdict, one.message)
        for one in found
        if (one.writer, one.reader) == ("right", "wrong")
    }
    assert told["bools"] == ("fail", "module.load_file: Load: no such thing")
    assert told["container"] == ("pass", "")


def test_a_writer_that_cannot_write_is_asked_for_what_it_can() -> None:
    with open_subject("refimpl") as subject:
        found = records({"unable": WritesNoFile(subject)})

    assert [one.verdict for one in found] == ["unsupported"] * len(MODULES) + ["pass"]
    assert found[0].message == "not written: records"


def test_a_subject_that_is_gone_is_started_again_for_each_file() -> None:
    with open_subject("refimpl") as subject:
        gone = Gone(subject)
        found = records({"gone": gone})

    assert {(one.verdict, one.message) for one in found} == {("adapter fault", "not written: it is gone")}
    assert gone.restarts == len(FILES)


@pytest.mark.parametrize(
    ("dtypes", "verdict"), [(("bool_u32",), "unsupported"), (("bool", "bool_u32"), None), ((), None)]
)
def test_a_bool_is_not_asked_of_a_reader_that_keeps_it_otherwise(
    dtypes: tuple[str, ...], verdict: str | None
) -> None:
    reader = SimpleNamespace(greeting=Greeting(1, Implementation("one"), Caps(dtypes=dtypes)))
    told = [{"kind": "int", "value": {"dtype": "i8"}}, {"kind": "bool", "value": {"dtype": "bool"}}]

    caught = None
    try:
        _refuse_store(told, reader)
    except _NoFileError as error:
        caught = error.verdict
    assert caught == verdict
