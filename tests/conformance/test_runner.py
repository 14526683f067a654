from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from refimpl.conformance import process
from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.outcome import Outcome
from refimpl.conformance.protocol import Caps, Devices, Greeting, Implementation
from refimpl.conformance.report import Report, unknown_clauses
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import ask, run
from refimpl.conformance.subject import InProcess, open_subject
from refimpl.conformance.variants import variants
from refimpl.errors import InvalidArgumentError, SubjectError

from .folder import DUMMY, case_of, write_case


class Echo:
    """A subject of this process: each step's value is its answer."""

    greeting = Greeting(1, Implementation("echo"), Caps(capabilities=("echo",)))
    in_flight = 1

    def __init__(self) -> None:
        self.restarts = 0

    def send(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> None:
        self.sent = name, steps

    def receive(self) -> tuple[Outcome, ...]:
        return self.case(*self.sent, 1)

    def case(self, name: str, steps: Sequence[dict[str, Any]], cost: int) -> tuple[Outcome, ...]:
        if "broken" in name:
            raise SubjectError("nonsense")
        return tuple(
            msgspec.convert(step["say"], Outcome) if "say" in step else Outcome(ok=step["value"])
            for step in steps
        )

    def restart(self) -> None:
        self.restarts += 1

    def close(self) -> None: ...

    def stderr(self) -> str:
        return ""


def cases(root: Path, *made: dict[str, Any]) -> list[Case]:
    for case in made:
        write_case(root, case)
    return load_cases(root)


def results_of(events: Iterable[Event]) -> list[Result]:
    return [event for event in events if isinstance(event, Result)]


def report_of(results: list[Result], *, strict: bool = True) -> Report:
    report = Report("refimpl", load_clauses(), {}, strict=strict)
    for result in results:
        report.add(result)
    return report


def say(**outcome: Any) -> dict[str, Any]:
    return {"do": "say", "say": outcome}


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [
        ({}, "pass", 0),
        ({"expect": [{"ok": 2}]}, "fail", 1),
        ({"requires": ["lora"]}, "unsupported", 1),
        ({"steps": [say(unsupported={"capability": "lora"})]}, "unsupported", 1),
        ({"steps": [say(error={"kind": "Protocol", "text": "no step"})]}, "adapter fault", 2),
        ({"expect": [], "provenance": {"source": "none"}}, "unrecorded", 3),
        ({"name": "plc.broken"}, "adapter fault", 2),
    ],
)
def test_each_verdict_has_its_exit_code(
    tmp_path: Path, change: dict[str, Any], verdict: str, code: int
) -> None:
    (result,) = results_of(run(Echo(), cases(tmp_path, case_of(**change))))

    assert result.verdict == verdict
    assert report_of([result]).exit_code() == code


@pytest.mark.parametrize(
    ("devices", "verdict"),
    [
        (Devices(("d0", "d1"), 2), "pass"),
        (Devices(("d0",), 2), "unsupported"),
        (Devices(), "unsupported"),
    ],
)
def test_a_device_that_a_case_requires_must_execute(tmp_path: Path, devices: Devices, verdict: str) -> None:
    subject = Echo()
    subject.greeting = Greeting(1, Implementation("echo"), Caps(devices=devices))

    (result,) = results_of(run(subject, cases(tmp_path, case_of(requires=["d1"]))))

    assert result.verdict == verdict


def test_unsupported_is_no_difference_of_a_stranger(tmp_path: Path) -> None:
    results = results_of(run(Echo(), cases(tmp_path, case_of(requires=["lora"]))))

    assert report_of(results, strict=False).exit_code() == 0


def test_the_first_step_that_differs_is_named(tmp_path: Path) -> None:
    steps = [{"do": "echo", "value": n} for n in (1, 2, 3)]
    (result,) = results_of(
        run(Echo(), cases(tmp_path, case_of(steps=steps, expect=[{"ok": 1}, {"ok": 0}, {"ok": 3}])))
    )

    assert (result.step, str(result.difference)) == (1, "$.ok: expected 0, got 2")


def test_later_steps_that_differ_are_part_of_the_signature(tmp_path: Path) -> None:
    steps = [{"do": "echo", "value": n} for n in (1, 2, [3], 4, {"a": 5})]
    expect = [{"ok": 1}, {"ok": 0}, {"ok": [0]}, {"ok": 4}, {"ok": {"a": 0}}]
    (result,) = results_of(run(Echo(), cases(tmp_path, case_of(steps=steps, expect=expect))))

    assert result.signature == "step 1: $.ok: expected 0, got 2; also step 2: $.ok[0], step 4: $.ok.a"


def test_an_error_of_a_case_after_a_difference_is_still_the_difference(tmp_path: Path) -> None:
    steps = [{"do": "echo", "value": 1}, say(error={"kind": "Protocol"})]
    (result,) = results_of(run(Echo(), cases(tmp_path, case_of(steps=steps, expect=[{"ok": 0}, {"ok": 0}]))))

    assert result.verdict == "fail"


def test_a_chapter_is_set_aside_after_ten_restarts_and_the_run_goes_on(tmp_path: Path) -> None:
    made = [case_of(f"plc.broken{n:02}") for n in range(13)]
    subject = Echo()
    results = results_of(run(subject, cases(tmp_path, *made, case_of("rec.fine"))))
    verdicts = [result.verdict for result in results]

    assert verdicts == ["adapter fault"] * 10 + ["set aside"] * 3 + ["pass"]
    assert subject.restarts == 10
    assert report_of(results).exit_code() == 2


def test_the_variants_of_a_case_count_once_and_the_worst_decides(tmp_path: Path) -> None:
    axes = {"n": [1, 2, 3]}
    expect = {"n=1": [{"ok": 1}], "n=2": [{"ok": 0}], "n=3": [{"ok": 3}]}
    case = case_of(axes=axes, steps=[{"do": "echo", "value": "$n"}], expect=expect)
    report = report_of(results_of(run(Echo(), cases(tmp_path, case, case_of("plc.two")))))
    (row,) = report.rows()

    assert (row.chapter, row.cases, row.variants, row.agree, row.differ) == ("PLC", 2, 4, 1, 1)
    assert [failure.label for failure in report.failures] == ["plc.one[n=2]"]
    assert report.total().cases == 2


def test_a_report_says_how_to_ask_again_and_which_sentence_is_broken(tmp_path: Path) -> None:
    (result,) = results_of(run(Echo(), cases(tmp_path, case_of(expect=[{"ok": 2}]))))
    report = report_of([result])
    report.subject = "cmd:./mine --fast"
    (failure,) = report.as_json()["failures"]

    assert failure["repeat"] == "refimpl conform --subject 'cmd:./mine --fast' --case plc.one"
    assert report.sentences(result.case)[0].startswith("PLC-3: `even(devices, n)`")
    assert failure["difference"] == {"where": "$.ok", "expected": "2", "got": "1"}


def test_clauses_without_a_case_are_listed_for_the_chapters_that_were_run(tmp_path: Path) -> None:
    (result,) = results_of(run(Echo(), cases(tmp_path, case_of())))
    report = report_of([result])
    report.excused = {"PLC-1": "why not"}

    assert "PLC-2" in report.uncovered()
    assert not {"PLC-1", "PLC-3", "DEV-1"} & set(report.uncovered())


def test_a_clause_that_no_chapter_has_is_found(tmp_path: Path) -> None:
    made = cases(tmp_path, case_of(clauses=["PLC-3", "PLC-99"]))

    assert [name for _, name in unknown_clauses(made, load_clauses())] == ["PLC-99"]


@pytest.mark.parametrize(
    ("manner", "verdict"),
    [
        ("good", "pass"),
        ("liar", "fail"),
        ("crasher", "crash"),
        ("hanger", "timeout"),
        ("garbage", "adapter fault"),
    ],
)
def test_each_subject_gets_the_verdict_that_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str, verdict: str
) -> None:
    monkeypatch.setattr(process, "CASE_SECONDS", 0.4)
    made = cases(tmp_path, case_of(), case_of("plc.two"))
    with open_subject(f"cmd:{sys.executable} {DUMMY} {manner}") as subject:
        results = results_of(run(subject, made))

    assert [result.verdict for result in results] == [verdict, verdict]
    if manner == "crasher":
        assert "I give up" in results[0].message


@pytest.mark.parametrize("name", ["nobody", "cmd:", "py:os"])
def test_a_name_that_no_subject_has_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError), open_subject(name):
        pass


@pytest.mark.parametrize("name", ["py:no.such:Thing", "py:refimpl.errors:RefimplError"])
def test_a_subject_that_is_not_there_is_a_subject_error(name: str) -> None:
    with pytest.raises(SubjectError), open_subject(name):
        pass


class Wild:
    """A subject of this process that answers as it likes."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    def hello(self) -> object:
        return {"protocol": 1, "impl": {"name": "wild", "version": "1"}}

    def case(self, name: str, steps: list[object]) -> object:
        return self.answer()


def _exits() -> object:
    sys.exit()


def _deep() -> object:
    value: list[object] = []
    value.append(value)
    return [{"ok": value}]


class Liar(dict[str, object]):
    """Says that it is like anything, and that it is text."""

    def __eq__(self, other: object) -> bool:
        raise SystemExit(0)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_exits, "the subject raised: SystemExit"),
        (lambda: 1 / 0, "the subject raised: ZeroDivisionError"),
        (_deep, "step 0 is no JSON: ValueError"),
        (lambda: [{"ok": object()}], "step 0 is no JSON: TypeError: Object of type object"),
        (lambda: [{"ok": 10**5000}], "step 0 is no JSON"),
        (lambda: [{"ok": float("nan")}], "step 0 is no JSON"),
        (lambda: [{"ok": b"abc"}], "Object of type bytes"),
        (lambda: [{"ok": {1, 2}}], "Object of type set"),
        (lambda: [{"ok": np.int64(1)}], "Object of type int64"),
        (lambda: [{"ok": "\ud800"}], "the subject's outcomes are broken"),
        (lambda: [{"one_of": [{"ok": 1}]}], "one_of"),
        (lambda: [{"ok": 1, "extra": 2}], "unknown field `extra`"),
        (lambda: [{"panic": {"kind": "Sorry"}}], "enum value 'Sorry'"),
        (lambda: {"ok": 1}, "a list of outcomes, not a dict"),
        (list, "0 outcomes for 1 steps"),
    ],
)
def test_whatever_a_python_subject_does_is_its_own_fault(
    tmp_path: Path, answer: Callable[[], object], words: str
) -> None:
    (result,) = results_of(run(InProcess(Wild(answer)), cases(tmp_path, case_of())))

    assert result.verdict == "adapter fault"
    assert words in result.message


@pytest.mark.parametrize(("value", "verdict"), [({"a": 1}, "pass"), ({"a": 2}, "fail")])
def test_what_a_python_subject_says_of_its_values_does_not_count(
    tmp_path: Path, value: dict[str, object], verdict: str
) -> None:
    subject = InProcess(Wild(lambda: ({"ok": Liar(value)},)))
    (case,) = cases(tmp_path, case_of(expect=[{"ok": {"a": 1}}]))
    (variant,) = variants(case)

    assert ask(subject, variant).verdict == verdict


def test_a_tuple_is_a_list(tmp_path: Path) -> None:
    subject = InProcess(Wild(lambda: [{"ok": (1, (2,))}]))
    (result,) = results_of(run(subject, cases(tmp_path, case_of(expect=[{"ok": [1, [2]]}]))))

    assert result.verdict == "pass"


def test_a_greeting_or_a_reset_that_raises_is_a_subject_error() -> None:
    class Mute(Wild):
        def hello(self) -> object:
            raise ValueError("no")

        def reset(self) -> None:
            raise ValueError("never")

    class Next(Wild):
        def hello(self) -> object:
            return {"protocol": 2, "impl": {"name": "next"}}

    with pytest.raises(SubjectError, match="greets with nonsense: ValueError: no"):
        InProcess(Mute(list))
    with pytest.raises(SubjectError, match="speaks protocol 2"):
        InProcess(Next(list))
    wild = InProcess(Wild(list))
    with pytest.raises(SubjectError, match="cannot be reset"):
        wild.restart()


def test_a_python_subject_that_raises_is_broken(tmp_path: Path) -> None:
    made = cases(tmp_path, case_of())
    with open_subject("py:tests.conformance.broken:Raises") as subject:
        (raises,) = results_of(run(subject, made))
    with open_subject("py:tests.conformance.broken:Short") as subject:
        (short,) = results_of(run(subject, made))

    assert raises.verdict == short.verdict == "adapter fault"
    assert "ZeroDivisionError" in raises.message
    assert "0 outcomes for 1 steps" in short.message


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, case_of())
    report = report_of([])

    def grown(count: int) -> int:
        for event in run(Echo(), itertools.repeat(case, count)):
            report.add(event)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = grown(500)

        assert grown(5_000) - before < 50_000
    finally:
        tracemalloc.stop()
