from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, EmptyGroupWarning, RecordError
from refimpl.module.lora import Lora, LoraAdapter
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.module.reparameterizing import ApplyReparameterization
from refimpl.module.trait import list_param_ids
from refimpl.param.flag import Flag
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.reparameterization import Reparameterization, Reparameterizer
from refimpl.param.running import RunningState
from refimpl.param.traversal import ModuleMapper, PathVisitor
from refimpl.record.record import ModuleRecord
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.device import Device
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import QuantizedTensor, Tensor

from .adapted import (
    CPU,
    Added,
    Adding,
    ByRow,
    Linear,
    WeightNorm,
    layers,
    lazy,
    linear,
    numbers,
    param,
    paths,
    tensor,
)

AUTODIFF, SIM0, SIM1 = CPU.autodiff(), Device("sim", 0), Device("sim", 1)
ROWS = [[3.0, 4.0, 0.0], [0.0, 5.0, 12.0]]


def rows() -> Linear:
    return Linear(weight=param(1, ROWS), bias=param(2, [1, 2, 3]))


def added(device: Device = CPU) -> Linear:
    """A linear layer whose weight has 10 added."""
    return linear(device=device).apply_reparameterization(Adding(10.0, "weight"))


def extra(module: Linear) -> Added:
    attached = module.weight.reparameterization(Added)
    assert attached is not None
    return attached


class Doubled(ModuleMapper):
    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        return param.map(lambda t: t * 2.0)


# --- A reparameterization of one's own ------------------------------------------------------------


@pytest.mark.clause("REP-1", "REP-4")
def test_weight_norm_leaves_the_weight_as_it_is_until_its_lengths_change() -> None:
    module = rows().apply_reparameterization(ByRow())
    norm = module.weight.reparameterization(WeightNorm)
    assert norm is not None

    assert numbers(norm.length.val()) == [[5.0], [13.0]]
    assert numbers(module.weight.val()) == ROWS

    class Longer(ModuleMapper):
        def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
            return param.map(lambda t: t * 2.0) if param.lazy_shape() == (2, 1) else param

    longer = module.map(Longer())
    assert numbers(longer.weight.val()) == [[2 * x for x in row] for row in ROWS]
    assert numbers(longer.weight.base()) == ROWS
    assert numbers(longer.materialize().weight.base()) == [[2 * x for x in row] for row in ROWS]


@pytest.mark.clause("REP-1", "REP-17")
def test_weight_norm_is_saved_and_loaded_with_its_module() -> None:
    module = rows().apply_reparameterization(ByRow())
    record = ModuleRecord.from_bytes(module.into_record().into_bytes())

    assert paths(module) == ["weight", "weight.weight_norm.length", "bias"]
    assert module.num_params() == 6 + 2 + 3
    fresh = linear(7).apply_reparameterization(ByRow()).load_record(record)
    assert numbers(fresh.weight.val()) == ROWS
    assert list_param_ids(fresh) == list_param_ids(module)


@pytest.mark.clause("REP-3")
def test_every_float_parameter_is_offered_once_in_order_under_its_path() -> None:
    asked = ByRow()
    layers().apply_reparameterization(asked)

    assert asked.asked == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]


@pytest.mark.clause("REP-3", "MOD-11")
def test_a_bare_parameter_is_offered_under_the_empty_path() -> None:
    asked = ByRow()
    adapted = param(1, ROWS).map(ApplyReparameterization(asked))

    assert asked.asked == [""]
    assert adapted.reparameterization(WeightNorm) is not None


@pytest.mark.clause("REP-2", "REP-4")
def test_the_parameter_that_is_returned_is_the_base_with_or_without_something_attached() -> None:
    class Frozen(Reparameterizer):
        def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], Added | None]:
            changed = param.map(lambda t: t * 3.0).set_require_grad(False)
            return changed, extra(added()) if path == "weight" else None

    module = linear(device=AUTODIFF).apply_reparameterization(Frozen())
    assert module.bias is not None

    assert numbers(module.bias.val()) == [3.0, 6.0, 9.0]
    assert numbers(module.weight.base()) == [[3.0, 6.0, 9.0], [12.0, 15.0, 18.0]]
    assert numbers(module.weight.val())[0] == [13.0, 16.0, 19.0]
    assert not module.bias.is_require_grad()


@pytest.mark.clause("REP-5")
def test_what_is_attached_now_is_not_offered_itself() -> None:
    asked = ByRow()
    rows().apply_reparameterization(asked)

    assert asked.asked == ["weight", "bias"]


@pytest.mark.clause("REP-6")
def test_applied_again_the_old_one_stays_and_its_own_parameters_are_offered() -> None:
    """Pinned: Burn neither refuses, nor replaces, nor stacks."""
    asked = ByRow()
    once = rows().apply_reparameterization(Adding(10.0, "weight"))
    twice = once.apply_reparameterization(asked)

    assert asked.asked == ["weight", "weight.added.by.amount", "bias"]
    assert twice.weight.reparameterization(WeightNorm) is None
    assert extra(twice).amount.reparameterization(WeightNorm) is not None
    assert numbers(twice.weight.val()) == [[13.0, 14.0, 10.0], [10.0, 15.0, 22.0]]
    assert list_param_ids(twice)[1] == list_param_ids(once)[1]


@pytest.mark.clause("REP-7")
def test_of_a_running_state_only_the_base_is_kept() -> None:
    class Norm(Module):
        mean: RunningState
        gain: Param[Tensor]

    module = Norm(mean=RunningState.new(tensor([1.0, 2.0])), gain=param(1, [1, 1]))
    adapted = module.apply_reparameterization(Adding(10.0))

    assert adapted.mean.value().to_numpy().tolist() == [1.0, 2.0]
    assert paths(adapted) == ["mean", "gain", "gain.added.by.amount"]


@pytest.mark.clause("REP-2")
def test_what_is_no_reparameterizer_and_no_reparameterization_is_refused() -> None:
    class Wrong(Reparameterizer):
        def reparameterize(self, path: str, param: Param[Tensor]) -> Any:
            return param, "lora"

    with pytest.raises(ArgumentTypeError, match="takes a Reparameterizer"):
        linear().apply_reparameterization("lora")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="gives a Reparameterization or None"):
        linear().apply_reparameterization(Wrong())


@pytest.mark.report("BL-31")
def test_attaching_nothing_warns() -> None:
    with pytest.warns(EmptyGroupWarning, match="Adding attached nothing"):
        linear().apply_reparameterization(Adding(1.0, "nope"))


# --- Traversal ------------------------------------------------------------------------------------


@pytest.mark.clause("REP-8")
def test_the_base_is_seen_first_without_what_is_attached_and_then_that_under_its_name() -> None:
    class Trace(PathVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.events: list[str] = []

        def enter_module(self, name: str, container_type: str) -> None:
            super().enter_module(name, container_type)
            self.events.append(f"{name}[{container_type}]")

        def exit_module(self, name: str, container_type: str) -> None:
            super().exit_module(name, container_type)
            self.events.append(f"/{name}")

        def visit_float(self, param: Param[Tensor]) -> None:
            attached = param.reparameterization() is not None
            self.events.append(f"float {self.path} {numbers(param.val())[0]}{attached:d}")

        def visit_flag(self, flag: Param[Flag]) -> None:
            self.events.append(f"flag {self.path}")

    trace = Trace()
    Linear(weight=added().weight, bias=None).visit(trace)

    assert trace.events == [
        "weight[Struct:Linear]",
        "float weight [1.0, 2.0, 3.0]0",
        "added.by[Reparameterization]",
        "amount[Struct:Added]",
        "float weight.added.by.amount [10.0]0",
        "/amount",
        "on[Struct:Added]",
        "flag weight.added.by.on",
        "/on",
        "/added.by",
        "/weight",
        "bias[Struct:Linear]",
        "/bias",
    ]


@pytest.mark.clause("REP-9", "MOD-36", "MOD-45", "MOD-56")
def test_whatever_traverses_reaches_what_is_attached() -> None:
    module = added(AUTODIFF)
    frozen = extra(module.freeze())

    assert module.num_params() == 6 + 1 + 3
    assert [int(i) for i in list_param_ids(module)] == [1, 50, 2]
    assert ParamGroup.ids_from_module(module).matches(ParamId.from_int(51), None)
    assert (frozen.amount.is_require_grad(), frozen.on.is_enabled()) == (False, False)
    by_path = module.freeze_group(ParamGroup.from_path("weight.added.by.amount"))
    assert (by_path.weight.is_require_grad(), extra(by_path).amount.is_require_grad()) == (True, False)


@pytest.mark.clause("REP-9")
def test_a_mapper_gets_the_base_alone_and_what_it_returns_carries_the_mapped_adapter() -> None:
    doubled = added().map(Doubled())

    assert numbers(doubled.weight.base())[0] == [2.0, 4.0, 6.0]
    assert numbers(extra(doubled).amount.val()) == [[20.0]]
    assert numbers(doubled.weight.val())[0] == [22.0, 24.0, 26.0]
    module = added()
    assert module.map(ModuleMapper()) is module


@pytest.mark.clause("MOD-42", "REP-10")
def test_the_devices_of_the_base_come_before_those_of_what_is_attached() -> None:
    module = linear(device=SIM1).apply_reparameterization(Adding(1.0, "weight", device=SIM0))

    assert module.devices() == (SIM1, SIM0)
    assert module.to_device(SIM0).devices() == (SIM0,)


@pytest.mark.clause("PAR-60", "PAR-54", "PAR-55", "REP-10")
def test_what_is_attached_moves_by_the_operation_of_its_parameter() -> None:
    module = linear(device=SIM0.autodiff()).apply_reparameterization(Adding(1.0, "weight"))
    moved, forked = module.to_device(SIM1), module.fork(SIM1)

    assert [extra(m).amount.device.inner() for m in (moved, forked)] == [SIM1, SIM1]
    assert [extra(m).amount.val().is_require_grad for m in (moved, forked)] == [False, True]
    assert extra(moved).amount.val().is_tracked


@pytest.mark.clause("REP-11")
def test_a_clone_has_what_is_attached_too_and_shares_what_is_not_initialised() -> None:
    runs: list[int] = []

    def init(device: Device, require_grad: bool) -> Tensor:
        runs.append(1)
        return tensor([[1.0]], device)

    amount = Param.uninitialized(ParamId.from_int(50), init, CPU, True, (1, 1))
    weight = linear().weight.with_reparameterization(Added(amount=amount, on=Param.from_bool(True), rate=0.5))
    module = Linear(weight=weight, bias=None)
    twin = module.clone()

    assert numbers(twin.weight.val()) == numbers(module.weight.val())
    assert runs == [1]
    for other in (copy.copy(module), copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert numbers(other.weight.val())[0] == [2.0, 3.0, 4.0]


@pytest.mark.clause("REP-12")
def test_what_is_attached_is_given_by_its_type() -> None:
    weight = added().weight

    assert isinstance(weight.reparameterization(Added), Added)
    assert weight.reparameterization(LoraAdapter) is None
    assert isinstance(weight.reparameterization(), Reparameterization)
    assert linear().weight.reparameterization() is None


# --- Shapes and state -----------------------------------------------------------------------------


@pytest.mark.clause("REP-13", "REP-18")
def test_the_effective_value_may_have_another_shape() -> None:
    class Summed(Module, Reparameterization):
        NAME: ClassVar[str] = "summed"
        by: Param[Tensor]

        def apply(self, base: Tensor) -> Tensor:
            return base.sum_dim(0) * self.by.val()

    module = Linear(weight=linear().weight.with_reparameterization(Summed(by=param(9, [[2.0]]))), bias=None)

    assert numbers(module.weight.val()) == [[10.0, 14.0, 18.0]]
    assert module.num_params() == 6 + 1
    assert module.materialize().weight.shape == (1, 3)


@pytest.mark.clause("REP-16")
def test_a_constant_of_what_is_attached_is_neither_mapped_nor_recorded() -> None:
    loaded = added().load_record(added().map(Doubled()).into_record())

    assert extra(loaded).rate == 0.5
    assert paths(loaded) == ["weight", "weight.added.by.amount", "bias"]


@pytest.mark.clause("REP-17")
def test_a_record_with_and_a_module_without_adapters_do_not_fit_unless_they_are_told_to() -> None:
    names = '["weight.added.by.amount"]'
    with pytest.raises(RecordError) as surplus:
        linear().try_load_record(added().into_record())
    with pytest.raises(RecordError) as missing:
        added().try_load_record(linear().into_record())

    assert str(surplus.value) == f"Record validation error: Unused tensors: {names}"
    assert str(missing.value) == f"Record validation error: Missing tensors: {names}"
    kept = added().try_load_record(linear(11).map(Doubled()).into_record().allow_partial(True))
    assert numbers(kept.weight.val())[0] == [12.0, 14.0, 16.0]
    plain = linear().try_load_record(added().into_record().allow_unused(True))
    assert plain.weight.reparameterization() is None


# --- Materialize ----------------------------------------------------------------------------------


@pytest.mark.clause("REP-18", "MOD-52")
def test_materialize_folds_the_adapter_into_the_base_and_keeps_all_else() -> None:
    weight = linear(device=AUTODIFF).weight.load_mapper(lambda t: t).save_mapper(lambda t: t)
    module = Linear(weight=weight, bias=None).apply_reparameterization(Adding(10.0, "weight"))
    merged = module.materialize()

    assert numbers(merged.weight.base())[0] == [11.0, 12.0, 13.0]
    assert merged.weight.reparameterization() is None
    assert (merged.weight.id, repr(merged.weight)) == (module.weight.id, repr(module.weight))
    assert merged.weight.is_require_grad()
    assert merged.weight.val().is_autodiff
    assert numbers(module.weight.base())[0] == [1.0, 2.0, 3.0]
    assert merged.materialize() is merged


@pytest.mark.clause("REP-18")
@pytest.mark.parametrize("trainable", [True, False])
def test_a_merged_weight_trains_as_its_base_did(trainable: bool) -> None:
    module = added(AUTODIFF).set_require_grad_group(ParamGroup.from_path("weight"), trainable)
    merged = module.materialize()

    assert merged.weight.is_require_grad() is trainable
    assert merged.weight.is_active is trainable
    assert not merged.weight.val().is_tracked or trainable


@pytest.mark.clause("REP-18")
def test_an_adapter_of_an_adapter_is_folded_through_it() -> None:
    twice = added().apply_reparameterization(Adding(5.0, "weight.added.by.amount"))

    assert numbers(twice.materialize().weight.base())[0] == [16.0, 17.0, 18.0]


@pytest.mark.clause("MOD-52")
def test_materialize_leaves_lazy_parameters_and_flags_alone() -> None:
    module = Linear(weight=lazy(1, ROWS), bias=lazy(2, [1, 2, 3]))

    assert module.materialize() is module
    assert not module.weight.is_initialized()
    turned = layers().materialize()
    assert turned.on.is_enabled()


# --- What keeps an adapter and what drops it ------------------------------------------------------


KEEPS = {
    "clone": lambda m: m.clone(),
    "map": lambda m: m.map(ModuleMapper()),
    "set_require_grad": lambda m: m.set_require_grad(False),
    "no_grad": lambda m: m.no_grad(),
    "freeze": lambda m: m.freeze(),
    "unfreeze": lambda m: m.unfreeze(),
    "to_device": lambda m: m.to_device(SIM1),
    "fork": lambda m: m.fork(SIM1),
    "valid": lambda m: m.valid(),
    "train": lambda m: m.train(),
    "load_record": lambda m: m.load_record(m.clone().into_record()),
    "load_mapper": lambda m: Linear(weight=m.weight.load_mapper(lambda t: t), bias=m.bias),
    "save_mapper": lambda m: Linear(weight=m.weight.save_mapper(lambda t: t), bias=m.bias),
    "with_id": lambda m: Linear(weight=m.weight.with_id(ParamId.from_int(7)), bias=m.bias),
}
DROPS = {
    "map": lambda p: p.map(lambda t: t),
    "consume": lambda p: Param.from_mapped_value(*p.consume()),
    "into_value": lambda p: Param.from_tensor(p.into_value()),
    "init_mapper": lambda p: p.init_mapper(lambda t: t),
    "set_require_grad": lambda p: p.set_require_grad(True),
    "transform_for_load": lambda p: p.transform_for_load(p.base(), p.id),
}


@pytest.mark.clause("REP-19", "PAR-36")
@pytest.mark.parametrize("operation", KEEPS)
def test_an_operation_of_the_module_keeps_what_is_attached(operation: str) -> None:
    kept = KEEPS[operation](added())

    assert numbers(extra(kept).amount.val()) == [[10.0]]
    assert numbers(kept.weight.val())[0] == [11.0, 12.0, 13.0]


@pytest.mark.clause("REP-19", "PAR-36")
@pytest.mark.parametrize("operation", DROPS)
def test_an_operation_of_the_initialised_parameter_drops_it(operation: str) -> None:
    dropped = DROPS[operation](added().weight)

    assert dropped.reparameterization() is None
    assert numbers(dropped.val())[0] == [1.0, 2.0, 3.0]


@pytest.mark.clause("PAR-36", "PAR-64")
def test_what_is_saved_alone_has_the_adapter_folded_in_and_a_module_saves_its_base() -> None:
    saved = added().weight.transform_for_save()

    assert saved.reparameterization() is None
    record = {path: data for path, _, data in added().into_record().entries}
    assert record["weight"].to_numpy().tolist()[0] == [1.0, 2.0, 3.0]


@pytest.mark.clause("PAR-33")
def test_init_mapper_folds_an_adapter_in_only_while_the_parameter_is_lazy() -> None:
    def attached(weight: Param[Tensor]) -> Param[Tensor]:
        one = Added(amount=param(50, [[2.0]]), on=Param.from_bool(True), rate=0.0)
        return weight.with_reparameterization(one).init_mapper(lambda t: t * 2.0)

    pending, there = attached(lazy(1, [[1.0]])), attached(param(1, [[1.0]]))

    assert pending.reparameterization() is None
    assert numbers(pending.val()) == [[6.0]]
    assert there.reparameterization() is None
    assert numbers(there.val()) == [[2.0]]


@pytest.mark.clause("REP-20", "LRA-8")
def test_train_restores_what_each_parameter_remembers() -> None:
    module = linear().apply_lora(Lora(1, 1.0)).train()
    adapter = module.weight.reparameterization(LoraAdapter)
    assert adapter is not None

    assert not module.weight.is_require_grad()
    assert adapter.a.is_require_grad()
    assert adapter.b.is_require_grad()
    assert module.weight.val().is_tracked


@pytest.mark.clause("REP-21")
def test_the_text_of_a_parameter_does_not_mention_what_is_attached() -> None:
    assert repr(added().weight) == repr(linear().weight)
    assert str(added()).replace("params: 10", "params: 9") == str(linear())


@pytest.mark.clause("PAR-58")
def test_a_fork_of_a_quantised_base_is_dense_and_other_operations_keep_it_packed() -> None:
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    module = linear(device=AUTODIFF).quantize_weights(Quantizer(Calibration.MIN_MAX, scheme))
    kept = (
        module.to_device(SIM1),
        module.valid(),
        module.train(),
        module.freeze(),
        module.clone(),
        module.materialize(),
    )

    assert all(isinstance(m.weight.val(), QuantizedTensor) for m in kept)
    forked = module.fork(AUTODIFF).weight.val()
    assert not isinstance(forked, QuantizedTensor)
    assert np.array_equal(forked.to_numpy(), module.weight.val().dequantize().to_numpy())
