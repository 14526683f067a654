from __future__ import annotations

from typing import Any

import pytest

from refimpl.errors import ArgumentTypeError, ModuleDefinitionError
from refimpl.module.fields import Skip
from refimpl.module.module import Module
from refimpl.module.variants import ModuleEnum
from refimpl.param.param import Param
from refimpl.param.traversal import PathVisitor
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor


class Lin(Module):
    weight: Param[Tensor]


class Pool(ModuleEnum): ...


class Max(Pool):
    value: Lin


class Size(Pool):
    value: int


class Held(Pool):
    value: Skip[object]


class Net(Module):
    pool: Pool


class Events(PathVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def enter_module(self, name: str, container_type: str) -> None:
        super().enter_module(name, container_type)
        self.found.append(f"{name}[{container_type}]")

    def visit_float(self, param: Param[Tensor]) -> None:
        self.found.append(self.path)


def events(module: Module) -> list[str]:
    seen = Events()
    module.visit(seen)
    return seen.found


def lin() -> Lin:
    return Lin(weight=Param.from_tensor(Tensor.ones((2,), Device("cpu"))))


@pytest.mark.clause("MOD-21")
def test_the_variant_is_a_segment_of_the_path_and_the_enum_the_container() -> None:
    wanted = ["pool[Struct:Net]", "Max[Enum:Pool]", "weight[Struct:Lin]", "pool.Max.weight"]
    assert events(Net(pool=Max(value=lin()))) == wanted


@pytest.mark.clause("MOD-21")
def test_a_variant_that_holds_a_constant_or_a_skipped_value_is_in_no_event() -> None:
    assert events(Net(pool=Size(value=3))) == events(Net(pool=Held(value=object()))) == ["pool[Struct:Net]"]


def test_match_takes_a_variant_apart() -> None:
    match Net(pool=Max(value=lin())).pool:
        case Max(value=inner):
            assert inner.num_params() == 2
        case _:
            raise AssertionError


def test_a_mapped_variant_stays_that_variant() -> None:
    net = Net(pool=Max(value=lin())).freeze()
    assert isinstance(net.pool, Max)
    assert not net.pool.value.weight.is_active


@pytest.mark.clause("MOD-22")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Module derive does not support unit enum variants."),
        ({"inner": Lin}, "Module derive does not support struct enum variants."),
        ({"a": Lin, "b": Lin}, "Module derive only supports tuple enum variants with exactly one field."),
    ],
)
def test_a_variant_has_exactly_the_field_value(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=text):
        type("Bad", (Pool,), {"__annotations__": fields})


@pytest.mark.clause("MOD-22")
def test_an_enum_holds_no_fields_and_has_no_instances_of_its_own() -> None:
    with pytest.raises(ModuleDefinitionError, match="holds no fields itself"):
        type("Bad", (ModuleEnum,), {"__annotations__": {"value": int}})
    with pytest.raises(ArgumentTypeError, match="make one of its variants"):
        Pool()
    with pytest.raises(ArgumentTypeError, match=r"Net.pool must be Pool, got Lin"):
        Net(pool=lin())  # type: ignore[arg-type]
