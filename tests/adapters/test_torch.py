"""PyTorch as a subject. Skipped where it is not installed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from refimpl.conformance.case import load_cases
from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.expectations import read_expectations
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import run
from refimpl.conformance.subject import InProcess

pytest.importorskip(
    "torch", reason="PyTorch is not installed: `make bench` installs it", exc_type=ImportError
)

from tests.adapters.torch_subject import TorchSubject

W = ["w", {"float": {"id": 1}}]
N = ["n", {"int": {"id": 2}}]


def answers(*steps: dict[str, Any], fields: list[Any]) -> list[Any]:
    tree = {"struct": "S", "fields": fields}
    build = {
        "do": "module.build",
        "fixture": "dynamic/1",
        "args": {"tree": tree, "device": "d0+autodiff"},
        "as": "m",
    }
    return TorchSubject().case("c", [build, *({**step, "on": "m"} for step in steps)])[1:]


def test_its_own_parameters_come_before_those_of_its_children() -> None:
    [events] = answers({"observe": "events"}, fields=[["child", {"struct": "C", "fields": [N]}], W])

    assert [event[1] for event in events["ok"] if event[0] == "enter"] == ["w", "child", "n"]


def test_a_frozen_module_has_no_leaf() -> None:
    before, _, after = answers(
        {"observe": "state"}, {"do": "module.freeze"}, {"observe": "state"}, fields=[W]
    )

    assert before["ok"][0]["grad"] == "leaf"
    assert after["ok"][0]["grad"] == "untracked"


def test_a_module_with_an_integer_parameter_is_not_unfrozen_as_a_whole() -> None:
    [unfrozen] = answers({"do": "module.unfreeze"}, fields=[W, N])

    assert unfrozen["panic"]["kind"] == "Gradient"


def test_a_clone_keeps_the_ids() -> None:
    _, ids = answers({"do": "module.clone", "as": "c"}, {"do": "module.param_ids"}, fields=[W, N])

    assert ids == {"ok": ["1", "2"]}


def test_what_it_has_no_word_for_is_unsupported() -> None:
    [valid] = answers({"do": "module.valid"}, fields=[W])

    assert valid["unsupported"]["capability"] == "module.valid"


def test_every_difference_is_explained() -> None:
    subject = InProcess(TorchSubject())
    version = subject.greeting.impl.version
    known = read_expectations(spec_folder() / "expectations" / "torch.toml", version)
    cases = [case for case in load_cases(None) if case.expect and case.truth != "ours"]
    seen: list[Event] = list(known.judge(run(subject, cases, known.skip)))
    verdicts = Counter(event.verdict for event in seen if isinstance(event, Result))

    assert set(verdicts) == {"pass", "xfail", "unsupported"}
    assert [event for event in seen if not isinstance(event, Result)] == []
    assert verdicts["pass"] >= 10
