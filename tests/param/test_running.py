from __future__ import annotations

import pickle
import threading

import pytest

from refimpl.errors import ArgumentTypeError, GradientError
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.param.traversal import ModuleMapper, ModuleVisitor
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import IntTensor, Tensor

CPU = Device("cpu")
AUTODIFF = CPU.autodiff()


def scalar(value: float, device: Device = CPU) -> Tensor:
    return Tensor.from_data([value], device)


def number(tensor: Tensor) -> float:
    return float(tensor.to_numpy()[0])


@pytest.mark.clause("PAR-69", "PAR-71")
def test_the_committed_value_lags_one_update() -> None:
    state = RunningState.new(scalar(1.0))
    state.update(scalar(2.0))
    assert number(state.value()) == 1.0
    state.update(scalar(4.0))
    assert number(state.value()) == 2.0
    assert number(state.value_sync()) == 4.0


@pytest.mark.clause("PAR-70", "PAR-71", "PAR-72")
def test_a_commit_averages_over_threads_and_only_a_thread_with_an_update_commits() -> None:
    state = RunningState.new(scalar(0.0))
    other = threading.Thread(target=lambda: state.update(scalar(4.0)))
    other.start()
    other.join()
    assert number(state.value_sync()) == 0.0
    state.update(scalar(2.0))
    assert number(state.value_sync()) == 3.0


@pytest.mark.clause("PAR-73", "PAR-81")
def test_a_visitor_sees_the_committed_value_and_may_read_the_state() -> None:
    state = RunningState.with_id(ParamId.from_int(7), scalar(1.0))
    state.update(scalar(9.0))
    seen: list[tuple[int, float, float]] = []

    class Look(ModuleVisitor):
        def visit_float(self, param: Param[Tensor]) -> None:
            seen.append((int(param.id), number(param.val()), number(state.value())))

    state.visit(Look())
    assert seen == [(7, 1.0, 1.0)]


@pytest.mark.clause("PAR-74", "PAR-75")
def test_mapping_a_clone_changes_the_original_in_place_without_gradient() -> None:
    class Train(ModuleMapper):
        def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
            return param.map(lambda t: (t + 1.0).set_require_grad(True)).with_id(ParamId.from_int(99))

    state = RunningState.with_id(ParamId.from_int(7), scalar(1.0, AUTODIFF))
    assert state.clone().map(Train()) is state
    assert number(state.value()) == 2.0
    assert not state.value().is_require_grad
    assert int(state.id) == 7


@pytest.mark.clause("PAR-77")
def test_valid_and_train_commit_everything_and_give_a_state_of_its_own() -> None:
    state = RunningState.new(scalar(1.0))
    state.update(scalar(5.0))
    trained = state.train()
    assert number(state.value()) == 5.0
    assert trained.value().is_autodiff
    trained.update(scalar(8.0))
    assert number(trained.valid().value()) == 8.0
    assert number(state.value_sync()) == 5.0
    assert trained.id == state.id


@pytest.mark.clause("PAR-78")
def test_a_move_leaves_pending_updates_where_they_are() -> None:
    state = RunningState.new(scalar(1.0))
    state.update(scalar(2.0))
    moved = state.to_device(Device("sim", 0))
    assert moved.value().device == Device("sim", 0)
    assert moved.value_sync().device == CPU


@pytest.mark.clause("PAR-79")
def test_a_tracked_value_that_is_no_leaf_refuses_to_require_a_gradient() -> None:
    class Require(ModuleMapper):
        def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
            return param.set_require_grad(True)

    state = RunningState.new(scalar(1.0, AUTODIFF).require_grad() * 2.0)
    with pytest.raises(GradientError):
        state.map(Require())
    assert state.num_params() == 1


@pytest.mark.clause("PAR-68", "PAR-82")
def test_a_state_from_a_record_takes_id_and_value() -> None:
    param = Param.initialized(ParamId.from_int(1), scalar(3.0))
    state = RunningState.from_record(param)
    assert str(state) == "RunningState(id=0400000000000)"
    assert number(pickle.loads(pickle.dumps(state)).value()) == 3.0
    assert state.materialize() is state


def test_a_state_of_another_kind_is_refused() -> None:
    with pytest.raises(ArgumentTypeError):
        RunningState.new(IntTensor.zeros((1,), CPU))  # type: ignore[arg-type]
