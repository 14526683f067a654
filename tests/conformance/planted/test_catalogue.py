"""Each planted bug is noticed by the cases of its clause, all of them together in a minute."""

from __future__ import annotations

import time
from functools import cache

import pytest

from refimpl import Device, LayerPlacement
from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.planted import trial
from refimpl.conformance.planted.catalogue import CATALOGUE
from refimpl.conformance.planted.planting import Bug, function_at, planted
from refimpl.conformance.planted.trial import cases_of, noticed
from refimpl.errors import CaseError

BY_NAME = {bug.name: bug for bug in CATALOGUE}


@cache
def cases() -> list[Case]:
    return load_cases()


@pytest.mark.parametrize("name", BY_NAME)
def test_the_cases_of_its_clause_notice_a_bug(name: str) -> None:
    bug = BY_NAME[name]
    result = next(noticed(bug, cases_of(bug, cases())), None)

    assert result is not None
    assert result.verdict == "fail"
    assert bug.clause in result.case.clauses


def test_there_are_at_least_40_bugs_in_clauses_of_every_part() -> None:
    assert len(BY_NAME) == len(CATALOGUE) >= 40
    assert {bug.clause for bug in CATALOGUE} <= set(load_clauses())
    assert len({bug.clause[:3] for bug in CATALOGUE}) >= 10


def test_all_together_take_less_than_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    started = time.process_time()  # of this process: other work on the machine does not count

    assert trial.main() == 0
    assert time.process_time() - started < 60
    assert f"{len(CATALOGUE)} of {len(CATALOGUE)} noticed" in capsys.readouterr().out


def test_a_bug_that_no_case_notices_fails_the_trial(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = Bug(
        "none",
        "PLC-3",
        "",
        "parallel.placement:LayerPlacement.even",
        "max(1, min(count",
        "max(1, min(1 * count",
    )
    monkeypatch.setattr(trial, "CATALOGUE", (harmless,))

    assert trial.main() == 1
    assert "NO CASE" in capsys.readouterr().out


def test_the_reference_is_right_again_after_a_bug() -> None:
    devices = [Device("sim", 0), Device("sim", 1)]
    right = LayerPlacement.even(devices, 3)
    with planted(BY_NAME["remainder-last"]):
        wrong = LayerPlacement.even(devices, 3)

    assert wrong != right

    assert LayerPlacement.even(devices, 3) == right


@pytest.mark.parametrize(
    ("place", "right"),
    [
        ("parallel.placement:LayerPlacement.even", "nothing like that"),
        ("parallel.placement:LayerPlacement.odd", "x"),
        ("parallel.placement:LayerPlacement", "x"),
    ],
)
def test_a_catalogue_behind_the_code_is_a_fault_of_ours(place: str, right: str) -> None:
    with (
        pytest.raises(CaseError, match=r"no function|stands 0 times"),
        planted(Bug("x", "PLC-3", "", place, right, "y")),
    ):
        pass


def test_a_function_is_found_behind_what_decorates_it() -> None:
    assert function_at("param.param:Param.from_tensor").__name__ == "from_tensor"
    assert function_at("param.running:RunningState.id").__name__ == "id"
