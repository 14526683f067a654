from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

import pytest

from refimpl.errors import DisplayError, InvalidArgumentError
from refimpl.module.display import Content, DisplaySettings
from refimpl.module.fields import Array, Skip
from refimpl.module.module import Module
from refimpl.module.variants import ModuleEnum
from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor
from tests.golden import test_traversal as recorded
from tests.golden.recorded import load

CPU = Device("cpu")
T = TypeVar("T")
DISPLAY = load("records.json.gz")["misc"]["display"]


class Lin(Module):
    weight: Param[Tensor]
    bias: Param[Tensor] | None


def lin(rows: int = 2, columns: int = 3, bias: bool = True) -> Lin:
    return Lin(
        weight=Param.from_tensor(Tensor.ones((rows, columns), CPU)).with_id(ParamId.from_int(1)),
        bias=Param.from_tensor(Tensor.ones((columns,), CPU)) if bias else None,
    )


TINY = recorded.tiny(10, CPU)


@pytest.mark.clause("DSP-12", "DSP-21")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tiny", str(TINY)),
        ("tiny_debug", repr(TINY)),
        ("tiny_show_param_id", TINY.format(DisplaySettings().with_show_param_id(True))),
        ("tiny_no_newline", TINY.format(DisplaySettings().with_new_line_after_attribute(False))),
        ("tiny_no_num_params", TINY.format(DisplaySettings().with_show_num_parameters(False))),
        ("tiny_indent4", TINY.format(DisplaySettings().with_indentation_size(4))),
        ("many", str(recorded.many(CPU))),
        ("empty", str(recorded.Empty())),
        ("enum_a", str(recorded.A(value=TINY))),
        ("enum_b", str(recorded.B(value=recorded.OnlyBias(bias=recorded.p(1, CPU))))),
        ("param_display", str(TINY.weight)),
        ("param_debug", repr(TINY.weight)),
        ("param_debug_mappers", repr(TINY.weight.load_mapper(lambda t: t).save_mapper(lambda t: t))),
        ("flag_display", f"{Flag(True)} {Flag(False)}"),
        ("param_id_display", f"{ParamId.from_int(10)} {ParamId.from_int(10)!r}"),
    ],
)
def test_the_text_is_what_burn_prints(name: str, text: str) -> None:
    assert text == DISPLAY[name]


@pytest.mark.clause("DSP-20")
def test_debug_of_a_module_with_a_tensor_differs_from_burn_in_the_tensor_alone() -> None:
    burn = DISPLAY["many_debug"]
    start = burn.index("Tensor { primitive")
    end = burn.index(", name:")
    module = recorded.many(CPU)
    assert repr(module) == burn[:start] + repr(module.konst) + burn[end:]


@pytest.mark.clause("DSP-22")
def test_a_linear_layer_as_the_clause_writes_it() -> None:
    assert str(lin()) == (
        "Lin {\n"
        "  weight: ParamTensor {rank: 2, shape: [2, 3], kind: float}\n"
        "  bias: ParamTensor {rank: 1, shape: [3], kind: float}\n"
        "  params: 9\n"
        "}"
    )
    assert "  bias: None\n  params: 6\n" in str(lin(bias=False))


class Act(ModuleEnum): ...


class Linear(Act):
    value: Lin


class Cfg(ModuleEnum): ...


class Big(Module):
    lin: Lin
    layers: tuple[Lin, ...]
    opt: Lin | None
    none: Lin | None
    pair: tuple[Lin, Lin]
    arr: Annotated[tuple[Lin, ...], Array]
    act: Act
    t: Tensor
    ti: IntTensor
    ids: Param[IntTensor]
    mask: Param[BoolTensor]
    flag: Param[Flag]
    running: RunningState
    p: float
    name: str
    empty_vec: tuple[Lin, ...]


@pytest.mark.clause("DSP-16", "DSP-17", "DSP-18", "DSP-23")
def test_a_nested_module_as_the_clause_writes_it() -> None:
    big = Big(
        lin=lin(),
        layers=(lin(), lin()),
        opt=lin(),
        none=None,
        pair=(lin(), lin()),
        arr=(lin(),),
        act=Linear(value=lin()),
        t=Tensor.ones((2,), CPU),
        ti=IntTensor.zeros((2,), CPU),
        ids=Param.initialized(ParamId.new(), IntTensor.zeros((2,), CPU)),
        mask=Param.initialized(ParamId.new(), BoolTensor.zeros((1,), CPU)),
        flag=Param.from_bool(True),
        running=RunningState.new(Tensor.ones((4,), CPU)),
        p=1.0,
        name='hi "q"',
        empty_vec=(),
    )
    leaf = [
        "Lin {",
        "  weight: ParamTensor {rank: 2, shape: [2, 3], kind: float}",
        "  bias: ParamTensor {rank: 1, shape: [3], kind: float}",
        "  params: 9",
        "}",
    ]

    def at(name: str, indent: int) -> list[str]:
        pad = " " * indent
        return [f"{pad}{name}: {leaf[0]}", *(pad + line for line in leaf[1:])]

    deeper = at("opt", 2)
    wanted = [
        "Big {",
        *at("lin", 2),
        "  layers: Vec<0..2> {",
        *at("0", 4),
        *at("1", 4),
        "  }",
        deeper[0],
        *("  " + line for line in deeper[1:]),
        "  none: None",
        "  pair: (L0, L1) {",
        *at("0", 4),
        *at("1", 4),
        "  }",
        "  arr: [0..1] {",
        *at("0", 4),
        "  }",
        "  act: Linear {",
        *at("_0", 4),
        "    params: 9",
        "  }",
        "  t: Tensor {rank: 1, shape: [2]}",
        "  ti: Tensor {rank: 1, shape: [2]}",
        "  ids: ParamTensor {rank: 1, shape: [2], kind: int}",
        "  mask: ParamTensor {rank: 1, shape: [1], kind: bool}",
        "  flag: enabled",
        "  running: RunningState",
        "  p: 1.0",
        '  name: "hi \\"q\\""',
        "  empty_vec: Vec<0..0>",
        "  params: 76",
        "}",
    ]
    assert str(big).split("\n") == wanted


class Gen(Module, Generic[T]):
    inner: T


class GenTuple(Gen[tuple[float, int | None, str, tuple[int, ...]]]): ...


@pytest.mark.clause("DSP-14", "DSP-24")
def test_a_constant_reached_as_a_module_is_written_plainly() -> None:
    assert str(Gen(inner=1.0)) == "Gen {\n  inner: 1\n}"
    assert str(Gen(inner='a"b')) == 'Gen {\n  inner: a"b\n}'
    assert str(GenTuple(inner=(1.0, 2, "s", (1,)))) == (
        "GenTuple {\n  inner: (L0, L1, L2, L3) {\n    0: 1\n    1: 2\n    2: s\n    3: Vec<0..1> {\n"
        "      0: 1\n    }\n  }\n}"
    )


@pytest.mark.clause("DSP-14")
def test_a_constant_field_is_written_as_rusts_debug() -> None:
    class Consts(Module):
        a: float
        b: str
        c: int | None
        d: tuple[float, ...]
        e: tuple[int, float]
        f: tuple[()]
        g: Skip[int | None]
        h: bool

    module = Consts(a=1, b="x\n", c=2, d=(1.0, 2.5), e=(1, 2.0), f=(), g=None, h=True)
    attributes = [line.strip() for line in str(module).split("\n")[1:-1]]
    wanted = [
        "a: 1.0",
        r'b: "x\n"',
        "c: Some(2)",
        "d: [1.0, 2.5]",
        "e: (1, 2.0)",
        "f: ()",
        "g: None",
        "h: true",
    ]
    assert attributes == wanted


@pytest.mark.clause("DSP-25")
def test_options_in_a_list_are_one_level_deeper() -> None:
    class Options(Module):
        inner: tuple[Lin | None, ...]

    text = str(Options(inner=(lin(1, 1), None)))
    assert "\n    0: Lin {\n        weight" in text
    assert "\n        params: 2\n      }\n    1: None\n  }" in text


class Cust(Module):
    lin: Lin
    x: int

    def custom_settings(self) -> DisplaySettings:
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        return (
            content.set_top_level_type("Custom!")
            .add("lin", self.lin)
            .add("lbl", "text")
            .add("n", 3)
            .add("f", 1.0)
            .add_debug_attribute("dbg", "q")
            .optional()
        )


@pytest.mark.clause("DSP-2", "DSP-26")
def test_a_custom_display_as_the_clause_writes_it() -> None:
    cust = Cust(lin=lin(1, 2), x=1)
    inner = (
        "Lin {weight: ParamTensor {rank: 2, shape: [1, 2], kind: float}, "
        "bias: ParamTensor {rank: 1, shape: [2], kind: float}, params: 4}"
    )
    assert str(cust) == f'Custom! {{lin: {inner}, lbl: text, n: 3, f: 1, dbg: "q", params: 4}}'
    everything = cust.format(DisplaySettings().with_show_all_attributes(True))
    assert everything == f"Cust {{lin: {inner}, x: 1, params: 4}}"
    assert cust.format(DisplaySettings().with_new_line_after_attribute(True)).startswith(
        "Custom! {\n  lin: Lin {\n"
    )
    assert str(Gen(inner=cust)).startswith("Gen {\n  inner: Custom! {lin: Lin {weight")


class Said(Module):
    what: Skip[Any]

    def custom_content(self, content: Content) -> Content | None:
        made: Content | None = self.what(content)
        return made


@pytest.mark.clause("DSP-3", "DSP-4", "DSP-9")
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda c: c.add_formatted("only"), "only"),
        (lambda c: c.set_top_level_type("Type").optional(), "Type"),
        (lambda c: c.add_single(1.5), "1.5"),
        (lambda c: c.add_single(1.5).add_single(2.5), "2.5"),
    ],
)
def test_a_single_item_or_a_type_alone_is_the_whole_text(make: Any, text: str) -> None:
    assert str(Said(what=make)) == text


@pytest.mark.clause("DSP-26")
def test_an_empty_custom_content_falls_back_to_the_fields() -> None:
    assert str(Said(what=lambda c: c.optional())).startswith("Said {\n  what: <function")


@pytest.mark.clause("DSP-5")
def test_attributes_and_a_single_item_do_not_mix() -> None:
    with pytest.raises(DisplayError, match="Cannot add multiple attributes when single item is set"):
        Content().add_formatted("x").add("a", 1)
    with pytest.raises(DisplayError, match="Cannot add single item when attributes are set"):
        Content().add("a", 1).add_single(2)
    with pytest.raises(DisplayError):
        Content().add_formatted("x").add_debug_attribute("a", 1)


@pytest.mark.clause("DSP-1")
def test_settings_print_what_is_set() -> None:
    assert repr(DisplaySettings().with_indentation_size(4).with_show_param_id(True).level_up()) == (
        "DisplaySettings { show_param_id: Some(true), show_all_attributes: None, show_num_parameters: None, "
        "new_line_after_attribute: None, indentation_size: Some(4), level: 2 }"
    )


@pytest.mark.clause("DSP-28")
def test_an_indentation_of_nothing_is_legal() -> None:
    assert str(lin().format(DisplaySettings().with_indentation_size(0))).split("\n")[1].startswith("weight")


@pytest.mark.clause("DSP-15")
def test_printing_initialises_a_lazy_parameter_and_shows_its_real_shape() -> None:
    class One(Module):
        weight: Param[Tensor]

    one = One(
        weight=Param.uninitialized(
            ParamId.from_int(1), lambda d, g: Tensor.ones((4, 1), d), CPU, True, (2, 2)
        )
    )
    assert "shape: [4, 1]" in str(one)
    assert one.weight.is_initialized()


@pytest.mark.clause("DSP-1")
@pytest.mark.parametrize("size", [-1, 1.5, True, "2"])
def test_an_indentation_is_a_natural_number(size: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        DisplaySettings().with_indentation_size(size)
