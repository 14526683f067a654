from __future__ import annotations

from itertools import islice

import pytest

from refimpl.conformance.fuzz.minimise import minimise
from refimpl.conformance.fuzz.placements import compositions, device_lists, divisions, placements
from refimpl.conformance.fuzz.trees import trees
from refimpl.conformance.reference.subject import ReferenceSubject


@pytest.mark.parametrize(("count", "bell"), [(0, 1), (1, 1), (2, 2), (3, 5), (4, 15), (5, 52)])
def test_device_lists_are_as_many_as_partitions(count: int, bell: int) -> None:
    lists = [tuple(names) for names in device_lists(count)]

    assert len(lists) == len(set(lists)) == bell


@pytest.mark.parametrize(("total", "parts", "count"), [(0, 0, 1), (2, 0, 0), (3, 2, 4), (12, 4, 455)])
def test_compositions_are_as_many_as_ways_to_put_balls_into_boxes(total: int, parts: int, count: int) -> None:
    found = list(compositions(total, parts))

    assert len(found) == count
    assert all(sum(parts_of) == total for parts_of in found)


def test_small_placements_come_in_the_order_of_their_size() -> None:
    evens = [
        len(step["devices"]) + step["hidden"]
        for trace in islice(placements(), 300)
        for step in trace.steps
        if step["do"] == "placement.even"
    ]

    assert evens == sorted(evens)
    assert evens[0] == 0


@pytest.mark.parametrize("source", [placements, divisions, trees])
def test_every_small_question_can_be_asked(source: object) -> None:
    subject = ReferenceSubject()
    for trace in islice(source(), 60):  # type: ignore[operator]
        kinds = [outcome.get("error", {}).get("kind") for outcome in subject.case("x", trace.steps)]

        assert "Protocol" not in kinds


def test_a_trace_loses_every_step_node_and_number_that_is_not_needed() -> None:
    tree = {
        "struct": "Net",
        "fields": [["a", {"vec": [{"float": {"id": 7, "shape": [2, 3]}}, {"none": True}]}]],
    }
    steps = [{"do": "x", "n": 9}, {"do": "build", "args": {"tree": tree, "more": 5}}, {"do": "y"}]

    def fails(candidate: tuple[dict[str, object], ...]) -> bool:
        return "'float'" in str(candidate) and "'build'" in str(candidate)

    (left,) = minimise(steps, fails)

    assert left == {"do": "build", "args": {"tree": {"float": {}}}}


def test_numbers_go_to_0_1_or_minus_1() -> None:
    def fails(candidate: tuple[dict[str, int], ...]) -> bool:
        return len(candidate) == 1 and candidate[0].get("n", 0) < 0 and candidate[0].get("m") == 1

    assert minimise([{"do": "x", "n": -50, "m": 1}], fails) == ({"do": "x", "n": -1, "m": 1},)


def test_time_that_is_over_ends_it_with_what_there_is() -> None:
    assert minimise([{"do": "x"}, {"do": "y"}], lambda _: True, seconds=0) == ({"do": "x"}, {"do": "y"})
