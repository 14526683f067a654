"""Many traces under way at once, to a subject in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refimpl.conformance.fuzz.comparison import Comparison, Disagreement, Trace
from refimpl.conformance.process import ProcessSubject
from refimpl.conformance.subject import InProcess


class One:
    """Answers every step with 1, or with what it says is wanted."""

    def hello(self) -> dict[str, Any]:
        return {"protocol": 1, "impl": {"name": "one"}}

    def case(self, name: str, steps: list[Any]) -> list[dict[str, Any]]:
        return [{"ok": step.get("wanted", 1)} for step in steps]


def told(subject: ProcessSubject, *steps: dict[str, Any]) -> list[tuple[str, int]]:
    """What is found when each step is put as a trace: its kind, and which trace it was."""
    found: list[tuple[str, int]] = []
    traces = [Trace((step,), ("PLC-2",)) for step in steps]
    comparison = Comparison(
        InProcess(One()), subject, lambda trace, said: found.append((said.kind, traces.index(trace)))
    )
    for trace in traces:
        comparison.put(trace)
    comparison.settle()
    return found


def echo(value: Any, **fields: Any) -> dict[str, Any]:
    return {"do": "echo", "value": value, **fields}


def test_each_answer_is_judged_as_that_of_its_own_trace(flight: ProcessSubject, tmp_path: Path) -> None:
    found = told(flight, *(echo(2 if number in (3, 17, 39) else 1, n=number) for number in range(40)))

    assert found == [("echo: ok, not ok", 3), ("echo: ok, not ok", 17), ("echo: ok, not ok", 39)]
    assert "at once" in (tmp_path / "log").read_text()


def test_what_a_crash_left_unanswered_is_asked_again(flight: ProcessSubject) -> None:
    steps = [echo(1, n=number) for number in range(20)]
    steps[5] = {"do": "crash", "n": 5}
    steps[7] = echo(2, n=7)

    assert told(flight, *steps) == [("crash", 5), ("echo: ok, not ok", 7)]


def test_a_step_says_how_its_outcome_is_compared(flight: ProcessSubject) -> None:
    turned = echo([2, 1], wanted=[1, 2])

    assert told(flight, turned, {**turned, "match": {"unordered": True}}) == [("echo: ok, not ok", 0)]


def test_one_trace_can_be_waited_for(flight: ProcessSubject) -> None:
    comparison = Comparison(InProcess(One()), flight)

    assert comparison.ask([echo(1)]) is None
    found = comparison.ask([echo(2)])
    assert isinstance(found, Disagreement)
    assert found.step == 0
