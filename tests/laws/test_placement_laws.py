"""Placement by memory against a direct reading of its rule, and what every placement must hold."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refimpl as rf
from refimpl.parallel.memory import fill

TOP = 2**64 - 1


def limit(capacity: int, share: float) -> int:
    return min(int(float(capacity) * share), TOP)


def fits(capacities: list[int], layers: list[int], share: float) -> bool:
    """PLC-7, layer by layer."""
    waiting = list(capacities)
    room = 0
    for size in layers:
        while size > room:
            if not waiting:
                return False
            room = limit(waiting.pop(0), share)
        room -= size
    return True


def direct(capacities: list[int], layers: list[int]) -> list[int] | None:
    """PLC-8 and PLC-9, word by word."""
    if not fits(capacities, layers, 1.0):
        return None
    high, low = 1.0, 0.0
    for _ in range(48):
        middle = (high + low) / 2.0
        if fits(capacities, layers, middle):
            high = middle
        else:
            low = middle
    on: list[int] = []
    for device, capacity in enumerate(capacities):
        rest = sum(capacities[device:])
        target = 0.0 if rest == 0 else (float(sum(layers[len(on) :])) * float(capacity)) / float(rest)
        load = 0
        while len(on) < len(layers):
            size = layers[len(on)]
            if load + size > limit(capacity, high):
                break
            middle_within = float(load) + float(size) / 2.0 <= target
            if not (middle_within or not fits(capacities[device + 1 :], layers[len(on) :], high)):
                break
            load += size
            on.append(device)
    return on if len(on) == len(layers) else None


sizes = st.one_of(
    st.integers(0, 20),
    st.integers(0, 2**40),
    st.sampled_from([0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 3, 2**58]),
)
capacities = st.one_of(
    st.integers(0, 60), st.integers(0, 2**42), st.sampled_from([0, 2**53 + 1, 2**53 + 3, 2**59])
)


@pytest.mark.clause("PLC-7", "PLC-8", "PLC-9")
@given(st.lists(capacities, max_size=6), st.lists(sizes, min_size=1, max_size=14))
def test_the_fill_is_the_rule_read_word_by_word(devices: list[int], layers: list[int]) -> None:
    assert fill(devices, layers) == direct(devices, layers)


@pytest.mark.clause("PLC-15")
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=4), st.lists(st.integers(1, 20), min_size=1, max_size=6)
)
def test_no_split_in_order_has_a_less_full_fullest_device(devices: list[int], layers: list[int]) -> None:
    def worst(on: tuple[int, ...]) -> float:
        loads = [0] * len(devices)
        for device, size in zip(on, layers, strict=True):
            loads[device] += size
        return max(
            (load / capacity if load <= capacity else 2.0 if load else 0.0) if capacity else 2.0 * bool(load)
            for load, capacity in zip(loads, devices, strict=True)
        )

    best = min(map(worst, combinations_with_replacement(range(len(devices)), len(layers))))
    found = fill(devices, layers)

    assert (found is None) == (best > 1.0)
    if found is not None:
        assert found == sorted(found)
        assert worst(tuple(found)) <= best + 1e-9


@pytest.mark.clause("PLC-4")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_the_runs_of_a_placement_make_its_hidden_layers_again(stages: list[tuple[int, int]]) -> None:
    placement = rf.LayerPlacement.new([rf.LayerStage(rf.Device("sim", d), n) for d, n in stages])

    runs = placement.stages()

    assert all(run.num_hidden_layers for run in runs)
    assert all(left.device != right.device for left, right in pairwise(runs))
    if placement.hidden:
        assert rf.LayerPlacement.new(runs).hidden == placement.hidden
