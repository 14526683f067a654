from __future__ import annotations

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.runner import run
from refimpl.conformance.subject import open_subject


def test_the_reference_agrees_with_every_recorded_answer() -> None:
    with open_subject("refimpl") as subject:
        failures = [event for event in run(subject, load_cases()) if getattr(event, "verdict", "") != "pass"]

    assert failures == []
