"""Safetensors files from hand to hand, among subjects that are the reference in disguise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from refimpl.conformance.exchange import exchange
from refimpl.conformance.outcome import Outcome, Panic
from refimpl.conformance.safetensors_files import TREES, given, reading, writing
from refimpl.conformance.subject import Subject, open_subject

from .test_exchange import Altered


class Able(Altered):
    """Claims the format, and writes a file of its own under that name."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        caps = msgspec.structs.replace(subject.greeting.caps, capabilities=("safetensors",))
        self.greeting = msgspec.structs.replace(subject.greeting, caps=caps)

    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        own = [{key: value for key, value in step.items() if key != "format"} for step in steps]
        return super().case(name, own, cost)

    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        return outcome


class LoadsNothing(Able):
    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        kept = [
            {"do": "module.map_identity", "on": "m"} if step.get("do") == "module.load_file" else step
            for step in steps
        ]
        return super().case(name, kept, cost)


class Refuses(Able):
    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        loads = step.get("do") == "module.load_file"
        return Outcome(panic=Panic("Load", "no such dtype")) if loads else outcome


class BuildsOthers(Able):
    """Says of every parameter that it holds another one's bytes."""

    def alter(self, step: dict[str, Any], outcome: Outcome) -> Outcome:
        if step.get("observe") != "state":
            return outcome
        return Outcome(
            ok=[
                {**one, "value": {**one["value"], "hex": "00"}} if "value" in one else one
                for one in outcome.ok
            ]
        )


def told(writer: type[Able], reader: type[Able]) -> dict[str, tuple[str, str]]:
    with open_subject("refimpl") as subject:
        found = list(exchange({"writer": writer(subject), "reader": reader(subject)}))
    return {
        one.file: (one.verdict, one.message)
        for one in found
        if one.format == "safetensors" and (one.writer, one.reader) == ("writer", "reader")
    }


def test_who_reads_what_the_request_said_agrees() -> None:
    assert told(Able, Able) == dict.fromkeys(TREES, ("pass", ""))


@pytest.mark.parametrize("file", TREES)
def test_who_loads_nothing_is_seen_in_every_file(file: str) -> None:
    verdict, message = told(Able, LoadsNothing)[file]

    assert verdict == "fail"
    assert "value" in message


def test_who_refuses_a_file_differs_with_its_words() -> None:
    assert set(told(Able, Refuses).values()) == {("fail", "module.load_file: Load: no such dtype")}


def test_who_does_not_build_what_the_request_said_writes_no_file() -> None:
    assert {message.partition(":")[0] for _, message in told(BuildsOthers, Able).values()} == {"not written"}
    assert {verdict for verdict, _ in told(BuildsOthers, Able).values()} == {"fail"}


def test_who_does_not_claim_the_format_is_not_asked() -> None:
    class Asked(Altered):
        def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
            assert "format" not in str(steps)
            return self.subject.case(name, steps, cost)

    with open_subject("refimpl") as subject:
        found = list(exchange({"able": Able(subject), "unable": Asked(subject)}))

    unable = [one for one in found if one.format == "safetensors" and "unable" in (one.writer, one.reader)]
    assert {one.verdict for one in unable} == {"unsupported"}


def test_what_is_given_is_what_stands_in_the_request() -> None:
    [layer] = [one for one in given("nested") if one["path"] == "layers.1.inner.weight"]

    assert layer["value"] == {"dtype": "f32", "shape": [2, 1], "hex": "0000803f00000040"}
    assert [one["path"] for one in given("names")] == ["_", "weight_orig0", "é"]


def test_the_reader_builds_other_values_than_the_writer() -> None:
    assert "hex" in str(writing("floats")[0])
    assert "hex" not in str(reading("floats", "")[2])


def test_the_reference_says_that_it_has_no_such_format() -> None:
    with open_subject("refimpl") as subject:
        *_, saved, _ = subject.case("c", writing("bools"), 1)
        *_, loaded, _ = subject.case("c", reading("bools", "00"), 1)

    for outcome in (saved, loaded):
        assert outcome.unsupported != msgspec.UNSET
        assert outcome.unsupported.capability == "safetensors"
