from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest

from refimpl.errors import ArgumentTypeError, EmptyGroupWarning, GradientError, MovedError, PanicError
from refimpl.module.lora import Lora, QLora
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.module.trait import list_param_ids
from refimpl.module.tree import Tree
from refimpl.param.flag import Flag
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.param.traversal import ModuleMapper, PathVisitor
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.device import Device
from refimpl.tensor.scheme import QuantScheme
from refimpl.tensor.tensor import BoolTensor, GradState, IntTensor, Tensor

CPU = Device("cpu")
AUTODIFF = CPU.autodiff()
SIM = Device("sim", 1)
QUANTIZER = Quantizer(Calibration.MIN_MAX, QuantScheme())


class Net(Module):
    weight: Param[Tensor]
    steps: Param[IntTensor]
    mask: Param[BoolTensor]
    training: Param[Flag]
    mean: RunningState
    table: Tensor


class Pair(Module):
    a: Param[Tensor]
    b: Param[Tensor]


class AddOne(ModuleMapper):
    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        return param.map(lambda t: t + 1.0)


def net(device: Device = AUTODIFF) -> Net:
    return Net(
        weight=Param.from_tensor(Tensor.ones((2, 2), device)),
        steps=Param.initialized(ParamId.new(), IntTensor.zeros((3,), device)),
        mask=Param.initialized(ParamId.new(), BoolTensor.zeros((3,), device)),
        training=Param.from_bool(True),
        mean=RunningState.new(Tensor.zeros((4,), device)),
        table=Tensor.ones((5,), device),
    )


def lazy(device: Device = CPU, log: list[str] | None = None, shape: tuple[int, ...] = (2,)) -> Param[Tensor]:
    def init(at: Device, rg: bool) -> Tensor:
        if log is not None:
            log.append(str(at))
        return Tensor.ones(shape, at).set_require_grad(rg)

    return Param.uninitialized(ParamId.new(), init, device, True, shape)


@pytest.mark.clause("MOD-36", "MOD-56", "FLG-8")
def test_floats_and_running_states_count_and_flags_have_an_id_only_in_groups() -> None:
    module = net()
    assert module.num_params() == 4 + 4
    ids = list_param_ids(module)
    assert ids == (module.weight.id, module.steps.id, module.mask.id, module.mean.id)
    group = ParamGroup.ids_from_module(module)
    assert all(group.matches(i, None) for i in (*ids, module.training.id))


@pytest.mark.clause("MOD-43", "MOD-45")
@pytest.mark.report("BL-20")
def test_no_grad_leaves_flags_and_freeze_does_not() -> None:
    module = net()
    assert (module.no_grad().weight.is_require_grad(), module.no_grad().training.is_enabled()) == (
        False,
        True,
    )
    frozen = module.freeze()
    assert (frozen.weight.is_require_grad(), frozen.training.is_enabled()) == (False, False)
    again = frozen.unfreeze()
    assert (again.weight.is_require_grad(), again.training.is_enabled()) == (True, True)


@pytest.mark.clause("MOD-44", "MOD-46")
@pytest.mark.report("BL-20")
def test_a_group_touches_only_what_it_names_and_the_gradient_setter_ignores_flags() -> None:
    module = net()
    only_weight = module.freeze_group(ParamGroup.from_path("weight"))
    assert (only_weight.weight.is_require_grad(), only_weight.training.is_enabled()) == (False, True)
    only_flag = module.freeze_group(ParamGroup.from_path("training"))
    assert (only_flag.weight.is_require_grad(), only_flag.training.is_enabled()) == (True, False)
    by_ids = module.freeze_group(ParamGroup.ids_from_module(module))
    assert (by_ids.weight.is_require_grad(), by_ids.training.is_enabled()) == (False, False)
    assert module.set_require_grad_group(ParamGroup.from_path("training"), False).training.is_enabled()
    assert by_ids.unfreeze_group(ParamGroup.all()).weight.is_require_grad()


@pytest.mark.clause("GRP-15")
@pytest.mark.report("BL-31")
@pytest.mark.parametrize("call", ["freeze_group", "unfreeze_group"])
def test_a_group_that_selects_nothing_warns_and_changes_nothing(call: str) -> None:
    module = net()
    with pytest.warns(EmptyGroupWarning, match=call):
        assert getattr(module, call)(ParamGroup.from_path("nope")) is module


@pytest.mark.clause("MOD-47", "MOD-48", "MOD-49")
def test_validation_takes_the_context_away_and_flags_act_at_once() -> None:
    module = net()
    plain = module.valid()
    assert not any(d.is_autodiff for d in plain.devices())
    assert not plain.training.is_enabled()
    assert plain.unfreeze().training.is_enabled()
    assert not plain.unfreeze().weight.is_require_grad()
    trained = plain.train()
    assert (trained.weight.is_require_grad(), trained.training.is_enabled()) == (True, True)
    assert trained.table.is_autodiff
    assert trained.mean.value().is_autodiff


@pytest.mark.clause("MOD-50")
def test_memory_is_what_training_restores() -> None:
    assert not net().no_grad().valid().train().weight.is_require_grad()
    mixed = net().freeze().valid().set_require_grad(True).train()
    assert (mixed.weight.is_require_grad(), mixed.training.is_enabled()) == (True, False)
    assert not net().valid().freeze().train().weight.is_require_grad()


@pytest.mark.clause("MOD-51")
def test_validation_drops_the_checkpointing_strategy() -> None:
    module = net(AUTODIFF.gradient_checkpointing())
    assert str(module.train().weight.device) == "cpu+autodiff(balanced)"
    assert str(module.valid().train().weight.device) == "cpu+autodiff"


@pytest.mark.clause("MOD-53", "PAR-66", "PAR-67")
@pytest.mark.report("BL-44")
def test_everything_that_lives_on_a_device_moves_and_a_fork_is_a_leaf() -> None:
    moved, forked = net().to_device(SIM), net().fork(SIM)
    assert moved.devices() == forked.devices() == (SIM,)
    assert moved.weight.base().grad_state is GradState.NON_LEAF
    assert forked.weight.base().grad_state is GradState.LEAF
    assert moved.table.device == SIM
    with pytest.raises(GradientError):
        moved.train()


@pytest.mark.clause("PAR-67")
def test_a_bare_tracked_tensor_is_moved_and_not_detached_by_a_fork() -> None:
    class Held(Module):
        table: Tensor

    assert (
        Held(table=Tensor.ones((1,), AUTODIFF).require_grad()).fork(SIM).table.grad_state
        is GradState.NON_LEAF
    )


@pytest.mark.clause("MOD-9", "MOD-7")
def test_a_map_that_changes_nothing_gives_the_same_objects_and_initialises_nothing() -> None:
    pair = Pair(a=lazy(), b=lazy())
    assert pair.map(ModuleMapper()) is pair
    assert not pair.a.is_initialized()


@pytest.mark.clause("MOD-35", "PAR-23")
@pytest.mark.report("BL-33")
def test_counting_listing_and_moving_initialise_nothing() -> None:
    log: list[str] = []
    pair = Pair(a=lazy(log=log), b=lazy(log=log))
    assert pair.num_params() == 4
    moved = pair.to_device(SIM).fork(Device("sim", 2)).no_grad().freeze()
    assert (log, moved.devices()) == ([], (Device("sim", 2),))
    moved.a.val()
    assert log == ["sim:2"]


@pytest.mark.clause("PAR-52")
@pytest.mark.report("BL-33")
def test_with_a_clone_alive_a_move_initialises_at_home() -> None:
    log: list[str] = []
    pair = Pair(a=lazy(log=log), b=lazy(log=log))
    clone = pair.clone()
    moved = pair.to_device(SIM)
    assert log == ["cpu", "cpu"]
    assert (clone.a.device, moved.a.device) == (CPU, SIM)


@pytest.mark.clause("PAR-52", "MOD-10")
@pytest.mark.report("BL-32")
def test_a_parameter_that_stands_twice_counts_twice_and_as_shared() -> None:
    log: list[str] = []
    param = lazy(log=log)
    pair = Pair(a=param, b=param)
    assert pair.num_params() == 4
    moved = pair.to_device(SIM)
    assert log == ["cpu"]
    assert (moved.a.device, moved.b.device, moved.a.id) == (SIM, SIM, moved.b.id)


@pytest.mark.report("BL-32")
def test_a_shared_parameter_is_mapped_once_in_each_place_and_never_twice_on_one_buffer() -> None:
    param = Param.from_tensor(Tensor.ones((2,), CPU))
    mapped = Pair(a=param, b=param).map(AddOne())
    assert mapped.a.val().to_numpy().tolist() == mapped.b.val().to_numpy().tolist() == [2.0, 2.0]
    assert param.val().to_numpy().tolist() == [1.0, 1.0]


@pytest.mark.clause("PAR-44")
def test_freezing_a_clone_of_a_lazy_model_freezes_what_the_original_initialises() -> None:
    model = Pair(a=lazy(AUTODIFF), b=lazy(AUTODIFF))
    model.clone().freeze()
    assert not model.a.is_require_grad()
    assert model.train().a.is_require_grad()


@pytest.mark.clause("PAR-50")
def test_valid_initialises_the_original_too() -> None:
    pair = Pair(a=lazy(AUTODIFF), b=lazy(AUTODIFF))
    pair.valid()
    assert pair.a.is_initialized()


def test_an_old_lazy_model_says_that_it_was_moved() -> None:
    pair = Pair(a=lazy(), b=lazy())
    pair.to_device(SIM)
    with pytest.raises(MovedError, match="`to_device` moved this parameter"):
        pair.a.val()


@pytest.mark.clause("MOD-39")
def test_an_overridden_count_is_asked_by_lists_and_structs_and_not_by_tuples_and_options() -> None:
    class Odd(Module):
        def num_params(self) -> int:
            return 42

    class Holder(Module):
        vec: tuple[Odd, ...] = ()
        one: Odd | None = None
        pair: tuple[Odd, Odd] | None = None
        plain: tuple[int, ...] = ()

    odd = Odd()
    assert Holder(vec=(odd, odd)).num_params() == 84
    assert Holder(one=odd).num_params() == 0
    assert Holder(pair=(odd, odd)).num_params() == 0


@pytest.mark.clause("MOD-41")
def test_the_first_of_two_equal_devices_survives_with_its_tag() -> None:
    class Mixed(Module):
        first: Tensor
        second: Tensor

    plain, tagged = Tensor.ones((1,), CPU), Tensor.ones((1,), AUTODIFF)
    assert list(map(str, Mixed(first=plain, second=tagged).devices())) == ["cpu"]
    assert list(map(str, Mixed(first=tagged, second=plain).devices())) == ["cpu+autodiff"]


@pytest.mark.clause("MOD-11")
def test_a_bare_parameter_has_the_empty_path_and_a_bare_tuple_its_indices() -> None:
    class Paths(PathVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[str] = []

        def visit_float(self, param: Param[Tensor]) -> None:
            self.found.append(self.path)

    param = Param.from_tensor(Tensor.ones((1,), CPU))
    for root, wanted in ((param, [""]), ((param, Pair(a=param, b=param)), ["0", "1.a", "1.b"])):
        paths = Paths()
        Tree(root).visit(paths)
        assert paths.found == wanted
    assert not Tree(param).freeze_group(ParamGroup.from_path("")).value.is_active


def test_a_tree_does_what_a_module_does() -> None:
    tree = Tree((net(), 3, None))
    assert tree.num_params() == 8
    assert tree.clone().fork(SIM).valid().train().materialize().to_device(CPU).devices() == (CPU,)
    assert str(Tree(3)) == "3"
    assert repr(Tree((1.0, "a"))) == '[1.0, "a"]'


@pytest.mark.clause("MOD-11")
def test_an_annotation_says_what_stands_at_the_root() -> None:
    class Containers(PathVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[str] = []

        def enter_module(self, name: str, container_type: str) -> None:
            super().enter_module(name, container_type)
            self.found.append(f"{name} {container_type}")

    param = Param.from_tensor(Tensor.ones((1,), CPU)).with_id(ParamId.from_int(1))
    pair = Tree((param, 3), tuple[Param[Tensor], int])
    containers = Containers()
    pair.train().visit(containers)
    assert containers.found == ["0 Tuple", "1 Tuple"]
    assert repr(pair) == "(Param: 0400000000000 - ParamMapper { load: false, save: false }, 3)"
    assert repr(Tree(3, int | None)) == "Some(3)"
    with pytest.raises(ArgumentTypeError, match="the root must be a tuple of 2"):
        Tree((param,), tuple[Param[Tensor], int])


@pytest.mark.clause("MOD-30")
def test_copies_share_lazy_state_and_pickles_hold_values_and_ids() -> None:
    module = net()
    for again in (copy.copy(module), copy.deepcopy(module), module.clone()):
        assert again.weight.id == module.weight.id
    unpickled = pickle.loads(pickle.dumps(module))
    assert unpickled.weight.id == module.weight.id
    assert unpickled.weight.val().to_numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert unpickled.num_params() == 8


def test_one_module_can_be_walked_from_many_threads() -> None:
    pair = Pair(a=lazy(), b=lazy())
    barrier = threading.Barrier(8)
    seen: list[float] = []

    def read() -> None:
        barrier.wait()
        seen.append(float(pair.a.val().to_numpy().sum() + pair.clone().b.val().to_numpy().sum()))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [4.0] * 8


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.load_record(None),
        lambda m: m.try_load_record(m),
        lambda m: m.load_record("model.bpk"),
        lambda m: m.freeze_group("weight"),
        lambda m: m.unfreeze_group(None),
        lambda m: m.set_require_grad_group(["weight"], True),
        lambda m: m.set_require_grad("no"),
        lambda m: m.into_record_group("weight"),
        lambda m: m.into_record().allow_partial("no"),
        lambda m: m.into_record().allow_unused(1),
        lambda m: m.into_record().validate(None),
        lambda m: m.visit(None),
        lambda m: m.visit(print),
        lambda m: m.map(lambda p: p),
        lambda m: m.apply_lora(None),
        lambda m: m.apply_lora(QLora(Lora(2, 1.0), QUANTIZER)),
        lambda m: m.apply_qlora(Lora(2, 1.0)),
        lambda m: m.apply_qlora(QUANTIZER),
    ],
)
def test_an_argument_of_another_type_is_an_error_of_ours(call: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        call(net())


def test_a_path_visitor_needs_no_constructor_of_its_base() -> None:
    class Paths(PathVisitor):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def visit_float(self, param: Param[Tensor]) -> None:
            self.seen.append(self.path)

    paths = Paths()
    net().visit(paths)
    assert paths.seen == ["weight", "mean"]


def test_a_path_visitor_that_enters_without_its_base_is_told_so() -> None:
    class Silent(PathVisitor):
        def enter_module(self, name: str, container_type: str) -> None: ...

    with pytest.raises(PanicError, match=r"Silent leaves .*, which it never entered"):
        net().visit(Silent())
