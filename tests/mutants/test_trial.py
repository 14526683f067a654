from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FunctionType

import pytest

from refimpl.conformance.subject import Subject, open_subject
from refimpl.parallel import memory, placement
from refimpl.tensor.device import Device
from tests.mutants import trial
from tests.mutants.idle import noticing_nothing
from tests.mutants.mutate import Mutant, functions_of, mutants_of
from tests.mutants.reach import Reach, agreeing
from tests.mutants.report import Report
from tests.mutants.trial import Trial, tried


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with open_subject("refimpl") as opened:
        yield opened


@pytest.fixture(scope="module")
def reach(subject: Subject) -> Reach:
    return Reach(subject, agreeing(subject, "plc.memory"))


def test_a_line_knows_the_variants_that_run_it(reach: Reach) -> None:
    function = memory.fill
    first = function.__code__.co_firstlineno

    assert reach.of(function, range(first, first + 60))
    assert reach.of(placement.LayerPlacement.even, range(1, 2)) == []


def test_the_cases_catch_every_mutant_of_the_limit_of_a_device(subject: Subject, reach: Reach) -> None:
    place = "parallel.memory:_limits"
    function = dict(functions_of("parallel.memory"))[place]
    trials = [Trial(m, reach.of(m.function, m.lines)) for m in mutants_of(place, function)]
    found = dict(tried(trials, subject, reach.asked, 2))

    assert len(found) == len(trials) > 1
    assert None not in found.values()


def other(function: FunctionType, instead: FunctionType) -> Mutant:
    code = instead.__code__.replace(co_name=function.__code__.co_name)
    return Mutant("place", 1, "before", "after", function, code, range(1))


def hangs(text: str) -> Device:
    while True:
        pass


def dies(text: str) -> Device:
    import os as system

    system.kill(system.getpid(), 9)
    raise AssertionError


@pytest.mark.parametrize("instead", [hangs, dies])
def test_a_mutant_that_hangs_or_dies_is_noticed_by_whoever_asked(
    instead: FunctionType, subject: Subject, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "SECONDS", 0.1)
    mutant = other(Device.parse.__func__, instead)  # type: ignore[attr-defined]
    trials = [Trial(mutant, [3, 4])]

    assert list(tried(trials, subject, reach.asked, 1)) == [(0, 3)]
    assert os.waitstatus_to_exitcode(0) == 0  # and this process is as it was
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_mutant_that_changes_nothing_survives(subject: Subject, reach: Reach) -> None:
    mutant = other(memory.fill, memory.fill)

    assert list(tried([Trial(mutant, [0, 1])], subject, reach.asked, 1)) == [(0, None)]


def test_a_case_catches_nothing_only_when_it_notices_no_mutant_of_its_lines(
    subject: Subject, reach: Reach
) -> None:
    place = "parallel.memory:_limits"
    mutants = list(mutants_of(place, dict(functions_of("parallel.memory"))[place]))
    report = Report(list({v.case.id: v.case for v in reach.asked}.values()))
    report.caught = [(mutants[0], reach.asked[reach.of(mutants[0].function, mutants[0].lines)[0]])]
    idle = noticing_nothing(report, subject, reach, 2, 600, lambda _: None)

    assert 0 < len(idle) < len(report.cases)
    assert report.caught[0][1].case.id not in {case.id for case in idle}
