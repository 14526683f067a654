"""Many threads at once, forced to change over at every few instructions."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refimpl.burnpack.api import open_burnpack, write_burnpack
from refimpl.errors import BurnpackError
from refimpl.module.module import Module
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.record.record import ModuleRecord
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import Tensor
from tests.faults.system import descriptors

CPU = Device("cpu")


@pytest.fixture(autouse=True)
def changing_over() -> Iterator[None]:
    """A thread runs for a microsecond, so that they meet in every place."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` gives in each of `count` threads, which begin at one moment; an error is raised here."""
    barrier = threading.Barrier(count)
    given: list[Any] = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            given[number] = work(number)
        except BaseException as error:
            given[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    for value in given:
        if isinstance(value, BaseException):
            raise value
    return given


class Net(Module):
    layers: tuple[Param[Tensor], ...]


def net(count: int = 30) -> Net:
    return Net(layers=tuple(Param.from_data([float(i)] * 3, CPU) for i in range(count)))


@pytest.mark.clause("PAR-24", "PAR-25")
@pytest.mark.parametrize("attempt", range(20))
def test_a_lazy_parameter_is_initialised_once_for_all_threads(attempt: int) -> None:
    calls: list[int] = []

    def init(device: Device, require_grad: bool) -> Tensor:
        calls.append(1)
        return Tensor.from_data([1.0, float(len(calls))], device)

    param = Param.uninitialized(ParamId.new(), init, CPU, False, (2,))
    clones = [param.clone() for _ in range(8)]
    values = together(16, lambda number: clones[number % 8].val().to_numpy().tolist())

    assert values == [[1.0, 1.0]] * 16
    assert len(calls) == 1


@pytest.mark.clause("PAR-26")
def test_a_lazy_parameter_that_fails_fails_in_every_thread() -> None:
    def init(device: Device, require_grad: bool) -> Tensor:
        raise ValueError("no")

    param = Param.uninitialized(ParamId.new(), init, CPU, False, (2,))

    def ask(number: int) -> str:
        try:
            param.val()
        except Exception as error:
            return type(error).__name__
        return "a value"

    assert "a value" not in together(16, ask)


@pytest.mark.clause("PAR-43")
def test_a_setting_that_comes_while_the_initialiser_runs_reaches_the_value() -> None:
    running, go_on = threading.Event(), threading.Event()

    def init(device: Device, require_grad: bool) -> Tensor:
        running.set()
        go_on.wait(10)
        made = Tensor.from_data([1.0], device)
        return made.require_grad() if require_grad else made

    param = Param.uninitialized(ParamId.new(), init, CPU.autodiff(), False, (1,))

    def use(number: int) -> bool:
        if number == 0:
            param.val()
            return True
        running.wait(10)
        threading.Timer(0.05, go_on.set).start()
        return param.clone().set_require_grad(True).val().is_require_grad

    assert all(together(2, use))


@pytest.mark.clause("BPK-24", "REC-14")
def test_one_record_is_read_from_sixteen_threads(tmp_path: Path) -> None:
    data = {f"t{i:03}": bytes([i]) * (100 + 1500 * (i % 7)) for i in range(60)}
    entries = [(n, TensorData(DType.U8, [len(d)], d), 1) for n, d in data.items()]
    write_burnpack(tmp_path / "m", entries)
    before = descriptors()
    with ModuleRecord.load(tmp_path / "m") as record, open_burnpack(tmp_path / "m") as found:

        def read(number: int) -> bool:
            order = record.entries if number % 2 else record.entries[::-1]
            whole = all(bytes(e.data.bytes) == data[e.path] for e in order)
            return whole and all(bytes(found[n].data.bytes) == d for n, d in data.items())

        assert all(together(16, read))
    assert descriptors() == before


@pytest.mark.clause("BPK-24")
def test_a_container_closed_while_it_is_read_gives_whole_tensors_or_says_so(tmp_path: Path) -> None:
    data = {f"t{i}": bytes([i]) * 6000 for i in range(20)}
    write_burnpack(tmp_path / "m", [(n, TensorData(DType.U8, [len(d)], d), 1) for n, d in data.items()])
    for _ in range(30):
        found = open_burnpack(tmp_path / "m")

        def read(number: int, found: Any = found) -> None:
            if number == 0:
                found.close()
                # A descriptor of that number is soon somebody else's.
                others = [os.open(__file__, os.O_RDONLY) for _ in range(3)]
                for other in others:
                    os.close(other)
                return
            for name, wanted in data.items():
                try:
                    assert bytes(found[name].data.bytes) == wanted
                except BurnpackError as error:
                    assert "closed" in str(error) or error.errno or "was changed" in str(error)  # noqa: PT017

        together(6, read)


@pytest.mark.clause("REC-9")
def test_one_module_is_saved_to_one_file_by_many_threads(tmp_path: Path) -> None:
    module = net()
    wanted = module.into_record().into_bytes()

    def save(number: int) -> None:
        for _ in range(5):
            module.save_file(tmp_path / "m")

    together(8, save)
    assert (tmp_path / "m.bpk").read_bytes() == wanted
    assert [p.name for p in tmp_path.iterdir()] == ["m.bpk"]


@pytest.mark.clause("MOD-43")
def test_one_module_is_walked_moved_and_recorded_by_many_threads() -> None:
    module = net()
    wanted = [float(i) for i in range(30)]

    def use(number: int) -> bool:
        moved = module.to_device(Device("sim", number % 4)).fork(CPU)
        values = [float(layer.val().to_numpy()[0]) for layer in moved.layers]
        return values == wanted and module.num_params() == 90 and len(module.into_record()) == 30

    assert all(together(12, use))


@pytest.mark.clause("PAR-69", "PAR-70", "PAR-71")
@pytest.mark.parametrize("attempt", range(10))
def test_updates_of_a_running_state_from_many_threads_are_averaged(attempt: int) -> None:
    state = RunningState.new(Tensor.from_data([0.0], CPU))
    meeting = threading.Barrier(8)

    def update(number: int) -> None:
        state.update(Tensor.from_data([float(number)], CPU))
        meeting.wait()

    together(8, update)

    # No thread updated twice, so nothing was committed yet; the average is, with the next update of any.
    assert state.value().to_numpy().tolist() == [0.0]
    assert np.allclose(state.valid().value().to_numpy(), [3.5])


@pytest.mark.clause("PAR-69", "PAR-81")
def test_a_running_state_that_is_updated_and_read_at_once_holds_averages_of_what_was_given() -> None:
    state = RunningState.new(Tensor.from_data([1.0], CPU))

    def use(number: int) -> bool:
        for _ in range(60):
            state.update(Tensor.from_data([1.0], CPU))
            if state.value().to_numpy().tolist() != [1.0] or state.value_sync().to_numpy().tolist() != [1.0]:
                return False
        return True

    assert all(together(8, use))


@pytest.mark.clause("PAR-1")
def test_ids_made_by_many_threads_are_all_different() -> None:
    made = together(16, lambda number: [int(ParamId.new()) for _ in range(500)])

    assert len({value for several in made for value in several}) == 16 * 500
