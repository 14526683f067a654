"""What the fuzzer draws: traces that the reference answers, of nearly every step that the protocol has."""

from __future__ import annotations

from itertools import takewhile
from random import Random

import pytest

from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.fuzz.comparison import stops
from refimpl.conformance.fuzz.traces import DRAWERS
from refimpl.conformance.subject import open_subject
from refimpl.conformance.variants import bare


@pytest.mark.parametrize("theme", DRAWERS)
def test_a_drawn_trace_names_clauses_and_is_no_fault_of_its_own(theme: str) -> None:
    with open_subject("refimpl") as subject:
        for number in range(40):
            trace = DRAWERS[theme](Random(f"{theme} {number}"))
            outcomes = subject.case("drawn", bare(trace.steps), 1)

            assert set(trace.clauses) <= set(load_clauses())
            # After a panic or an error a handle can be gone: every subject says so to what asks for it then.
            sound = takewhile(lambda one: stops(one) or not (one.panic or one.error), outcomes)
            assert not any(map(stops, sound)), trace.steps
