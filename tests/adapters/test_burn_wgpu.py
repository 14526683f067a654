"""Real Burn on two runtimes of wgpu and on Flex, at once. Skipped where its adapter is not built."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.expectations import read_expectations
from refimpl.conformance.outcome import Outcome
from refimpl.conformance.process import ProcessSubject
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import run

NAME = "burn-wgpu-adapter"
CRATE = Path(__file__).parent / "burn-wgpu"


@pytest.fixture(scope="module")
def burn_wgpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessSubject]:
    program = Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target")) / "release" / NAME
    if not program.is_file():
        pytest.skip("Burn on wgpu is not built here: `make wgpu` builds it with cargo")
    subject = ProcessSubject([str(program)], str(tmp_path_factory.mktemp("scratch")))
    yield subject
    subject.close()


def placed(*devices: str) -> list[dict[str, Any]]:
    """A layered model with its input layer, one hidden layer and its output layer on those devices."""
    first, hidden, last = devices
    return [
        {"do": "placement.make", "input": first, "hidden": [hidden], "output": last, "as": "p"},
        {"do": "module.build", "fixture": "zoo/layered", "args": {"placement": "p"}, "as": "m"},
        {"do": "distributed.new", "model": "m", "placement": "p", "as": "x"},
    ]


VALUES = {"kind": "float", "shape": [1, 2], "values": [1, 2]}
SIGNAL = {"do": "tensor.create", **VALUES, "device": "d0", "as": "i"}
FORWARD = {"do": "distributed.forward", "on": "x", "input": "i", "as": "o"}


@pytest.mark.clause("DLM-4")
def test_a_signal_crosses_two_runtimes_and_two_backends(burn_wgpu: ProcessSubject) -> None:
    """[1, 2] times [[1, 2], [3, id]] for the ids 1, 10 and 2, by hand."""
    home = {"do": "tensor.op", "on": "o", "op": "to_device", "device": "d0"}

    told = ask(burn_wgpu, *placed("d0", "d1", "d2"), SIGNAL, FORWARD, {"observe": "log"}, home)

    assert told[-3].ok["device"] == "d2"
    assert [one["device"] for one in told[-2].ok] == ["d0", "d1", "d2"]
    # [1, 2] -> [7, 4] -> [19, 54] -> [181, 146]
    assert told[-1].ok["value"] == {"dtype": "f32", "shape": [1, 2], "hex": "0000354300001243"}


@pytest.mark.clause("DLM-9")
@pytest.mark.parametrize("device", ["d1", "d2"])
def test_a_layer_whose_weight_is_elsewhere_panics_when_its_turn_comes(
    burn_wgpu: ProcessSubject, device: str
) -> None:
    moved = {"do": "param.to_device", "on": "x", "path": "hidden.0.weight", "device": device}

    told = ask(burn_wgpu, *placed("d0", "d0", "d0"), moved, SIGNAL, FORWARD, {"observe": "log"})

    assert told[-2].panic.kind == "DeviceMismatch"
    assert [one["forward"] for one in told[-1].ok] == ["1", "10"]


def ask(subject: ProcessSubject, *steps: dict[str, Any]) -> tuple[Outcome, ...]:
    return subject.case("across", steps, 1)


def test_every_difference_is_explained(burn_wgpu: ProcessSubject) -> None:
    version = burn_wgpu.greeting.impl.version
    known = read_expectations(spec_folder() / "expectations" / "burn_wgpu.toml", version)
    chapters = ("dlm", "dev", "plc")
    cases = [case for case in load_cases(None) if case.expect and case.chapter in chapters]
    seen: list[Event] = list(known.judge(run(burn_wgpu, cases, known.skip)))
    verdicts = Counter(event.verdict for event in seen if isinstance(event, Result))
    across = [event for event in seen if isinstance(event, Result) and ".across." in event.label]

    assert set(verdicts) == {"pass", "xfail", "unsupported"}
    assert len(across) > 15
    assert {event.verdict for event in across} == {"pass"}
