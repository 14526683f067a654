from __future__ import annotations

import dataclasses
from dataclasses import InitVar
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import pytest

from refimpl.errors import ArgumentTypeError, ModuleDefinitionError
from refimpl.module.fields import Array, Role, Skip, constant_parts, is_constant
from refimpl.module.module import Module
from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.traversal import ModuleVisitor
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import IntTensor, Tensor

CPU = Device("cpu")
T = TypeVar("T")


def weight() -> Param[Tensor]:
    return Param.from_tensor(Tensor.ones((2,), CPU))


class Lin(Module):
    weight: Param[Tensor]


class Events(ModuleVisitor):
    def __init__(self) -> None:
        self.entered: list[str] = []

    def enter_module(self, name: str, container_type: str) -> None:
        self.entered.append(f"{name}[{container_type}]")


def entered(module: Module) -> list[str]:
    events = Events()
    module.visit(events)
    return events.entered


@pytest.mark.clause("MOD-20", "MOD-23", "MOD-26", "MOD-27")
def test_constants_and_skipped_fields_are_in_no_event() -> None:
    class Net(Module):
        n: int
        rates: tuple[float, ...]
        name: str | None
        pair: tuple[int, str]
        cache: Skip[dict[str, int]]
        weight: Param[Tensor]

    net = Net(n=1, rates=(0.5,), name=None, pair=(1, "a"), cache={"a": 1}, weight=weight())
    assert entered(net) == ["weight[Struct:Net]"]
    assert [f.role for f in Net._module_fields()] == [Role.CONSTANT] * 4 + [Role.SKIPPED, Role.MODULE]
    assert net.num_params() == 2
    assert net.to_device(Device("sim", 0)).cache is net.cache


@pytest.mark.clause("MOD-23")
def test_a_container_is_a_constant_when_all_it_holds_is() -> None:
    assert is_constant(tuple[int, str | None])
    assert is_constant(tuple[()])
    assert is_constant(float | None)
    assert not is_constant(tuple[int, Tensor])
    assert not is_constant(list[int])
    assert constant_parts(tuple[int, ...]) == ("list", int)


@pytest.mark.clause("MOD-24", "MOD-25")
def test_a_constant_that_stands_where_a_module_could_is_an_empty_module() -> None:
    class Gen(Module, Generic[T]):
        inner: T

    class Pair(Module):
        pair: tuple[Lin, int]

    assert entered(Gen(inner=1.0)) == ["inner[Struct:Gen]"]
    assert entered(Gen(inner=None)) == ["inner[Struct:Gen]"]
    pair = Pair(pair=(Lin(weight=weight()), 3))
    assert entered(pair) == ["pair[Struct:Pair]", "0[Tuple]", "weight[Struct:Lin]", "1[Tuple]"]


@pytest.mark.clause("MOD-24")
def test_a_generic_field_is_walked_as_the_value_it_holds_or_as_a_subclass_binds_it() -> None:
    class Gen(Module, Generic[T]):
        inner: T

    class Bound(Gen[tuple[float, Lin]]): ...

    assert entered(Gen(inner=(Lin(weight=weight()),))) == [
        "inner[Struct:Gen]",
        "0[Vec]",
        "weight[Struct:Lin]",
    ]
    assert entered(Bound(inner=(1.0, Lin(weight=weight()))))[1:3] == ["0[Tuple]", "1[Tuple]"]
    with pytest.raises(ArgumentTypeError, match="must be a module, a tensor or a constant, got list"):
        Gen(inner=[1])


@pytest.mark.clause("MOD-28")
def test_a_parameter_cannot_be_skipped_but_an_optional_one_can() -> None:
    with pytest.raises(ModuleDefinitionError, match="Fields of type 'Param' should not be marked as 'skip'"):

        class Bad(Module):
            weight: Skip[Param[Tensor]]

    class Odd(Module):
        weight: Skip[Param[Tensor] | None]

    assert Odd(weight=weight()).num_params() == 0


@pytest.mark.clause("MOD-14", "MOD-23")
@pytest.mark.parametrize(
    ("annotation", "hint"),
    [
        (list[Lin], "tuple"),
        (dict[str, Lin], "tuple"),
        (tuple[Lin], "2 to 10"),
        (tuple[Lin, Lin, Lin, Lin, Lin, Lin, Lin, Lin, Lin, Lin, Lin], "2 to 10"),
        (Lin | Tensor, "ModuleEnum"),
        (object, "Skip"),
        (complex, "Skip"),
        (Param, "Param[Tensor]"),
        (Param[float], "Param[Tensor]"),
        (Annotated[Lin, Array], "Annotated[tuple"),
        (tuple[Skip[int], Lin], "outermost"),
    ],
)
def test_what_a_module_cannot_hold_is_refused_with_a_way_out(annotation: Any, hint: str) -> None:
    with pytest.raises(ModuleDefinitionError) as raised:
        type("Bad", (Module,), {"__annotations__": {"field": annotation}})
    assert "Bad.field" in str(raised.value)
    assert hint in (raised.value.hint or "")


@pytest.mark.parametrize("name", ["map", "train", "format", "clone", "visit"])
def test_a_field_called_like_a_method_of_the_trait_is_refused(name: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=f"Bad.{name}: a field cannot be called like"):
        type("Bad", (Module,), {"__annotations__": {name: int}})


@pytest.mark.parametrize(
    ("annotation", "value", "wanted"),
    [
        (Lin, 3, "must be Lin, got int"),
        (tuple[Lin, ...], [], "must be a tuple, got list"),
        (tuple[Lin, int], (1,), "must be a tuple of 2"),
        (Tensor, IntTensor.zeros((1,), CPU), "must be Tensor, got IntTensor"),
        (Param[Flag], weight(), "must be Param[Flag], got Param[Tensor]"),
        (int, 1.5, "must be int, got 1.5"),
        (int, True, "must be int, got True"),
        (float, "x", "must be float, got 'x'"),
        (tuple[int, ...], [1], "must be tuple[int, ...]"),
        (int | None, "x", "must be int | None"),
    ],
)
def test_a_value_that_the_annotation_does_not_allow_is_refused(
    annotation: Any, value: Any, wanted: str
) -> None:
    holder = type("Holder", (Module,), {"__annotations__": {"field": annotation}})
    with pytest.raises((ArgumentTypeError, ModuleDefinitionError)) as raised:
        holder(field=value)
    assert wanted in str(raised.value)
    assert "Holder.field" in str(raised.value)


@pytest.mark.clause("MOD-32")
def test_a_class_may_name_itself_and_what_is_defined_in_the_same_function() -> None:
    class Local(Module):
        weight: Param[Tensor]

    class Rec(Module):
        children: tuple[Rec, ...]
        leaf: Local | None

    tree = Rec(children=(Rec(children=(), leaf=Local(weight=weight())),), leaf=None)
    assert "weight[Struct:Local]" in entered(tree)
    assert tree.num_params() == 2


def test_a_name_that_is_defined_later_is_looked_up_at_the_first_instance() -> None:
    early = type("Early", (Module,), {"__annotations__": {"inner": "LaterClass"}, "__module__": __name__})
    with pytest.raises(ModuleDefinitionError, match="LaterClass"):
        early(inner=1)
    globals()["LaterClass"] = Lin
    try:
        assert early(inner=Lin(weight=weight())).num_params() == 2
    finally:
        del globals()["LaterClass"]


@pytest.mark.clause("MOD-26")
def test_a_skipped_tensor_keeps_its_device_and_context() -> None:
    class Net(Module):
        seen: Tensor
        kept: Skip[Tensor]

    tensor = Tensor.ones((1,), CPU.autodiff())
    net = Net(seen=tensor, kept=tensor).valid().to_device(Device("sim", 0))
    assert (str(net.seen.device), str(net.kept.device)) == ("sim:0", "cpu+autodiff")
    assert net.devices() == (Device("sim", 0),)


def test_a_module_is_frozen_and_its_ids_are_values() -> None:
    module = Lin(weight=weight())
    with pytest.raises(AttributeError):
        module.weight = weight()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        module.weight.id = ParamId.from_int(1)  # type: ignore[misc]


def test_a_parameter_without_an_annotation_is_refused_since_it_would_be_no_field() -> None:
    for value in (weight(), Lin(weight=weight()), (Lin(weight=weight()),), [weight()], {"a": weight()}):
        with pytest.raises(ModuleDefinitionError, match=r"Bad\.forgotten holds a .* and has no annotation"):
            type("Bad", (Module,), {"forgotten": value})


def test_a_class_variable_may_hold_a_module() -> None:
    class Fine(Module):
        shared: ClassVar[Lin] = Lin(weight=weight())

    assert Fine().num_params() == 0


def test_a_parameter_as_a_default_is_refused_since_every_instance_would_share_it() -> None:
    for annotation, value in ((Param[Tensor], weight()), (Lin, Lin(weight=weight()))):
        with pytest.raises(ModuleDefinitionError, match=r"Bad\.field: its default would be the same"):
            type("Bad", (Module,), {"__annotations__": {"field": annotation}, "field": value})


def test_a_default_factory_makes_a_parameter_for_each_instance() -> None:
    class Fresh(Module):
        weight: Param[Tensor] = dataclasses.field(default_factory=weight)

    assert Fresh().weight.id != Fresh().weight.id


@pytest.mark.parametrize(
    ("annotation", "value"),
    [("1 +", 0), ("int.nothing", 0), ("", 0), ("tuple[int, ...]", []), (InitVar[int], 0)],
)
def test_a_field_that_no_dataclass_can_have_is_a_definition_error(annotation: Any, value: Any) -> None:
    with pytest.raises(ModuleDefinitionError):
        type("Bad", (Module,), {"__annotations__": {"field": annotation}, "field": value})


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ((1,), {}, "Lin: it takes its fields by name, got 1 without"),
        ((), {}, "Lin: it needs 'weight'"),
        ((), {"weight": 1, "wieght": 2}, "Lin: it has no field 'wieght'"),
        ((), {"wieght": 2}, "Lin: it has no field 'wieght'; it needs 'weight'"),
    ],
)
def test_wrong_arguments_are_named_with_all_fields(
    positional: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentTypeError) as raised:
        Lin(*positional, **named)
    assert str(raised.value) == message
    assert raised.value.hint == "Lin(weight=...)"


def test_a_type_error_of_a_default_factory_is_its_own() -> None:
    class Fails(Module):
        size: int = dataclasses.field(default_factory=lambda: len(3))  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len"):
        Fails()


def test_a_constructor_that_assigns_fields_is_told_how_to_do_without() -> None:
    class Assigns(Module):
        size: int

        def __init__(self, size: int) -> None:
            self.size = size  # type: ignore[misc]

    with pytest.raises(ModuleDefinitionError, match="frozen from the start") as raised:
        Assigns(3)
    assert "classmethod" in (raised.value.hint or "")


def test_a_constructor_that_calls_the_inherited_one_works_with_its_own_arguments() -> None:
    class Sized(Lin):
        def __init__(self, size: int) -> None:
            super().__init__(weight=Param.from_tensor(Tensor.ones((size,), CPU)))

    assert Sized(5).num_params() == 5
    assert Sized(5).train().num_params() == 5


@pytest.mark.parametrize("name", ["a.b", "", "x y", "weight\n", "0", "class"])
def test_a_field_has_a_name_that_can_be_written(name: str) -> None:
    with pytest.raises(ModuleDefinitionError):
        type("Bad", (Module,), {"__annotations__": {name: Param[Tensor]}})
