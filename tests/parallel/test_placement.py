"""Where layers run: every answer recorded from real Burn, and the rules one by one."""

from __future__ import annotations

from typing import Any

import pytest

import refimpl as rf
from refimpl.errors import ArgumentTypeError, InvalidArgumentError, PlacementError, ResourceError
from tests.golden.recorded import load

SIM = [rf.Device("sim", index) for index in range(4)]
CASES = load("placement.json.gz")["cases"]


def by_memory(capacities: list[int], input: int, hidden: list[int], output: Any) -> rf.LayerPlacement | None:
    devices = [
        rf.DeviceMemory(rf.Device("sim", index), capacity) for index, capacity in enumerate(capacities)
    ]
    return rf.LayerPlacement.by_memory(devices, rf.LayerMemory(input, tuple(hidden), output))


def indices(placement: rf.LayerPlacement | None) -> tuple[int, list[int], int]:
    assert placement is not None
    return placement.input.index, [device.index for device in placement.hidden], placement.output.index


def as_recorded(placement: rf.LayerPlacement | None) -> Any:
    if placement is None:
        return None
    first, hidden, last = indices(placement)
    return {
        "input": first,
        "hidden": hidden,
        "output": last,
        "devices": [device.index for device in placement.devices()],
        "stages": [[stage.device.index, stage.num_hidden_layers] for stage in placement.stages()],
    }


def answer(case: dict[str, Any]) -> Any:
    try:
        if case["kind"] == "new":
            stages = [rf.LayerStage(rf.Device("sim", index), count) for index, count in case["stages_in"]]
            return as_recorded(rf.LayerPlacement.new(stages))
        devices = [rf.Device("sim", index) for index in case["devices_in"]]
        if case["kind"] == "even":
            return as_recorded(rf.LayerPlacement.even(devices, case["n"]))
        pairs = zip(devices, case["capacities"], strict=True)
        output = getattr(rf, case["output_kind"])(case["output"])
        memory = rf.LayerMemory(case["input"], tuple(case["hidden"]), output)
        return as_recorded(rf.LayerPlacement.by_memory([rf.DeviceMemory(*pair) for pair in pairs], memory))
    except PlacementError as error:
        return {"panic": str(error)}


@pytest.mark.clause("PLC-2", "PLC-3", "PLC-4", "PLC-6", "PLC-7", "PLC-8", "PLC-9", "PLC-13", "PLC-14")
@pytest.mark.parametrize("kind", ["new", "even", "by_memory"])
def test_every_answer_of_burn_without_an_overflow_is_ours(kind: str) -> None:
    cases = [case for case in CASES if case["kind"] == kind and not case.get("sum_overflows_u64")]

    wrong = [case for case in cases if answer(case) != case["result"]]

    assert cases
    assert wrong == []


@pytest.mark.clause("PLC-1")
def test_placements_are_equal_when_their_hardware_is() -> None:
    plain = rf.LayerPlacement(SIM[0], (SIM[1],), SIM[0])
    tagged = rf.LayerPlacement(SIM[0].autodiff(), (SIM[1],), SIM[0])

    assert plain == tagged
    assert hash(plain) == hash(tagged)
    assert plain != rf.LayerPlacement(SIM[0], (SIM[2],), SIM[0])


@pytest.mark.clause("PLC-2")
def test_a_stage_of_no_layers_gives_an_end_a_device_of_its_own() -> None:
    stages = [rf.LayerStage(SIM[0], 0), rf.LayerStage(SIM[1], 2), rf.LayerStage(SIM[2], 0)]

    assert indices(rf.LayerPlacement.new(stages)) == (0, [1, 1], 2)


@pytest.mark.clause("PLC-2", "PLC-3")
@pytest.mark.report("BL-08")
def test_no_stage_and_no_device_are_refused() -> None:
    with pytest.raises(PlacementError, match=r"^a placement needs at least one stage"):
        rf.LayerPlacement.new([])
    with pytest.raises(PlacementError, match=r"^a placement needs at least one device"):
        rf.LayerPlacement.even([], 3)


@pytest.mark.clause("PLC-3")
@pytest.mark.report("BL-08")
@pytest.mark.parametrize(
    ("devices", "layers", "runs"),
    [(4, 30, [8, 8, 7, 7]), (4, 7, [2, 2, 2, 1]), (2, 5, [3, 2]), (1, 7, [7]), (4, 3, [1, 1, 1])],
)
def test_even_gives_the_first_devices_one_layer_more(devices: int, layers: int, runs: list[int]) -> None:
    placement = rf.LayerPlacement.even(SIM[:devices], layers)

    assert [stage.num_hidden_layers for stage in placement.stages()] == runs
    assert placement.output == SIM[len(runs) - 1]


@pytest.mark.clause("PLC-3")
@pytest.mark.report("BL-08")
def test_even_places_no_layers_on_the_first_device() -> None:
    assert indices(rf.LayerPlacement.even(SIM[:3], 0)) == (0, [], 0)


@pytest.mark.clause("PLC-3")
@pytest.mark.report("BL-08")
def test_even_places_every_layer_once_in_order_and_evenly() -> None:
    for devices in range(1, 7):
        for layers in range(13):
            placement = rf.LayerPlacement.even([rf.Device("sim", i) for i in range(devices)], layers)
            hidden = [device.index for device in placement.hidden]
            counts = [hidden.count(index) for index in range(min(devices, max(layers, 1)))]
            assert len(hidden) == layers
            assert hidden == sorted(hidden)
            assert counts == sorted(counts, reverse=True)
            assert counts[0] - counts[-1] <= 1


@pytest.mark.clause("PLC-4")
def test_of_equal_devices_the_first_seen_stays() -> None:
    placement = rf.LayerPlacement(SIM[0].autodiff(), (SIM[0], SIM[1]), SIM[1].autodiff())

    assert list(map(str, placement.devices())) == ["sim:0+autodiff", "sim:1"]


@pytest.mark.clause("PLC-4")
def test_stages_are_runs_and_forget_what_holds_no_hidden_layer() -> None:
    stages = [rf.LayerStage(SIM[0], 0), rf.LayerStage(SIM[1].autodiff(), 1), rf.LayerStage(SIM[1], 2)]

    runs = rf.LayerPlacement.new(stages).stages()

    assert [(str(stage.device), stage.num_hidden_layers) for stage in runs] == [("sim:1+autodiff", 3)]


@pytest.mark.clause("PLC-6")
@pytest.mark.report("BL-09")
@pytest.mark.parametrize(
    ("capacities", "input", "hidden", "output", "placed"),
    [
        ([30, 30], 10, [10] * 4, 10, (0, [0, 0, 1, 1], 1)),
        ([30, 29], 10, [10] * 4, 10, None),
        ([10, 10], 0, [8, 8, 4], 0, None),
        ([0, 100], 10, [10] * 3, 10, (1, [1, 1, 1], 1)),
        ([], 1, [], 1, None),
        ([10, 100], 4, [4, 4, 60], 4, (0, [1, 1, 1], 1)),
        ([10, 10], 0, [0, 0], 0, (0, [0, 0], 0)),
        ([100, 200], 0, [10] * 6, 0, (0, [0, 0, 1, 1, 1, 1], 1)),
        ([40, 0, 40], 10, [10] * 4, 10, (0, [0, 0, 2, 2], 2)),
        ([25, 60, 25], 5, [10, 50, 10], 5, (0, [0, 1, 2], 2)),
    ],
)
def test_by_memory_balances_skips_what_is_full_and_says_none(
    capacities: list[int], input: int, hidden: list[int], output: int, placed: Any
) -> None:
    found = by_memory(capacities, input, hidden, rf.AfterHidden(output))

    assert (None if found is None else indices(found)) == placed


@pytest.mark.clause("PLC-6")
@pytest.mark.report("BL-24")
@pytest.mark.parametrize(
    ("capacities", "layers", "placed"),
    [([40, 40], 4, (0, [0, 1, 1, 1], 0)), ([15, 100], 2, (1, [1, 1], 1)), ([20, 100], 2, (1, [1, 1], 1))],
)
def test_an_output_tied_to_the_input_counts_and_runs_there(
    capacities: list[int], layers: int, placed: Any
) -> None:
    assert indices(by_memory(capacities, 10, [10] * layers, rf.WithInput(10))) == placed


@pytest.mark.clause("PLC-6")
@pytest.mark.report("BL-24")
def test_a_tied_model_without_hidden_layers_is_on_one_device() -> None:
    assert indices(by_memory([10, 30], 10, [], rf.WithInput(10))) == (1, [], 1)


@pytest.mark.clause("PLC-10")
def test_a_last_layer_of_no_bytes_can_be_refused_by_rounding() -> None:
    sizes = ([35613994117], 34091058880, [])

    assert by_memory(*sizes, rf.AfterHidden(0)) is None
    assert by_memory(*sizes, rf.AfterHidden(1)) is not None
    assert by_memory(*sizes, rf.WithInput(0)) is not None


@pytest.mark.clause("PLC-11")
def test_an_output_of_no_bytes_can_have_a_device_to_itself() -> None:
    assert indices(by_memory([1, 1], 0, [1], rf.AfterHidden(0))) == (0, [0], 1)


@pytest.mark.clause("PLC-13")
@pytest.mark.report("BL-09")
def test_capacities_above_2_to_the_53_are_rounded() -> None:
    assert by_memory([2**53 + 1], 2**53 + 1, [], rf.WithInput(0)) is None
    assert by_memory([2**53 + 3], 2**53 + 4, [], rf.WithInput(0)) is not None
    assert by_memory([2**64 - 1], 2**64 - 1, [], rf.WithInput(0)) is not None


@pytest.mark.clause("PLC-5")
@pytest.mark.report("BL-09")
@pytest.mark.parametrize("number", [-1, 2**64, 1.5, True, "3", None])
def test_a_number_that_is_no_u64_is_refused(number: Any) -> None:
    makers = (
        lambda: rf.LayerStage(SIM[0], number),
        lambda: rf.DeviceMemory(SIM[0], number),
        lambda: rf.AfterHidden(number),
        lambda: rf.WithInput(number),
        lambda: rf.LayerMemory(number, (), rf.AfterHidden(0)),
        lambda: rf.LayerMemory(0, (number,), rf.AfterHidden(0)),
        lambda: rf.LayerPlacement.even(SIM, number),
    )
    for make in makers:
        with pytest.raises(InvalidArgumentError):
            make()


@pytest.mark.clause("PLC-5")
def test_an_argument_of_another_type_is_refused() -> None:
    memory = rf.LayerMemory(0, (), rf.AfterHidden(0))
    makers: tuple[Any, ...] = (
        lambda: rf.LayerStage("sim:0", 1),
        lambda: rf.DeviceMemory(None, 1),
        lambda: rf.LayerMemory(0, 5, rf.AfterHidden(0)),
        lambda: rf.LayerMemory(0, (), 5),
        lambda: rf.LayerPlacement(SIM[0], ("sim:0",), SIM[0]),
        lambda: rf.LayerPlacement.new([(SIM[0], 1)]),
        lambda: rf.LayerPlacement.even(None, 1),
        lambda: rf.LayerPlacement.by_memory([SIM[0]], memory),
        lambda: rf.LayerPlacement.by_memory([], None),
    )
    for make in makers:
        with pytest.raises(ArgumentTypeError):
            make()


def test_more_layers_than_memory_holds_are_refused() -> None:
    with pytest.raises(ResourceError, match="18446744073709551615 hidden layers"):
        rf.LayerPlacement.new([rf.LayerStage(SIM[0], 2**64 - 1)])


@pytest.mark.clause("PLC-5")
def test_the_texts_are_burns_debug_with_the_devices_own_text() -> None:
    stage = rf.LayerStage(SIM[0].autodiff(), 2)
    memory = rf.LayerMemory(1, (2, 3), rf.WithInput(4))

    assert repr(stage) == "LayerStage { device: sim:0+autodiff, num_hidden_layers: 2 }"
    assert repr(memory) == "LayerMemory { input: 1, hidden: [2, 3], output: WithInput(4) }"
    assert repr(rf.AfterHidden(5)) == "AfterHidden(5)"
    assert repr(rf.DeviceMemory(SIM[1], 7)) == "DeviceMemory { device: sim:1, capacity: 7 }"
    assert (
        repr(rf.LayerPlacement(SIM[0], (SIM[1], SIM[1]), SIM[2]))
        == "LayerPlacement { input: sim:0, hidden: [sim:1, sim:1], output: sim:2 }"
    )
