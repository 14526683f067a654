"""What visitors, mappers, counters and records see of many kinds of module: the events of real Burn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

import pytest

from refimpl.module.fields import Array, Skip
from refimpl.module.lora import Lora, QLora
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.module.trait import list_param_ids
from refimpl.module.tree import Tree
from refimpl.module.variants import ModuleEnum
from refimpl.param.flag import Flag
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.reparameterization import Reparameterization, Reparameterizer
from refimpl.param.running import RunningState
from refimpl.param.traversal import PathMapper, PathVisitor
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

from .recorded import (
    CPU,
    Labels,
    bool_param,
    data_json,
    dump,
    flag,
    float_param,
    int_param,
    load,
    without_device_text,
)

F32, I64, NATIVE = DType.F32, DType.I64, DType.BOOL_NATIVE


class Leaf(Module):
    weight: Param[Tensor]
    bias: Param[Tensor] | None


class Kinds(Module):
    b: Param[BoolTensor]
    z_first: Param[Tensor]
    i: Param[IntTensor]
    on: Param[Flag]
    a_last: Param[Tensor]


class Containers(Module):
    vec: tuple[Leaf, ...]
    arr: Annotated[tuple[Leaf, ...], Array]
    tup: tuple[Leaf, Param[Tensor], tuple[Param[Tensor], ...]]
    some: Leaf | None
    none: Leaf | None
    nested: tuple[tuple[Param[Tensor] | None, ...], ...]
    empty_vec: tuple[Leaf, ...]
    opt_vec: tuple[Leaf, ...] | None
    vec_opt: tuple[Leaf | None, ...]


class Nested(Module):
    inner: Leaf


class Pick(ModuleEnum): ...


class One(Pick):
    value: Leaf


class Two(Pick):
    value: Nested


class Plain(Pick):
    value: float


class List(Pick):
    value: tuple[Leaf, ...]


class Deep(Module):
    a: Nested
    pick: Pick
    picks: tuple[Pick, ...]


M = TypeVar("M")


class Holds(Module, Generic[M]):
    module: M
    own: Param[Tensor]


class Gen(Holds[tuple[Leaf, Kinds]]): ...


class Consts(Module):
    p: float
    name: str
    n: int
    flag: bool
    tensor: Tensor
    opt: float | None
    vecs: tuple[int, ...]
    weight: Param[Tensor]
    skipped_tensor: Skip[Tensor | None]
    skipped_vec: Skip[tuple[str, ...]]
    skipped_module: Skip[Leaf | None]


class Shared(Module):
    a: Param[Tensor]
    b: Param[Tensor]


class Running(Module):
    mean: RunningState
    w: Param[Tensor]


class Vec12(Module):
    v: tuple[Param[Tensor], ...]


class Unit(Module): ...


class Tiny(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]


class OnlyBias(Module):
    bias: Param[Tensor]


class Empty(Module): ...


class Choice(ModuleEnum): ...


class A(Choice):
    value: Tiny


class B(Choice):
    value: OnlyBias


class Many(Module):
    list: tuple[Tiny, ...]
    arr: Annotated[tuple[OnlyBias, ...], Array]
    tup: tuple[OnlyBias, Tiny]
    some: OnlyBias | None
    none: OnlyBias | None
    choice: Choice
    on: Param[Flag]
    ints: Param[IntTensor]
    bools: Param[BoolTensor]
    konst: Tensor
    name: str
    n: int
    p: float
    e: Empty
    cfg: Skip[int | None]


class Ten(Module):
    t: tuple[
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
        Param[Tensor],
    ]


class ConstGen(Module):
    mods: Annotated[tuple[Leaf, ...], Array]


class Scale(Module, Reparameterization):
    """A reparameterization with everything that a module may hold."""

    NAME = "scaled"

    s: Param[Tensor]
    on: Param[Flag]
    list: tuple[Param[Tensor], ...]

    def apply(self, base: Tensor) -> Tensor:
        return base * self.s.val().reshape((1,) * base.rank)


class Attach(Reparameterizer):
    """Attaches a `Scale` to whatever it is offered, and remembers what that was."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], Scale]:
        self.calls.append({"path": path, "rank": len(param.lazy_shape()), "id": str(int(param.id))})
        first, device = 100 + 10 * len(self.calls), param.lazy_device()
        scale = Scale(
            s=float_param(first, [3.0], (1,), F32, device),
            on=flag(first + 1, True),
            list=(float_param(first + 2, [1.0], (1,), F32, device),),
        )
        return param, scale


def p(id: int, device: Device) -> Param[Tensor]:
    return float_param(id, [1.0], (1,), F32, device)


def leaf(id: int, bias: bool, d: Device) -> Leaf:
    return Leaf(
        weight=float_param(id, [1, 2, 3, 4, 5, 6], (2, 3), F32, d),
        bias=float_param(id + 1, [1, 2, 3], (3,), F32, d) if bias else None,
    )


def kinds(d: Device) -> Kinds:
    return Kinds(
        b=bool_param(1, [1, 0], (2,), NATIVE, d),
        z_first=float_param(2, [0] * 8, (2, 2, 2), F32, d),
        i=int_param(3, [1, 2, 3], (3,), I64, d),
        on=flag(4, True),
        a_last=p(5, d),
    )


def containers(d: Device) -> Containers:
    return Containers(
        vec=(leaf(10, True, d), leaf(12, False, d)),
        arr=(leaf(14, True, d), leaf(16, True, d)),
        tup=(leaf(18, False, d), p(20, d), (p(21, d), p(22, d))),
        some=leaf(23, True, d),
        none=None,
        nested=((p(25, d), None, p(26, d)), (), (None,)),
        empty_vec=(),
        opt_vec=(leaf(27, False, d),),
        vec_opt=(None, leaf(29, True, d)),
    )


def deep(d: Device) -> Deep:
    return Deep(
        a=Nested(inner=leaf(1, True, d)),
        pick=Two(value=Nested(inner=leaf(3, True, d))),
        picks=(One(value=leaf(5, True, d)), Plain(value=2.0), List(value=(leaf(7, False, d),))),
    )


def consts(d: Device) -> Consts:
    return Consts(
        p=0.5,
        name="x",
        n=2,
        flag=True,
        tensor=Tensor.ones((1, 2), d),
        opt=1.0,
        vecs=(1, 2),
        weight=p(1, d),
        skipped_tensor=Tensor.ones((1,), d),
        skipped_vec=("a",),
        skipped_module=leaf(2, True, d),
    )


def shared(d: Device) -> Shared:
    param = float_param(1, [1, 2], (2,), F32, d)
    return Shared(a=param.clone(), b=param)


def tiny(base: int, d: Device) -> Tiny:
    return Tiny(
        weight=float_param(base, [1.1, 2.2, 3.3, 4.4], (2, 2), F32, d),
        bias=float_param(base + 1, [0.5, -7.75], (2,), F32, d),
    )


def only_bias(id: int, d: Device) -> OnlyBias:
    return OnlyBias(bias=float_param(id, [1, 2, 3], (3,), F32, d))


def many(d: Device) -> Many:
    return Many(
        list=(tiny(100, d), tiny(102, d)),
        arr=(only_bias(104, d), only_bias(105, d)),
        tup=(only_bias(106, d), tiny(107, d)),
        some=only_bias(109, d),
        none=None,
        choice=B(value=only_bias(110, d)),
        on=flag(111, True),
        ints=int_param(112, [1, 2], (2,), I64, d),
        bools=bool_param(113, [1, 0], (1, 2), NATIVE, d),
        konst=Tensor.ones((2, 3), d),
        name="hello",
        n=3,
        p=0.25,
        e=Empty(),
        cfg=4,
    )


def generic_leaf(d: Device) -> Module:
    class Gen(Holds[Leaf]): ...

    return Gen(module=leaf(1, True, d), own=p(9, d))


def running(d: Device) -> Running:
    state = RunningState.with_id(ParamId.from_int(3), Tensor.ones((4,), d))
    return Running(mean=state, w=p(1, d))


def lora(rank: int, group: ParamGroup | None = None) -> Lora:
    return Lora(rank, 4.0, param_group=ParamGroup.all() if group is None else group)


def quantizer(group: ParamGroup | None = None) -> Quantizer:
    scheme = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    return Quantizer(Calibration.MIN_MAX, scheme, group)


PICKS = ParamGroup.from_predicate("picks")
MODULES: dict[str, Callable[[Device], Any]] = {
    "leaf": lambda d: leaf(1, True, d),
    "leaf_no_bias": lambda d: leaf(1, False, d),
    "kinds": kinds,
    "containers": containers,
    "deep": deep,
    "enum_root": lambda d: One(value=leaf(1, True, d)),
    "enum_plain": lambda d: Plain(value=1.0),
    "generic_leaf": generic_leaf,
    "generic_const": lambda d: ConstGen(mods=(leaf(1, True, d), leaf(3, False, d), leaf(5, True, d))),
    "tuple10": lambda d: Ten(t=tuple(p(i, d) for i in range(1, 11))),
    "generic_tuple": lambda d: Gen(module=(leaf(1, True, d), kinds(d)), own=p(9, d)),
    "consts": consts,
    "shared_param_twice": shared,
    "running_state": running,
    "root_param": lambda d: Tree(float_param(1, [1], (1, 1), F32, d)),
    "root_vec": lambda d: Tree((leaf(1, True, d), leaf(3, True, d))),
    "root_tuple": lambda d: RootTuple(leaf(1, True, d), flag(9, True)),
    "root_array_flag": lambda d: RootArray(flag(1, True), flag(2, False)),
    "root_option_none": lambda d: Tree(None),
    "root_option_some": lambda d: Tree(leaf(1, True, d)),
    "root_tensor": lambda d: Tree(Tensor.ones((2, 2), d)),
    "vec12_record_order": lambda d: Vec12(v=tuple(float_param(i + 1, [i], (1,), F32, d) for i in range(12))),
    "unit": lambda d: Unit(),
    "many": many,
    "leaf+lora": lambda d: leaf(1, True, d).apply_lora(lora(2)),
    "containers+lora": lambda d: containers(d).apply_lora(lora(2)),
    "deep+lora": lambda d: deep(d).apply_lora(lora(1)),
    "kinds+lora": lambda d: kinds(d).apply_lora(lora(1)),
    "deep+lora_group": lambda d: deep(d).apply_lora(lora(1, PICKS)),
    "leaf+qlora": lambda d: leaf(1, True, d).apply_qlora(QLora(lora(2), quantizer())),
    "deep+qlora_group": lambda d: deep(d).apply_qlora(
        QLora(lora(2, ParamGroup.from_path("a.inner.weight")), quantizer(PICKS))
    ),
    "containers+quantize": lambda d: containers(d).quantize_weights(quantizer()),
    "kinds+quantize": lambda d: kinds(d).quantize_weights(quantizer()),
    "leaf+lora+quantize": lambda d: leaf(1, True, d).apply_lora(lora(2)).quantize_weights(quantizer()),
    "leaf+lora+materialize": lambda d: leaf(1, True, d).apply_lora(lora(2)).materialize(),
    "leaf+lora+valid": lambda d: leaf(1, True, d).apply_lora(lora(2)).valid(),
    "running+lora": lambda d: running(d).apply_lora(lora(1)),
    "kinds+custom": lambda d: kinds(d).apply_reparameterization(Attach()),
}


def RootTuple(*items: Any) -> Any:  # noqa: N802 - a root that only an annotation can tell from a Vec
    class Holder(Module):
        root: tuple[Leaf, Param[Flag]]

    return Unwrapped(Holder(root=items))


def RootArray(*items: Any) -> Any:  # noqa: N802
    class Holder(Module):
        root: Annotated[tuple[Param[Flag], ...], Array]

    return Unwrapped(Holder(root=items))


class Unwrapped:
    """The events below the single field `root` of a module."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder


class Tracer(PathVisitor):
    def __init__(self, root: str | None) -> None:
        super().__init__()
        self.root = root
        self.events: list[Any] = []
        self.labels = Labels()

    def at(self) -> str:
        return self.path if self.root is None else self.path.removeprefix(self.root).lstrip(".")

    def enter_module(self, name: str, container_type: str) -> None:
        super().enter_module(name, container_type)
        if name != self.root:
            self.events.append(["enter", name, container_type])

    def exit_module(self, name: str, container_type: str) -> None:
        super().exit_module(name, container_type)
        if name != self.root:
            self.events.append(["exit", name, container_type])

    def leaf(self, event: str, param: Param[Any]) -> None:
        shape = list(param.lazy_shape())
        self.events.append(
            [event, self.at(), self.labels(param.id), len(shape), shape, param.is_initialized()]
        )

    def visit_float(self, param: Param[Tensor]) -> None:
        self.leaf("visit_float", param)

    def visit_int(self, param: Param[IntTensor]) -> None:
        self.leaf("visit_int", param)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self.leaf("visit_bool", param)

    def visit_flag(self, flag: Param[Flag]) -> None:
        self.events.append(["visit_flag", self.at(), self.labels(flag.id), flag.is_enabled()])


class MapTracer(PathMapper):
    def __init__(self, root: str | None) -> None:
        super().__init__()
        self.tracer = Tracer(root)
        self.events = self.tracer.events

    def enter_module(self, name: str, container_type: str) -> None:
        self.tracer.enter_module(name, container_type)

    def exit_module(self, name: str, container_type: str) -> None:
        self.tracer.exit_module(name, container_type)

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        self.tracer.leaf("map_float", param)
        return param

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        self.tracer.leaf("map_int", param)
        return param

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        self.tracer.leaf("map_bool", param)
        return param

    def map_flag(self, flag: Param[Flag]) -> Param[Flag]:
        self.events.append(["map_flag", self.tracer.at(), self.tracer.labels(flag.id), flag.is_enabled()])
        return flag


CASES = load("traversal.json.gz")["cases"]


@pytest.mark.clause(
    "MOD-5", "MOD-6", "MOD-7", "MOD-8", "MOD-10", "MOD-11", "MOD-12", "MOD-13", "MOD-17", "MOD-19"
)
@pytest.mark.clause("MOD-20", "MOD-21", "MOD-35", "MOD-36", "MOD-40", "MOD-41", "MOD-56", "REC-3")
@pytest.mark.clause("REP-7", "REP-8", "REP-9", "LRA-2", "LRA-6", "LRA-10", "MOD-37")
@pytest.mark.filterwarnings("ignore::refimpl.errors.EmptyGroupWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['name']}-{c.get('device', 'plain')}")
def test_a_module_is_seen_as_burn_sees_it(case: dict[str, Any]) -> None:
    made = MODULES[case["name"]](CPU.autodiff() if case.get("device") == "ad" else CPU)
    module, root = (made.holder, "root") if isinstance(made, Unwrapped) else (made, None)
    tracer, mapper = Tracer(root), MapTracer(root)
    module.visit(tracer)

    assert tracer.events == case["visit"]
    assert module.map(mapper) is module
    assert mapper.events == case["map"]
    assert module.num_params() == case["num_params"]
    assert [d.is_autodiff for d in module.devices()] == ["Autodiff" in d for d in case["devices"]]
    assert [tracer.labels(i) for i in list_param_ids(module)] == case["list_param_ids"]
    names = sorted(path for path, _, _ in module.into_record().entries)
    assert [n.removeprefix("root.") for n in names] == case["record_names"]


@pytest.mark.clause("REP-1", "REP-2", "REP-3", "REP-8", "REP-9", "MOD-45", "MOD-56")
def test_a_reparameterization_of_ones_own_is_seen_frozen_and_selected_as_burn_does() -> None:
    case = next(case for case in CASES if case["name"] == "kinds+custom")
    attach = Attach()
    module = kinds(CPU).apply_reparameterization(attach)
    selected = ParamGroup.ids_from_module(module)

    assert attach.calls == case["reparameterize_calls"]
    assert data_json(module.a_last.val().to_data()) == case["effective_a_last"]
    assert dump(module.freeze()) == without_device_text(case["frozen"])
    matching = [i for i in range(140) if selected.matches(ParamId.from_int(i), None)]
    assert matching == case["ids_from_module_matches"]


def test_every_recorded_module_is_tried() -> None:
    assert {case["name"] for case in CASES} == set(MODULES)
