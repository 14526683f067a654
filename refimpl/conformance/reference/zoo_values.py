"""Values and ids of `zoo/1`, by name."""

from __future__ import annotations

import types
from typing import Any

from ...module.fields import Skip
from ...module.trait import ModuleTrait
from ...param.running import RunningState
from ...tensor.dtype import DType
from . import zoo
from .args import Args, flag, number, whole
from .custom import custom
from .dynamic import dynamic, odd_struct
from .faults import StepError
from .layered import layered
from .parameters import Site
from .state import State
from .values import with_require_grad


def build(state: State, name: str, args: Args) -> ModuleTrait:
    """The fixture of that name.

    Raises:
        StepError: there is none, or an argument is wrong.
    """
    base = 0 if args.get("base") is None else whole(args["base"])
    s = Site(state, state.device(args.get("device", "d0")), base)
    if name == "dynamic/1":
        return dynamic(s, args)
    made = _BUILDERS.get(name)
    if made is None:
        raise StepError(f"there is no fixture {name!r}")
    found: ModuleTrait = made(s, args)
    return found


def linear(s: Site, id: int, bias: bool = True) -> zoo.Linear:
    """A `Linear` whose weight has that id, its bias the next."""
    return zoo.Linear(weight=s.f(id, 2, 3), bias=s.f(id + 1, 3) if bias else None)


def _mlp(s: Site, args: Args) -> zoo.Mlp:
    hidden = 2 if args.get("hidden") is None else whole(args["hidden"])
    return zoo.Mlp(
        input=linear(s, 1),
        hidden=tuple(linear(s, 10 + 2 * i) for i in range(hidden)),
        output=linear(s, 3, bias=False),
        rate=0.5,
    )


def _kinds(s: Site, first: int) -> zoo.Kinds:
    return zoo.Kinds(
        b=s.b(first, 2),
        z_first=s.f(first + 1, 2, 2, 2),
        i=s.i(first + 2, 3),
        on=s.flag(first + 3, True),
        a_last=s.f(first + 4, 1),
    )


def _containers(s: Site, _: Args) -> zoo.Containers:
    return zoo.Containers(
        vec=(linear(s, 10), linear(s, 12, bias=False)),
        arr=(linear(s, 14), linear(s, 16)),
        tup=(linear(s, 18, bias=False), s.f(20, 1), (s.f(21, 1), s.f(22, 1))),
        some=linear(s, 23),
        none=None,
        nested=((s.f(25, 1), None, s.f(26, 1)), (), (None,)),
        empty_vec=(),
        opt_vec=(linear(s, 27, bias=False),),
        vec_opt=(None, linear(s, 29)),
    )


def _deep(s: Site, _: Args) -> zoo.Deep:
    return zoo.Deep(
        a=zoo.Nested(inner=linear(s, 1)),
        pick=zoo.Two(value=zoo.Nested(inner=linear(s, 3))),
        picks=(
            zoo.One(value=linear(s, 5)),
            zoo.Plain(value=2.0),
            zoo.List(value=(linear(s, 7, bias=False),)),
        ),
    )


def _pick(s: Site, args: Args) -> zoo.Pick:
    match args.get("variant", "One"):
        case "One":
            return zoo.One(value=linear(s, 1))
        case "Two":
            return zoo.Two(value=zoo.Nested(inner=linear(s, 1)))
        case "Plain":
            return zoo.Plain(value=1.0)
        case "Skipped":
            return zoo.Skipped(value=linear(s, 1))
        case "List":
            return zoo.List(value=(linear(s, 1),))
    raise StepError(f"zoo/pick has no variant {args['variant']!r}")


def _generic(s: Site, args: Args) -> ModuleTrait:
    own, held, hint = s.f(9, 1), *_generic_value(s, args)
    cls: Any = types.new_class("Gen", (zoo.Gen[hint],))  # type: ignore[valid-type]  # chosen at run time
    made: ModuleTrait = cls(module=held, own=own)
    return made


def _generic_value(s: Site, args: Args) -> tuple[Any, Any]:
    """What `module` holds, and its type."""
    match args.get("of", "linear"):
        case "linear":
            return linear(s, 1), zoo.Linear
        case "tuple":
            return (linear(s, 1), _kinds(s, 20)), tuple[zoo.Linear, zoo.Kinds]
        case "f64":
            return 1.5, float
        case "usize":
            return 3, int
        case "string":
            return 'hi "q"', str
        case "mixed":
            return (linear(s, 1), 3), tuple[zoo.Linear, int]
        case "option":
            return linear(s, 1), zoo.Linear | None
        case "options":
            return (linear(s, 1), None), tuple[zoo.Linear | None, ...]
    raise StepError(f"zoo/generic knows no {args['of']!r}")


def _constants(s: Site, args: Args) -> zoo.Consts:
    return zoo.Consts(
        p=0.5 if args.get("p") is None else number(args["p"]),
        name=args.get("name", "x"),
        n=2 if args.get("n") is None else whole(args["n"]),
        flag=flag(args, "flag", True),
        opt=1.0,
        vecs=(1, 2),
        pair=(1, 2.0),
        weight=s.f(1, 1),
    )


def _skip(s: Site, _: Args) -> zoo.Skips:
    tensor = s.value("float", 7, (2,), DType.F32)
    return zoo.Skips(weight=s.f(1, 1), tensor=tensor, names=("a",), module=linear(s, 2), level=4)


def _flags(s: Site, _: Args) -> zoo.Flags:
    inner = zoo.Flagged(weight=s.f(2, 2, 2), on=s.flag(3, False))
    return zoo.Flags(first=s.flag(1, True), inner=inner, second=s.flag(4, True))


def _shared(s: Site, args: Args) -> zoo.Shared:
    a = s.lazy(1, 2) if flag(args, "lazy", False) else s.f(1, 2)
    return zoo.Shared(a=a.clone(), b=a)


def _running(s: Site, _: Args) -> zoo.Running:
    value = s.value("float", s.base + 3, (4,), DType.F32)
    return zoo.Running(mean=RunningState.with_id(s.id(3), value), w=s.f(1, 1))


def _tensors(s: Site, args: Args) -> zoo.Tensors:
    t = s.value("float", 1, (1, 2), DType.F32)
    return zoo.Tensors(
        t=with_require_grad(t, True) if flag(args, "require_grad", False) else t,
        i=s.value("int", 2, (2,), DType.I64),
        b=s.value("bool", 3, (2,), DType.BOOL_NATIVE),
        weight=s.f(4, 2),
    )


def _floats(s: Site, _: Args) -> zoo.Floats:
    return zoo.Floats(
        f64=s.f(1, 2, 3, dtype=DType.F64),
        f32=s.f(2, 2, 3),
        f16=s.f(3, 2, 3, dtype=DType.F16),
        bf16=s.f(4, 2, 3, dtype=DType.BF16),
    )


def _integers(s: Site, _: Args) -> zoo.Ints:
    return zoo.Ints(
        i64=s.i(1, 5),
        i32=s.i(2, 5, dtype=DType.I32),
        i16=s.i(3, 5, dtype=DType.I16),
        i8=s.i(4, 5, dtype=DType.I8),
        u64=s.i(5, 5, dtype=DType.U64),
        u32=s.i(6, 5, dtype=DType.U32),
        u16=s.i(7, 5, dtype=DType.U16),
        u8=s.i(8, 5, dtype=DType.U8),
    )


def _shapes(s: Site, _: Args) -> zoo.Shapes:
    return zoo.Shapes(
        zero=s.f(1, 0, 3), zero_int=s.i(2, 0), one=s.f(3, 1), r3=s.f(4, 1, 2, 3), r4=s.f(5, 2, 3, 1, 4)
    )


def _transposed(s: Site, args: Args) -> zoo.Linear:
    weight = s.f(1, 2, 3) if flag(args, "eager", False) else s.lazy(1, 2, 3)
    weight = weight.init_mapper(lambda t: t.transpose()).save_mapper(lambda t: t.transpose())
    return zoo.Linear(weight=weight.load_mapper(lambda t: t.transpose()), bias=s.f(2, 3))


def _net(s: Site, args: Args) -> zoo.Net:
    if not flag(args, "lazy", False):
        return zoo.Net(
            lin=linear(s, 1),
            scale=s.initialized(3, 2),
            count=s.i(4, 2),
            mask=s.b(5, 2),
            training=s.flag(6, True),
            rate=0.5,
        )
    return zoo.Net(
        lin=zoo.Linear(weight=s.lazy(1, 2, 3), bias=s.lazy(2, 3)),
        scale=s.lazy(3, 2, require_grad=False),
        count=s.lazy(4, 2, kind="int"),
        mask=s.lazy(5, 2, require_grad=False, kind="bool"),
        training=s.flag(6, True),
        rate=0.5,
    )


def _recursive(s: Site, _: Args) -> zoo.Tree:
    children = tuple(zoo.Tree(layer=linear(s, first), children=(), next=None) for first in (3, 5))
    last = zoo.Chain(weight=s.f(8, 1), next=None)
    return zoo.Tree(layer=linear(s, 1), children=children, next=zoo.Chain(weight=s.f(7, 1), next=last))


def _tuple_struct(s: Site, _: Args) -> ModuleTrait:
    fields = [("0", linear(s, 1), zoo.Linear), ("1", 1.0, float), ("2", 4, Skip[int])]
    made: ModuleTrait = odd_struct("Tup", fields)[0]
    return made


def _tuple10(s: Site, _: Args) -> zoo.Ten:
    return zoo.Ten(
        t=(
            s.f(1, 1),
            s.f(2, 1),
            s.f(3, 1),
            s.f(4, 1),
            s.f(5, 1),
            s.f(6, 1),
            s.f(7, 1),
            s.f(8, 1),
            s.f(9, 1),
            s.f(10, 1),
        )
    )


def _count(s: Site, _: Args) -> zoo.Holder:
    made = [zoo.Counted(weight=s.f(number, 1)) for number in range(1, 7)]
    return zoo.Holder(list=(made[0], made[1]), pair=(made[2], made[3]), some=made[4], own=made[5])


_BUILDERS: dict[str, Any] = {
    "zoo/linear": lambda s, args: linear(s, 1, flag(args, "bias", True)),
    "zoo/mlp": _mlp,
    "zoo/kinds": lambda s, _: _kinds(s, 1),
    "zoo/containers": _containers,
    "zoo/nested": _deep,
    "zoo/pick": _pick,
    "zoo/generic": _generic,
    "zoo/constants": _constants,
    "zoo/skip": _skip,
    "zoo/flags": _flags,
    "zoo/shared": _shared,
    "zoo/running": _running,
    "zoo/tensors": _tensors,
    "zoo/floats": _floats,
    "zoo/integers": _integers,
    "zoo/bools": lambda s, _: zoo.Bools(native=s.b(1, 3), u8=s.b(2, 2, 2, dtype=DType.BOOL_U8)),
    "zoo/shapes": _shapes,
    "zoo/transposed": _transposed,
    "zoo/net": _net,
    "zoo/recursive": _recursive,
    "zoo/tuple_struct": _tuple_struct,
    "zoo/unit": lambda _s, _: zoo.Unit(),
    "zoo/tuple10": _tuple10,
    "zoo/count": _count,
    "zoo/custom": lambda s, args: custom(args, linear(s, 1)),
    "zoo/layered": layered,
}
