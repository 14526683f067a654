from __future__ import annotations

from typing import Any

import pytest

from refimpl.tensor import observer
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor

ZERO, ONE = Device("sim", 0), Device("sim", 1)


class Notes(observer.Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def allocated(self, device: Device, array: Any) -> None:
        self.seen.append(("allocated", str(device), array.nbytes))

    def moved(self, source: Device, destination: Device, array: Any) -> None:
        self.seen.append(("moved", str(source), str(destination), array.nbytes))


def test_an_observer_is_told_of_allocations_and_moves_while_it_is_there() -> None:
    notes = Notes()
    with observer.observed_by(notes):
        tensor = Tensor.ones([4], ZERO)
        (tensor + 1.0).to_device(ONE)
    Tensor.ones([9], ZERO)

    assert notes.seen == [
        ("allocated", "sim:0", 16),
        ("allocated", "sim:0", 16),
        ("moved", "sim:0", "sim:1", 16),
        ("allocated", "sim:1", 16),
    ]


def test_a_move_within_the_hardware_is_no_move() -> None:
    notes = Notes()
    tensor = Tensor.ones([1], ZERO)
    with observer.observed_by(notes):
        tensor.to_device(ZERO.autodiff())

    assert notes.seen == []


def test_the_observer_before_comes_back_whatever_happens() -> None:
    nobody, outer = observer.current, Notes()
    with observer.observed_by(outer):
        with pytest.raises(KeyError), observer.observed_by(Notes()):
            raise KeyError
        assert observer.current is outer
    assert observer.current is nobody
