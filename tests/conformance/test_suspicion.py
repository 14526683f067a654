"""What a second look makes of a failure, and what a run says of claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.outcome import Outcome
from refimpl.conformance.protocol import Caps, Greeting, Implementation
from refimpl.conformance.result import Event, Finding, Result
from refimpl.conformance.runner import run
from refimpl.errors import SubjectError

from .folder import case_of, write_case

#: The answer to a case: from how many starts, how many cases since the start, and the case's value.
Manner = Callable[[int, int, int], object]


class Made:
    """A subject of this process that answers as `manner` says."""

    in_flight = 1

    def __init__(self, manner: Manner, *capabilities: str) -> None:
        self.greeting = Greeting(1, Implementation("made"), Caps(capabilities=capabilities))
        self.manner = manner
        self.starts = self.asked = 0

    def send(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> None:
        self.steps = steps

    def receive(self) -> tuple[Outcome, ...]:
        self.asked += 1
        values = [self.manner(self.starts, self.asked, step["value"]) for step in self.steps]
        return tuple(value if isinstance(value, Outcome) else Outcome(ok=value) for value in values)

    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        self.send(name, steps, cost)
        return self.receive()

    def restart(self) -> None:
        self.starts += 1
        self.asked = 0

    def close(self) -> None: ...

    def stderr(self) -> str:
        return ""


def events(tmp_path: Path, subject: Made, count: int, **fields: Any) -> list[Event]:
    for number in range(count):
        write_case(tmp_path, case_of(f"plc.n{number:02}", **fields))
    return list(run(subject, load_cases(tmp_path)))


def last(made: list[Event]) -> Result:
    return [event for event in made if isinstance(event, Result)][-1]


@pytest.mark.parametrize(
    ("manner", "verdict", "words"),
    [
        # Wrong, and wrong again.
        (lambda starts, asked, value: value + (asked > 2 or starts > 0), "fail", ""),
        # Wrong in another way alone: that is the failure that can be repeated.
        (lambda starts, asked, value: 5 if starts else value + (asked > 2), "fail", ""),
        # Right alone, wrong behind any other case.
        (lambda starts, asked, value: value + (asked > 2 - (starts > 0)), "bleed", "after plc.n01"),
        # Right behind one case, wrong behind two.
        (lambda starts, asked, value: value + (asked > 2), "bleed", "one of the 2 cases before it"),
        # Right whenever it is asked again.
        (lambda starts, asked, value: value + (starts == 0 and asked > 2), "flaky", "in the run"),
        # Now this, now that, alone.
        (lambda starts, asked, value: value + (asked > 2 or starts > 1), "flaky", "asked alone"),
    ],
)  # fmt: skip
def test_a_failure_is_told_from_chance_and_from_the_trace_of_other_cases(
    tmp_path: Path, manner: Manner, verdict: str, words: str
) -> None:
    result = last(events(tmp_path, Made(manner), 3))

    assert result.verdict == verdict
    assert words in result.message


def test_the_first_case_of_a_process_has_none_before_it_to_blame(tmp_path: Path) -> None:
    result = last(events(tmp_path, Made(lambda starts, asked, value: value + (starts == 0)), 1))

    assert result.verdict == "flaky"


def test_a_subject_that_does_not_start_again_ends_what_is_asked_not_the_run(tmp_path: Path) -> None:
    class Once(Made):
        def restart(self) -> None:
            raise SubjectError("gone for good")

    made = events(tmp_path, Once(lambda starts, asked, value: value + (asked == 2)), 4)
    verdicts = [event.verdict for event in made if isinstance(event, Result)]

    assert verdicts == ["pass", "flaky", "set aside", "set aside"]
    assert "gone for good" in last(made).message


def test_a_run_looks_twice_at_a_limited_number_of_failures(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: 0)
    events(tmp_path, subject, 30)

    assert subject.starts == 20


def lacks(word: str) -> Outcome:
    return msgspec.convert({"unsupported": {"capability": word}}, Outcome)


def findings(made: list[Event]) -> list[tuple[str, str]]:
    return [(event.verdict, event.about) for event in made if isinstance(event, Finding)]


def test_a_claim_of_which_nothing_is_supported_is_an_overclaim(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: lacks("reparam"), "lora")

    assert findings(events(tmp_path, subject, 5, requires=["lora"])) == [("overclaim", "lora")]


def test_a_claim_of_which_something_is_supported_is_none(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: value if asked == 1 else lacks("reparam"), "lora")

    assert findings(events(tmp_path, subject, 6, requires=["lora"])) == []


def test_what_is_not_claimed_is_tried_three_times(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: value)
    made = events(tmp_path, subject, 6, requires=["lora"])

    assert findings(made) == [("underclaim", "lora")]
    assert subject.asked == 3
    assert {event.verdict for event in made if isinstance(event, Result)} == {"unsupported"}


def test_what_is_not_claimed_and_does_not_work_is_tried_once(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: 0)

    assert findings(events(tmp_path, subject, 6, requires=["lora"])) == []
    assert subject.asked == 1


def test_a_case_that_needs_two_things_which_are_not_claimed_shows_neither(tmp_path: Path) -> None:
    subject = Made(lambda starts, asked, value: value)

    assert findings(events(tmp_path, subject, 2, requires=["lora", "reparam"])) == []
    assert subject.asked == 0


def test_a_subject_that_answers_nothing_is_not_asked_for_ever(tmp_path: Path) -> None:
    def broken(starts: int, asked: int, value: int) -> object:
        raise SubjectError("nonsense")

    for number in range(50):
        write_case(tmp_path, case_of(f"plc.n{number:02}", requires=[f"d{1 + number // 8}"]))
    subject = Made(broken, *(f"d{number}" for number in range(1, 9)))
    made = [event for event in run(subject, load_cases(tmp_path)) if isinstance(event, Result)]

    assert [result.verdict for result in made] == ["adapter fault"] * 30 + ["set aside"] * 20
