"""What happens at the edge of 64 bits: a refusal where Burn wraps or panics, and only there."""

from __future__ import annotations

import pytest

import refimpl as rf
from refimpl.errors import CapacityOverflowError, PanicError

MAX = 2**64 - 1


def by_memory(capacities: list[int], memory: rf.LayerMemory) -> rf.LayerPlacement | None:
    devices = [
        rf.DeviceMemory(rf.Device("sim", index), capacity) for index, capacity in enumerate(capacities)
    ]
    return rf.LayerPlacement.by_memory(devices, memory)


@pytest.mark.clause("PLC-12")
@pytest.mark.report("BL-09")
def test_capacities_that_add_up_past_64_bits_are_refused() -> None:
    with pytest.raises(CapacityOverflowError, match="the capacities add up to 36893488147419103230 bytes"):
        by_memory([MAX, MAX], rf.LayerMemory(5, (5,) * 6, rf.AfterHidden(5)))


@pytest.mark.clause("PLC-12")
def test_layers_that_add_up_past_64_bits_are_refused() -> None:
    capacities = [2**63 + 1025, 2**63 - 1026]  # each rounds up to a double, so more fits than adds up

    with pytest.raises(CapacityOverflowError, match="the layers add up to"):
        by_memory(capacities, rf.LayerMemory(2**63 + 2048, (2**63 - 1024,), rf.WithInput(0)))


@pytest.mark.clause("PLC-12")
def test_an_output_that_overflows_together_with_the_input_is_refused_before_anything_is_placed() -> None:
    with pytest.raises(CapacityOverflowError, match="the input layer and the output layer"):
        by_memory([], rf.LayerMemory(MAX, (), rf.WithInput(6)))


@pytest.mark.clause("PLC-12")
def test_what_does_not_fit_is_none_though_its_sums_overflow() -> None:
    assert by_memory([2**63 - 1] * 2, rf.LayerMemory(2**62, (2**62,) * 3, rf.AfterHidden(2**62))) is None
    assert by_memory([MAX - 2**12, MAX - 2**12], rf.LayerMemory(MAX, (), rf.AfterHidden(0))) is None


@pytest.mark.clause("PLC-12")
def test_one_device_of_all_64_bits_is_no_overflow() -> None:
    assert by_memory([MAX], rf.LayerMemory(1, (1,) * 5, rf.AfterHidden(1))) is not None


@pytest.mark.clause("PLC-12")
def test_the_refusal_is_a_panic_and_an_overflow() -> None:
    assert issubclass(CapacityOverflowError, PanicError)
    assert issubclass(CapacityOverflowError, OverflowError)
