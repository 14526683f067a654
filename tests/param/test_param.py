from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from refimpl.errors import ArgumentTypeError, GradientError, InvalidArgumentError, LazyInitError, MovedError
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import BoolTensor, GradState, IntTensor, Tensor

CPU = Device("cpu")
AUTODIFF = CPU.autodiff()
SIM = Device("sim", 1)
ONE = ParamId.from_int(1)


def lazy(device: Device = CPU, require_grad: bool = True, log: list[Any] | None = None) -> Param[Tensor]:
    def init(at: Device, rg: bool) -> Tensor:
        if log is not None:
            log.append((str(at), rg))
        return Tensor.ones((2, 3), at).set_require_grad(rg)

    return Param.uninitialized(ONE, init, device, require_grad, (2, 3))


# --- Making one ----------------------------------------------------------------------------------------


@pytest.mark.clause("PAR-13")
def test_initialized_remembers_what_the_value_is_now() -> None:
    assert Param.initialized(ONE, Tensor.ones((1,), AUTODIFF)).is_active is False
    assert Param.initialized(ONE, Tensor.ones((1,), AUTODIFF).require_grad()).is_active is True
    assert Param.initialized(ONE, IntTensor.zeros((1,), AUTODIFF)).is_active is False


@pytest.mark.clause("PAR-14")
def test_from_tensor_is_trainable_at_once_on_an_autodiff_device_and_after_train_on_a_plain_one() -> None:
    assert Param.from_tensor(Tensor.ones((1,), AUTODIFF)).is_require_grad()
    plain = Param.from_tensor(Tensor.ones((1,), CPU))
    assert not plain.is_require_grad()
    assert plain.train().is_require_grad()


@pytest.mark.clause("PAR-14")
def test_from_tensor_refuses_a_tracked_tensor_that_is_no_leaf() -> None:
    moved = Tensor.ones((1,), AUTODIFF).require_grad() * 2.0
    with pytest.raises(GradientError, match="Can't convert a non leaf tensor into a tracked tensor"):
        Param.from_tensor(moved)


@pytest.mark.clause("PAR-15")
def test_from_data_takes_the_float_dtype_of_the_device() -> None:
    param = Param.from_data([[1, 2]], CPU)
    assert (param.base().dtype.name, param.shape) == ("F32", (1, 2))


@pytest.mark.clause("PAR-16")
def test_the_initialiser_runs_once_and_is_told_the_effective_gradient_setting() -> None:
    log: list[Any] = []
    plain, tagged = lazy(CPU, True, log), lazy(AUTODIFF, True, log)
    for param in (plain, tagged, plain, tagged):
        param.val()
    assert log == [("cpu", False), ("cpu+autodiff", True)]


@pytest.mark.clause("PAR-17")
def test_the_initialisers_result_is_taken_as_it_is() -> None:
    param = Param.uninitialized(ONE, lambda at, rg: Tensor.ones((4, 1), at), AUTODIFF, True, (2, 3))
    param.val()
    assert param.lazy_shape() == (4, 1)
    assert not param.is_require_grad()
    assert param.train().is_require_grad()


@pytest.mark.clause("PAR-17")
@pytest.mark.parametrize("made", [Tensor.ones((2,), CPU), IntTensor.zeros((2, 3), CPU), 7])
def test_an_initialiser_that_returns_another_kind_or_rank_is_refused(made: Any) -> None:
    with pytest.raises(LazyInitError, match="the initialiser must return"):
        Param.uninitialized(ONE, lambda at, rg: made, CPU, True, (2, 3)).val()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Param(),
        lambda: Param.initialized(ONE, [1.0]),
        lambda: Param.initialized(1, Tensor.ones((1,), CPU)),
        lambda: Param.from_tensor(IntTensor.zeros((1,), CPU)),
        lambda: Param.uninitialized(ONE, None, CPU, True, (1,)),
        lambda: Param.uninitialized(ONE, print, CPU, True, (1.5,)),
        lambda: Param.from_tensor([1.0]),
        lambda: Param(Tensor.ones((1,), CPU)),
        lambda: Param(value=Tensor.ones((1,), CPU)),
    ],
)
def test_what_cannot_be_a_parameter_is_refused_with_a_typed_error(make: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        make()


def test_a_lazy_parameter_of_a_negative_shape_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        Param.uninitialized(ONE, lambda d, _: Tensor.ones((2,), d), CPU, True, (-2,))


@pytest.mark.clause("PAR-18", "PAR-19", "PAR-38")
def test_the_mapper_of_consume_carries_the_memory_once() -> None:
    validation = Param.from_tensor(Tensor.ones((1,), AUTODIFF)).valid()
    id_, value, mapper = validation.consume()
    assert Param.from_mapped_value(id_, value, mapper).train().is_require_grad()
    assert not Param.initialized(id_, value).train().is_require_grad()


# --- Laziness and sharing ------------------------------------------------------------------------------


@pytest.mark.clause("PAR-21", "PAR-22")
@pytest.mark.report("BL-04")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_clones_share_one_initialisation_whoever_reads_first(order: tuple[int, ...]) -> None:
    log: list[Any] = []
    first = lazy(log=log)
    params = (first, first.clone(), copy.deepcopy(first))
    values = [params[i].val() for i in order]
    assert len(log) == 1
    assert values[0] is values[1] is values[2]
    assert all(p.is_initialized() for p in params)


@pytest.mark.clause("PAR-23")
@pytest.mark.report("BL-04", "BL-33")
def test_looking_at_a_lazy_parameter_does_not_initialise_it() -> None:
    param = lazy(SIM)
    str(param), repr(param), param.clone(), param.lazy_shape(), param.lazy_device(), param.num_params()
    param.devices(), param.is_initialized(), param.lazy_is_require_grad()
    assert not param.is_initialized()


@pytest.mark.clause("PAR-25")
@pytest.mark.report("BL-04")
def test_four_threads_that_read_at_once_run_the_initialiser_once() -> None:
    import threading

    log: list[Any] = []
    param, barrier = lazy(log=log), threading.Barrier(4)
    values: list[Tensor] = []

    def read() -> None:
        barrier.wait()
        values.append(param.val())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log) == 1
    assert all(v is values[0] for v in values)


@pytest.mark.clause("PAR-25", "PAR-26")
def test_an_initialiser_that_asks_for_its_own_parameter_is_told_so_where_burn_hangs() -> None:
    def init(at: Device, rg: bool) -> Tensor:
        return Tensor.ones(param.lazy_shape(), at)

    param = Param.uninitialized(ONE, init, CPU, False, (2,))
    with pytest.raises(LazyInitError, match="Should exist when not initialized"):
        param.val()


@pytest.mark.clause("PAR-26")
def test_a_failed_initialiser_is_gone_and_every_later_question_says_so() -> None:
    def init(at: Device, rg: bool) -> Tensor:
        raise OSError("no random source")

    param = Param.uninitialized(ONE, init, CPU, False, (2,))
    with pytest.raises(OSError, match="no random source"):
        param.val()
    assert not param.is_initialized()
    for ask in (param.val, param.lazy_shape, param.lazy_device):
        with pytest.raises(LazyInitError, match="Should exist when not initialized"):
            ask()


@pytest.mark.clause("PAR-43")
@pytest.mark.report("BL-04")
def test_the_pending_setting_lives_in_the_shared_state_and_the_memory_does_not() -> None:
    first = lazy(AUTODIFF)
    second = first.clone()
    second.set_require_grad(False)
    assert not first.is_require_grad()
    assert first.is_active
    assert first.valid().train().is_require_grad()


@pytest.mark.clause("PAR-41")
def test_a_setting_on_an_unshared_lazy_parameter_moves_its_state() -> None:
    old = lazy(AUTODIFF)
    new = old.set_require_grad(False)
    assert not new.is_initialized()
    assert not new.is_require_grad()
    with pytest.raises(MovedError) as raised:
        old.val()
    assert raised.value.hint == "clone the module first to keep it: `module.clone()`"


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.load_mapper(lambda t: t),
        lambda p: p.save_mapper(lambda t: t),
        lambda p: p.init_mapper(lambda t: t),
        lambda p: p.with_id(ParamId.from_int(9)),
        lambda p: p.to_device(SIM),
        lambda p: p.fork(SIM),
    ],
)
@pytest.mark.clause("PAR-52")
def test_every_by_value_call_moves_an_unshared_lazy_state_and_leaves_a_shared_one(call: Any) -> None:
    alone, shared = lazy(), lazy()
    clone = shared.clone()
    call(alone), call(shared)
    with pytest.raises(MovedError):
        alone.val()
    assert clone.val() is shared.val()


# --- Mappers -------------------------------------------------------------------------------------------


@pytest.mark.clause("PAR-27", "PAR-28", "PAR-29")
@pytest.mark.report("BL-33")
def test_the_value_of_an_init_mapper_is_the_trainable_leaf() -> None:
    states: list[GradState] = []

    def double(value: Tensor) -> Tensor:
        states.append(value.grad_state)
        return value * 2.0

    param = lazy(AUTODIFF).init_mapper(double)
    assert not param.is_initialized()
    assert param.is_require_grad()
    assert states == [GradState.UNTRACKED]
    assert param.val().to_numpy().tolist() == [[2.0] * 3] * 2


@pytest.mark.clause("PAR-28")
def test_chained_init_mappers_apply_in_call_order() -> None:
    param = lazy().init_mapper(lambda t: t + 1.0).init_mapper(lambda t: t * 10.0)
    assert param.val().to_numpy().max() == 20.0


@pytest.mark.clause("PAR-30")
def test_reading_a_mapped_parameter_initialises_the_clones_of_the_original_unmapped() -> None:
    original = lazy()
    clone = original.clone()
    assert original.init_mapper(lambda t: t * 3.0).val().to_numpy().max() == 3.0
    assert clone.is_initialized()
    assert clone.val().to_numpy().max() == 1.0


@pytest.mark.clause("PAR-31")
def test_the_original_of_a_mapped_lazy_parameter_follows_it_to_another_device() -> None:
    log: list[Any] = []
    moved = lazy(CPU, True, log).init_mapper(lambda t: t * 2.0).to_device(SIM)
    assert moved.val().device == SIM
    assert log == [("sim:1", False)]


@pytest.mark.clause("PAR-31")
def test_a_shared_original_initialises_at_home_and_moves_detached() -> None:
    log: list[Any] = []
    original = lazy(AUTODIFF, True, log)
    clone = original.clone()
    moved = original.init_mapper(lambda t: t * 2.0).to_device(SIM)
    assert moved.val().device == SIM
    assert moved.is_require_grad()
    assert log == [("cpu+autodiff", True)]
    assert clone.val().device == CPU


@pytest.mark.clause("PAR-32")
def test_the_declared_shape_stays_until_a_shape_changing_mapper_has_run() -> None:
    param = lazy().init_mapper(lambda t: t.transpose())
    assert param.lazy_shape() == (2, 3)
    param.val()
    assert param.lazy_shape() == (3, 2)


@pytest.mark.clause("PAR-34", "PAR-35")
def test_load_and_save_functions_are_replaced_kept_and_applied_in_their_own_place_only() -> None:
    param = (
        lazy().load_mapper(lambda t: t + 100.0).load_mapper(lambda t: t + 1.0).save_mapper(lambda t: t * 3.0)
    )
    assert param.val().to_numpy().max() == 1.0
    saved = param.transform_for_save()
    assert saved.val().to_numpy().max() == 3.0
    assert repr(saved).endswith("ParamMapper { load: false, save: false }")
    loaded = param.transform_for_load(Tensor.zeros((2, 3), CPU), ParamId.from_int(8))
    assert (loaded.val().to_numpy().max(), loaded.id) == (1.0, ParamId.from_int(8))
    assert repr(loaded.train().valid()).endswith("ParamMapper { load: true, save: true }")


# --- Gradient settings ---------------------------------------------------------------------------------


@pytest.mark.clause("PAR-37")
def test_a_mapped_value_does_not_change_what_the_parameter_remembers() -> None:
    param = Param.from_tensor(Tensor.ones((1,), AUTODIFF)).map(lambda t: t.set_require_grad(False))
    assert not param.is_require_grad()
    assert param.train().is_require_grad()


@pytest.mark.clause("PAR-39")
def test_true_on_a_plain_tensor_is_remembered_and_does_nothing_yet() -> None:
    param = Param.initialized(ONE, Tensor.ones((1,), CPU)).set_require_grad(True)
    assert not param.is_require_grad()
    assert param.train().is_require_grad()


@pytest.mark.clause("PAR-40")
def test_freezing_and_unfreezing_gives_a_new_leaf_and_keeping_a_leaf_gives_the_same() -> None:
    param = Param.from_tensor(Tensor.ones((1,), AUTODIFF))
    assert param.set_require_grad(True).base() is param.base()
    assert param.set_require_grad(False).set_require_grad(True).base() is not param.base()


@pytest.mark.clause("PAR-47", "PAR-48")
def test_train_keeps_a_leaf_and_refuses_a_moved_one() -> None:
    param = Param.from_tensor(Tensor.ones((1,), AUTODIFF))
    assert param.train() is param
    moved = param.to_device(SIM)
    assert not moved.is_require_grad()
    for again in (moved.train, lambda: moved.set_require_grad(True)):
        with pytest.raises(GradientError, match="Can't convert a non leaf tensor"):
            again()
    assert moved.valid().train().is_require_grad()


@pytest.mark.clause("PAR-53", "PAR-54", "PAR-55", "PAR-56")
def test_a_move_is_recorded_and_a_fork_is_a_new_leaf() -> None:
    param = Param.from_tensor(Tensor.ones((1,), AUTODIFF))
    assert param.to_device(AUTODIFF).base().grad_state is GradState.NON_LEAF
    assert param.fork(SIM).base().grad_state is GradState.LEAF
    assert param.to_device(SIM).fork(SIM).base().grad_state is GradState.UNTRACKED
    assert lazy(AUTODIFF).to_device(SIM).base().grad_state is GradState.LEAF


@pytest.mark.clause("PAR-51")
def test_a_retargeted_lazy_parameter_keeps_the_context_it_was_built_with() -> None:
    balanced = AUTODIFF.gradient_checkpointing()
    assert str(lazy(balanced).to_device(SIM).lazy_device()) == "sim:1+autodiff(balanced)"
    assert str(lazy(CPU).to_device(SIM.autodiff()).lazy_device()) == "sim:1"


@pytest.mark.clause("PAR-62")
def test_a_plain_tensor_loaded_into_an_autodiff_parameter_stays_plain_until_train() -> None:
    loaded = Param.from_tensor(Tensor.ones((1,), AUTODIFF)).transform_for_load(Tensor.zeros((1,), CPU), ONE)
    assert not loaded.base().is_autodiff
    assert loaded.train().is_require_grad()


@pytest.mark.clause("PAR-61", "PAR-63")
@pytest.mark.report("BL-11", "BL-33")
def test_loading_into_a_lazy_parameter_runs_no_initialiser_and_lands_on_its_device() -> None:
    log: list[Any] = []
    target = lazy(SIM.autodiff(), False, log)
    loaded = target.transform_for_load(Tensor.zeros((2, 3), AUTODIFF), ONE)
    assert log == []
    assert loaded.base().device == SIM
    assert not loaded.is_require_grad()
    assert not loaded.train().is_require_grad()


# --- Other kinds, text, pickling -----------------------------------------------------------------------


@pytest.mark.clause("PAR-49", "PAR-59")
def test_int_and_bool_parameters_follow_the_context_and_never_train() -> None:
    for value in (IntTensor.zeros((1,), AUTODIFF), BoolTensor.zeros((1,), AUTODIFF)):
        param = Param.initialized(ONE, value)
        assert not param.set_require_grad(True).train().base().is_require_grad
        assert not param.valid().base().is_autodiff
        assert param.valid().train().base().is_autodiff
        assert param.fork(SIM).base().device == SIM


@pytest.mark.clause("PAR-20")
def test_text_names_the_id_and_the_functions() -> None:
    param = lazy().load_mapper(lambda t: t)
    assert str(param) == "Param: 0400000000000"
    assert repr(param) == "Param: 0400000000000 - ParamMapper { load: true, save: false }"


def test_an_initialised_parameter_pickles_with_its_id_and_memory() -> None:
    param = Param.from_tensor(Tensor.ones((2,), AUTODIFF)).valid()
    again = pickle.loads(pickle.dumps(param))
    assert (again.id, again.is_active, again.base().to_numpy().tolist()) == (param.id, True, [1.0, 1.0])


def test_an_uninitialised_parameter_does_not_pickle_and_says_what_to_do() -> None:
    with pytest.raises(ArgumentTypeError) as raised:
        pickle.dumps(lazy())
    assert "val()" in (raised.value.hint or "")


@pytest.mark.parametrize("what", ["load", "save"])
def test_a_function_without_a_name_in_a_file_does_not_pickle_and_is_named(what: str) -> None:
    param = getattr(Param.from_tensor(Tensor.ones((2,), CPU)), f"{what}_mapper")(lambda t: t)
    with pytest.raises(ArgumentTypeError, match=f"the {what} function of parameter {param.id}, `.*<lambda>`"):
        pickle.dumps(param)


def test_a_function_of_a_file_is_pickled_by_its_name() -> None:
    param = Param.from_tensor(Tensor.ones((2,), CPU)).save_mapper(Tensor.exp)
    assert pickle.loads(pickle.dumps(param))._mapper.save is Tensor.exp


def test_values_of_another_kind_are_refused() -> None:
    param = lazy()
    with pytest.raises(ArgumentTypeError, match="holds a Tensor, got IntTensor"):
        param.map(lambda t: IntTensor.zeros((1,), CPU))
    with pytest.raises(ArgumentTypeError, match="holds a Tensor, got BoolTensor"):
        param.transform_for_load(BoolTensor.zeros((1,), CPU), ONE)
    with pytest.raises(ArgumentTypeError, match="not a flag"):
        param.is_enabled()
    with pytest.raises(ArgumentTypeError, match="no shape"):
        Param.from_bool(True).lazy_shape()


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.to_device(SIM),
        lambda p: p.set_require_grad(False),
        lambda p: p.with_id(ParamId.from_int(9)),
    ],
)
@pytest.mark.clause("PAR-25")
def test_a_parameter_that_another_thread_initialises_meanwhile_is_moved_as_an_initialised_one(
    call: Any,
) -> None:
    import threading

    started, released = threading.Event(), threading.Event()

    def init(at: Device, rg: bool) -> Tensor:
        started.set()
        released.wait(10)
        return Tensor.ones((2,), at)

    param = Param.uninitialized(ONE, init, CPU, False, (2,))
    reader = threading.Thread(target=param.val)
    reader.start()
    started.wait(10)
    threading.Timer(0.05, released.set).start()
    moved = call(param)  # waits for the reader, which holds the cell
    reader.join()
    assert moved.val().to_numpy().tolist() == [1.0, 1.0]
    assert param.val().device == CPU
