from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

import refimpl.testing
from refimpl import LayerPlacement, ParamGroup, ParamId
from refimpl.errors import InvalidArgumentError
from refimpl.module.trait import ModuleTrait
from refimpl.record.record import ModuleRecord
from refimpl.testing import groups, modules, placements, records


@given(modules())
def test_modules_are_modules(module: ModuleTrait) -> None:
    assert module.num_params() >= 0


@given(records())
def test_records_read_back_what_they_wrote(record: ModuleRecord) -> None:
    assert len(ModuleRecord.from_bytes(record.into_bytes())) == len(record)


@given(groups())
def test_a_group_less_itself_matches_nothing(group: ParamGroup) -> None:
    assert not group.exclude(group).matches(ParamId.from_int(1), "w")


@given(placements())
def test_placements_put_every_device_in_a_stage(placement: LayerPlacement) -> None:
    assert len(placement.devices()) >= 1


@pytest.mark.parametrize(
    ("strategy", "argument", "given"),
    [
        (modules, "max_nodes", -1),
        (records, "max_nodes", 0),
        (placements, "max_devices", 0),
        (modules, "max_nodes", "3"),
        (placements, "max_layers", 1.5),
        (placements, "max_layers", -1),
    ],
)
def test_a_bound_that_leaves_nothing_is_refused_by_its_name(
    strategy: Callable[..., object], argument: str, given: object
) -> None:
    words = rf"{argument} is an integer of at least \d, got {given!r}"
    with pytest.raises(InvalidArgumentError, match=words):
        strategy(**{argument: given})


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = refimpl.testing.nothing
