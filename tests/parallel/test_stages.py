"""A model taken apart into its stages."""

from __future__ import annotations

from typing import Any

import pytest

import refimpl as rf
from refimpl.errors import PlacementError
from tests.parallel.distributed_stack import (
    C0,
    C1,
    C2,
    FLEX,
    RECORDED,
    Rev,
    Stack,
    model,
    ours,
    placed,
    stack,
)

ONE = RECORDED["one_executing"]
ENDS = placed((C2, 0), (FLEX, 2), (C0, 2), (C1, 0))
EVEN = rf.LayerPlacement.even([FLEX, C0, C1], 5)


def label(layer: Any) -> str:
    return str(int(layer.weight.id))


def cut(staged: rf.StagedLayers[Any, Any, Any]) -> list[Any]:
    return [[str(stage.device), [label(layer) for layer in stage.layers]] for stage in staged.stages]


def reversed_panic(placement: rf.LayerPlacement) -> str | None:
    try:
        rf.DistributedLayeredModel.new(Rev(stack=stack(placement, lazy=True)), placement).into_stages()
    except PlacementError as error:
        return str(error)
    return None


@pytest.mark.clause("DLM-10")
def test_the_stages_are_burns() -> None:
    staged = model(ENDS, lazy=True).into_stages()
    recorded = ONE["into_stages"]

    assert label(staged.input) == recorded["input"]
    assert label(staged.output) == recorded["output"]
    assert cut(staged) == [["sim:0", ["10", "11"]], ["sim:1", ["12", "13"]]]
    assert repr(staged) == ours(ONE["into_stages_debug"])


@pytest.mark.clause("DLM-10")
def test_a_device_met_again_is_a_stage_of_its_own() -> None:
    back = placed((FLEX, 1), (C0, 2), (FLEX, 1))

    assert cut(model(back).into_stages()) == [["sim:0", ["10"]], ["sim:1", ["11", "12"]], ["sim:0", ["13"]]]


@pytest.mark.clause("DLM-10")
@pytest.mark.parametrize(
    ("name", "placement"),
    [
        ("into_stages_reversed", EVEN),
        ("into_stages_reversed_one_device_ok", rf.LayerPlacement.even([FLEX], 3)),
        ("into_stages_reversed_palindrome_ok", placed((FLEX, 1), (C0, 2), (FLEX, 1))),
        ("into_stages_reversed_stage0", placed((C1, 3), (C0, 1))),
    ],
)
def test_another_order_is_refused_where_burn_refuses_it(name: str, placement: rf.LayerPlacement) -> None:
    assert reversed_panic(placement) == ours(ONE[name])


@pytest.mark.clause("DLM-10")
@pytest.mark.parametrize(("count", "counts"), [(1, [1, 0]), (5, [2, 1])])
def test_too_few_layers_leave_stages_short_and_more_are_dropped(count: int, counts: list[int]) -> None:
    class Other(Stack):
        def into_layers(self) -> rf.LayerSequence[rf.Tensor, rf.Tensor, rf.Tensor]:
            sequence = super().into_layers()
            hidden = (sequence.hidden * 2)[:count] if count < 3 else (*sequence.hidden, *sequence.hidden[:2])
            return rf.LayerSequence(sequence.input, hidden, sequence.output)

    placement = placed((FLEX, 2), (C0, 1))
    whole = stack(placement, lazy=False)
    other = Other(input=whole.input, hidden=whole.hidden, output=whole.output)

    staged = rf.DistributedLayeredModel.new(other, placement).into_stages()

    assert [len(stage.layers) for stage in staged.stages] == counts


@pytest.mark.clause("DLM-10")
def test_a_held_stage_keeps_the_tag_of_its_placement() -> None:
    tagged = placed((FLEX.autodiff(), 1))
    staged = rf.DistributedLayeredModel.new(stack(placed((FLEX, 1)), lazy=False), tagged).into_stages()

    assert str(staged.stages[0].device) == "sim:0+autodiff"


@pytest.mark.clause("DLM-1")
def test_a_layer_sequence_shows_its_layers() -> None:
    sequence = stack(placed((FLEX, 1)), lazy=True).into_layers()

    assert isinstance(sequence.hidden, tuple)
    text = "Lin { weight: Param: 1800000000000 - ParamMapper { load: false, save: false }, "
    assert repr(sequence).startswith("LayerSequence { input: Lin { weight: ")
    assert f"hidden: [{text}" in repr(sequence)
