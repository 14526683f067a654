"""Models split across devices: what real Burn answered, and the rules one by one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import refimpl as rf
from refimpl.errors import ArgumentTypeError, EmptyGroupWarning, PlacementError
from tests.parallel.distributed_stack import (
    C0,
    C1,
    C2,
    FLEX,
    RECORDED,
    Lin,
    Rev,
    Stack,
    data,
    device,
    dump,
    lin,
    model,
    ours,
    placed,
    stack,
    taken_events,
    written,
)

ONE = RECORDED["one_executing"]
TWO = RECORDED["two_executing"]
EVEN = rf.LayerPlacement.even([FLEX, C0, C1], 5)
ENDS = placed((C2, 0), (FLEX, 2), (C0, 2), (C1, 0))
PLAIN = rf.LayerPlacement.even([FLEX], 3)
TAGGED = rf.LayerPlacement.even([FLEX.autodiff()], 3)
Distributed = rf.DistributedLayeredModel[Any, Any, Any]


def with_(placement: rf.LayerPlacement, **changes: Any) -> rf.LayerPlacement:
    hidden = list(placement.hidden)
    for index, where in changes.pop("at", {}).items():
        hidden[index] = where
    fields = {"input": placement.input, "hidden": hidden, "output": placement.output, **changes}
    return rf.LayerPlacement(**fields)


def panic(make: Callable[[], object]) -> str | None:
    try:
        make()
    except PlacementError as error:
        return str(error)
    return None


NEW = {
    "new_too_few": lambda: (rf.LayerPlacement.even([FLEX], 3), rf.LayerPlacement.even([FLEX], 2)),
    "new_too_many": lambda: (rf.LayerPlacement.even([FLEX], 3), rf.LayerPlacement.even([FLEX], 4)),
    "new_input_off": lambda: (EVEN, with_(EVEN, input=C2)),
    "new_hidden0_off": lambda: (EVEN, with_(EVEN, at={0: C2})),
    "new_hidden3_off": lambda: (EVEN, with_(EVEN, at={3: C2})),
    "new_hidden_flex_expected": lambda: (EVEN, with_(EVEN, at={3: FLEX})),
    "new_hidden_autodiff_expected": lambda: (EVEN, with_(EVEN, at={3: FLEX.autodiff()})),
    "new_output_off": lambda: (EVEN, with_(EVEN, output=C2)),
    "new_all_off_order": lambda: (EVEN, with_(EVEN, output=C2, at={1: C2})),
    "new_count_beats_device": lambda: (EVEN, with_(EVEN, input=C2, hidden=EVEN.hidden[:-1])),
    "new_autodiff_placement_for_plain_layers_ok": lambda: (EVEN, with_(EVEN, input=FLEX.autodiff())),
    "new_ok": lambda: (EVEN, EVEN),
}


@pytest.mark.clause("DLM-2", "DLM-3")
@pytest.mark.parametrize("name", NEW)
def test_new_checks_what_burn_checks_in_its_order_and_with_its_texts(name: str) -> None:
    built, given = NEW[name]()
    taken_events()

    assert panic(lambda: rf.DistributedLayeredModel.new(stack(built, lazy=True), given)) == ours(ONE[name])
    assert taken_events() == []


def one_executing(op: str) -> Distributed:
    """The model that the recording program made under this name."""
    head, *steps = op.split(".")
    made = {
        "new": lambda: model(ENDS, lazy=True),
        "clone": lambda: model(ENDS, lazy=True).clone(),
        "fresh": lambda: model(ENDS, lazy=True),
        "flex": lambda: model(PLAIN),
        "ad": lambda: model(TAGGED),
        "lazy_flex": lambda: model(PLAIN, lazy=True),
        "lazy_ad": lambda: model(TAGGED, lazy=True),
    }[head]()
    return walked(made, ".".join(steps))


def walked(made: Distributed, steps: str) -> Distributed:
    """`made` after `to_device(x).valid.train` and the like."""
    for step in filter(None, steps.replace(".autodiff", "+ad").replace(".ad)", "+ad)").split(".")):
        call, _, argument = step.rstrip(")").partition("(")
        if call == "new":
            continue
        made = getattr(made, call)(*([device(argument)] if argument else []))
    return made


@pytest.mark.clause("DLM-7", "DLM-8", "DLM-9", "DLM-11", "DLM-12")
@pytest.mark.parametrize(
    "recorded",
    [op for op in ONE["ops"] if "lora" not in op["op"] and "panic" not in op],
    ids=lambda op: op["op"],
)
def test_every_operation_leaves_what_burns_leaves(recorded: dict[str, Any]) -> None:
    taken_events()

    made = one_executing(recorded["op"])

    assert taken_events() == ours(recorded["events"])
    assert written(made.placement()) == recorded["placement"]
    assert (made.placement() == ENDS) is recorded["placement_eq_original"]
    assert [str(where) for where in made.devices()] == [str(device(n)) for n in recorded["module_devices"]]
    assert made.num_params() == recorded["num_params"]
    assert dump(made) == ours(recorded["dump"])


PLACEMENTS = {
    "split": placed((FLEX, 2), (C0, 2)),
    "split_ad": placed((FLEX.autodiff(), 2), (C0.autodiff(), 2)),
    "back": placed((FLEX, 1), (C0, 2), (FLEX, 1)),
    "ends": placed((C0, 0), (FLEX, 4), (C0, 0)),
    "flex": rf.LayerPlacement.even([FLEX], 4),
}


def two_executing(op: str) -> Distributed:
    kind, placement, steps = op.split(".", 2)
    made = model(PLACEMENTS[placement], lazy=kind == "lazy")
    match steps:
        case "load_record(flex)":
            return made.load_record(stack(PLACEMENTS["flex"], lazy=False).no_grad().into_record())
        case "load_record(own bytes)":
            own = model(PLACEMENTS[placement], lazy=kind == "lazy").into_record()
            return made.load_record(rf.ModuleRecord.from_bytes(own.into_bytes()))
        case "clone_kept.to_device(wgpu)":
            moved = made.clone().to_device(C0)
            devices = [
                str(where).replace("sim:0", "flex").replace("sim:1", "wgpu") for where in made.devices()
            ]
            KEPT.append({"kept_devices": [name.replace("autodiff", "ad") for name in devices]})
            return moved
    return walked(made, steps)


KEPT: list[dict[str, Any]] = []


@pytest.mark.clause("DLM-7", "DLM-8", "DLM-9", "DLM-11", "PAR-52")
@pytest.mark.parametrize(
    "recorded", [op for op in TWO["ops"] if "lora" not in op["op"]], ids=lambda op: op["op"]
)
def test_every_operation_across_two_devices_leaves_what_burns_leaves(recorded: dict[str, Any]) -> None:
    taken_events()
    KEPT.clear()

    made = two_executing(recorded["op"])

    assert taken_events() + KEPT == ours(recorded["events"])
    placement = recorded["placement"]
    assert [str(where) for where in made.placement().hidden] == [str(device(n)) for n in placement["hidden"]]
    assert str(made.placement().input) == str(device(placement["input"]))
    assert str(made.placement().output) == str(device(placement["output"]))
    assert [str(where) for where in made.devices()] == [str(device(n)) for n in recorded["module_devices"]]
    assert made.num_params() == recorded["num_params"]
    assert dump(made) == ours(recorded["dump"])


@pytest.mark.clause("DLM-4", "DLM-5")
@pytest.mark.parametrize("recorded", ONE["forward"], ids=lambda case: f"{case['model']} {case.get('input')}")
def test_the_forward_on_one_device_is_burns(recorded: dict[str, Any]) -> None:
    placement = TAGGED if recorded["model"] == "ad" else PLAIN
    made = model(placement, lazy=recorded["model"] == "lazy flex")
    where = FLEX.autodiff() if recorded.get("input") == "autodiff" else FLEX
    taken_events()

    result = made.forward(rf.Tensor.from_data(np.eye(2, dtype=np.float32), where))

    assert taken_events() == ours(recorded["events"])
    assert str(result.device) == ours(recorded["result"]["device"]["debug"])
    assert data(result) == recorded["result"]["value"]


@pytest.mark.clause("DLM-4", "DLM-5")
@pytest.mark.parametrize(
    "recorded", TWO["forward"], ids=lambda case: f"{case['placement']} {case['lazy']} {case['input']}"
)
def test_the_forward_across_two_devices_is_burns(recorded: dict[str, Any]) -> None:
    made = model(PLACEMENTS[recorded["placement"]], recorded["lazy"])
    values = np.array([[1, 0], [0.5, 1]], np.float32)
    taken_events()

    result = made.forward(rf.Tensor.from_data(values, device(recorded["input"])))

    assert taken_events() == ours(recorded["events"])
    assert str(result.device) == str(device(recorded["result"]["output_device"]))
    assert data(result) == recorded["result"]["value"]


@pytest.mark.clause("DLM-2", "DLM-10")
def test_the_refusals_across_two_devices_are_burns() -> None:
    flex, split, ends = PLACEMENTS["flex"], PLACEMENTS["split"], PLACEMENTS["ends"]
    asked = {
        "hidden": lambda: rf.DistributedLayeredModel.new(stack(flex, lazy=False), split),
        "input": lambda: rf.DistributedLayeredModel.new(stack(flex, lazy=False), ends),
        "output": lambda: rf.DistributedLayeredModel.new(stack(flex, lazy=False), with_(flex, output=C0)),
        "into_stages_reversed": lambda: rf.DistributedLayeredModel.new(
            Rev(stack=stack(split, lazy=False)), split
        ).into_stages(),
    }

    assert {name: panic(make) for name, make in asked.items()} == ours(TWO["new_panics"])


@pytest.mark.clause("DLM-12")
def test_the_debug_text_is_burns_with_our_devices() -> None:
    small = placed((FLEX, 1), (C0, 1))

    assert repr(model(small, lazy=True)) == ours(ONE["debug"])
    assert repr(small) == ours(ONE["placement_debug"])
    assert f"[{', '.join(map(repr, small.stages()))}]" == ours(ONE["stage_debug"])


@pytest.mark.clause("DLM-7")
def test_records_have_the_names_of_the_model_and_are_interchangeable_with_it() -> None:
    made = model(PLAIN)
    record = rf.ModuleRecord.from_bytes(made.into_record().into_bytes())

    assert [entry.path for entry in record.entries] == ONE["record_names"]
    assert dump(model(TAGGED).load_record(made.into_record())) == dump(
        rf.DistributedLayeredModel.new(stack(TAGGED, lazy=False).load_record(made.into_record()), TAGGED)
    )
    assert written(model(TAGGED).load_record(record).placement()) == ONE["loaded_placement_ad"]


@pytest.mark.clause("DLM-6")
def test_the_parts_are_those_that_were_given() -> None:
    inner = stack(PLAIN, lazy=False)
    made = rf.DistributedLayeredModel.new(inner, PLAIN)

    assert made.model() is inner
    assert made.into_inner() is inner
    assert made.placement() is PLAIN
    assert not hasattr(made, "hidden")


@pytest.mark.clause("DLM-3")
def test_a_layer_without_tensors_is_on_every_device() -> None:
    class Nothing(rf.DistributedLayer[rf.Tensor, rf.Tensor]):
        def forward(self, input: rf.Tensor) -> rf.Tensor:
            return input

    class Model(rf.LayerParallelism[rf.Tensor, rf.Tensor, rf.Tensor]):
        layer: Nothing

        def layer_input(self) -> Nothing:
            return self.layer

        def layers_hidden(self) -> Iterable[Nothing]:
            return ()

        def layer_output(self) -> Nothing:
            return self.layer

        def into_layers(self) -> rf.LayerSequence[rf.Tensor, rf.Tensor, rf.Tensor]:
            return rf.LayerSequence(self.layer, (), self.layer)

    made = rf.DistributedLayeredModel.new(Model(layer=Nothing()), placed((C0, 0), (C1, 0)))

    assert str(made.forward(rf.Tensor.zeros((1,), FLEX)).device) == "sim:2"


@pytest.mark.clause("DLM-4")
def test_the_forward_stops_at_the_shorter_of_layers_and_placement() -> None:
    class Shrinking(Stack):
        def layers_hidden(self) -> Iterable[Lin]:
            calls.append(1)
            return self.hidden[: 2 if len(calls) == 1 else 1]

    calls: list[int] = []
    whole = stack(rf.LayerPlacement.even([FLEX], 2), lazy=False)
    shrinking = Shrinking(input=whole.input, hidden=whole.hidden, output=whole.output)
    made = rf.DistributedLayeredModel.new(shrinking, rf.LayerPlacement.even([FLEX], 2))
    taken_events()

    made.forward(rf.Tensor.from_data(np.eye(2, dtype=np.float32), FLEX))

    assert [event["forward"] for event in taken_events()] == ["1", "10", "2"]


@pytest.mark.clause("DLM-1")
def test_a_tuple_of_tensors_is_a_signal_and_moves_whole() -> None:
    class Pair(rf.DistributedLayer[Any, Any]):
        def forward(self, input: Any) -> Any:
            seen.append([str(tensor.device) for tensor in input])
            return input

    class Model(rf.LayerParallelism[Any, Any, Any]):
        layers: tuple[Pair, ...]

        def layer_input(self) -> Pair:
            return self.layers[0]

        def layers_hidden(self) -> Iterable[Pair]:
            return self.layers[1:-1]

        def layer_output(self) -> Pair:
            return self.layers[-1]

        def into_layers(self) -> rf.LayerSequence[Any, Any, Any]:
            return rf.LayerSequence(self.layers[0], self.layers[1:-1], self.layers[-1])

    seen: list[list[str]] = []
    made = rf.DistributedLayeredModel.new(Model(layers=(Pair(),) * 3), placed((FLEX, 0), (C0, 1)))

    made.forward((rf.Tensor.zeros((1,), C2), rf.IntTensor.from_data([1], FLEX)))

    assert seen == [["sim:0", "sim:0"], ["sim:1", "sim:1"], ["sim:1", "sim:1"]]
    with pytest.raises(ArgumentTypeError):
        made.forward([rf.Tensor.zeros((1,), C2)])


@pytest.mark.clause("DLM-2")
def test_what_is_no_model_layer_or_placement_is_refused() -> None:
    class Wrong(Stack):
        def layer_input(self) -> Any:
            return self.input.weight

    whole = stack(PLAIN, lazy=False)
    wrong = Wrong(input=whole.input, hidden=whole.hidden, output=whole.output)
    makers: tuple[Any, ...] = (
        lambda: rf.DistributedLayeredModel(),
        lambda: rf.DistributedLayeredModel.new(whole.input, PLAIN),
        lambda: rf.DistributedLayeredModel.new(whole, None),
        lambda: rf.DistributedLayeredModel.new(wrong, PLAIN),
    )
    for make in makers:
        with pytest.raises(ArgumentTypeError):
            make()


@pytest.mark.clause("DLM-9")
def test_what_changes_nothing_gives_the_same_object() -> None:
    made = model(PLAIN)

    assert made.map(rf.ModuleMapper()) is made
    assert made.materialize() is made


@pytest.mark.clause("DLM-12")
def test_a_clone_shares_what_is_not_initialised() -> None:
    made = model(PLAIN, lazy=True)
    for again in (made.clone(), copy.copy(made), copy.deepcopy(made)):
        assert again.placement() == made.placement()
        taken_events()
        again.model().layer_input().weight.val()  # type: ignore[attr-defined]
        made.model().layer_input().weight.val()  # type: ignore[attr-defined]
        assert len(taken_events()) <= 1


def test_a_pickle_keeps_values_ids_and_placement() -> None:
    made = model(PLACEMENTS["split"])

    back = pickle.loads(pickle.dumps(made))

    assert back.placement() == made.placement()
    assert dump(back) == dump(made)


@pytest.mark.clause("DLM-7")
def test_every_operation_of_a_module_works_on_it() -> None:
    made = model(PLAIN)

    frozen = made.freeze_group(rf.ParamGroup.from_predicate("hidden.1"))

    assert [entry["enabled"] for entry in dump(frozen) if entry["kind"] == "flag"] == [
        True,
        True,
        False,
        True,
        True,
    ]
    with pytest.warns(EmptyGroupWarning):
        made.freeze_group(rf.ParamGroup.from_path("nothing"))


@pytest.mark.clause("DLM-7")
@pytest.mark.report("BL-24")
def test_a_parameter_at_both_ends_of_the_model_is_one_and_saved_under_both_names() -> None:
    placement = placed((FLEX, 0), (C0, 1), (FLEX, 0))
    table = lin(1, FLEX, lazy=False)
    tied = Stack(input=table, hidden=(lin(10, C0, lazy=False),), output=table)
    made = rf.DistributedLayeredModel.new(tied, placement)
    record = made.into_record()

    result = made.forward(rf.Tensor.from_data(np.eye(2, dtype=np.float32), C1))

    assert result.device == FLEX
    assert [(entry.path, int(entry.param_id)) for entry in record.entries] == [
        ("input.weight", 1),
        ("hidden.0.weight", 10),
        ("output.weight", 1),
    ]
