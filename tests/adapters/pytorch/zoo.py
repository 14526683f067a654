"""The fixtures of the zoo that PyTorch can say, as trees of `dynamic/1`."""

from __future__ import annotations

from collections.abc import Callable

from .data import Step
from .outcome import LackingError


def struct(name: str, **fields: Step) -> Step:
    return {"struct": name, "fields": list(fields.items())}


def single(kind: str, first: int, shape: list[int], dtype: str | None = None) -> Step:
    return {kind: {"id": first, "shape": shape, **({} if dtype is None else {"dtype": dtype})}}


def linear(first: int, bias: bool = True) -> Step:
    rest = {"some": single("float", first + 1, [3])} if bias else {"none": True}
    return struct("Linear", weight=single("float", first, [2, 3]), bias=rest)


def mlp(args: Step) -> Step:
    hidden = {"vec": [linear(10 + 2 * i) for i in range(args.get("hidden", 2))]}
    rate = {"const": {"float": 0.5}}
    return struct("Mlp", input=linear(1), hidden=hidden, output=linear(3, bias=False), rate=rate)


def floats(_: Step) -> Step:
    names = ("f64", "f32", "f16", "bf16")
    return struct("Floats", **{name: single("float", i, [2, 3], name) for i, name in enumerate(names, 1)})


def integers(_: Step) -> Step:
    names = ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
    return struct("Ints", **{name: single("int", i, [5], name) for i, name in enumerate(names, 1)})


def shapes(_: Step) -> Step:
    return struct(
        "Shapes",
        zero=single("float", 1, [0, 3]),
        zero_int=single("int", 2, [0]),
        one=single("float", 3, [1]),
        r3=single("float", 4, [1, 2, 3]),
        r4=single("float", 5, [2, 3, 1, 4]),
    )


def running(_: Step) -> Step:
    return struct("Running", mean={"running": {"id": 3, "shape": [4]}}, w=single("float", 1, [1]))


def shared(args: Step) -> Step:
    how = {"how": "lazy"} if args.get("lazy") else {}
    one = {"float": {"id": 1, "shape": [2], "label": "one", **how}}
    return struct("Shared", a=one, b={"same": "one"})


def containers(_: Step) -> Step:
    def one(first: int) -> Step:
        return single("float", first, [1])

    none: Step = {"none": True}
    return struct(
        "Containers",
        vec={"vec": [linear(10), linear(12, False)]},
        arr={"array": [linear(14), linear(16)]},
        tup={"tuple": [linear(18, False), one(20), {"vec": [one(21), one(22)]}]},
        some={"some": linear(23)},
        none=none,
        nested={"vec": [{"vec": [one(25), none, one(26)]}, {"vec": []}, {"vec": [none]}]},
        empty_vec={"vec": []},
        opt_vec={"some": {"vec": [linear(27, False)]}},
        vec_opt={"vec": [none, linear(29)]},
    )


def pick(variant: str, payload: Step) -> Step:
    return {"enum": "Pick", "variant": variant, "payload": payload}


def picked(args: Step) -> Step:
    """`zoo/pick`: one variant with its payload."""
    payloads: dict[str, Step] = {
        "One": linear(1),
        "Two": struct("Nested", inner=linear(1)),
        "Plain": {"const": 1.0},
        "Skipped": {"skip": "a layer"},
        "List": {"vec": [linear(1)]},
    }
    variant = args.get("variant", "One")
    return pick(variant, payloads[variant])


def nested(_: Step) -> Step:
    picks = [pick("One", linear(5)), pick("Plain", {"const": 2.0}), pick("List", {"vec": [linear(7, False)]})]
    return struct(
        "Deep",
        a=struct("Nested", inner=linear(1)),
        pick=pick("Two", struct("Nested", inner=linear(3))),
        picks={"vec": picks},
    )


def generic(args: Step) -> Step:
    bodies: dict[str, Step] = {
        "linear": linear(1),
        "option": {"some": linear(1)},
        "options": {"vec": [{"some": linear(1)}, {"none": True}]},
        "f64": {"const": 1.5},
        "usize": {"const": 3},
        "string": {"const": 'hi "q"'},
    }
    body = args.get("of", "linear")
    if body not in bodies:
        raise LackingError(f"fixture zoo/generic of {body}")
    return struct("Gen", module=bodies[body], own=single("float", 9, [1]))


def tensors(args: Step) -> Step:
    if args.get("require_grad"):
        raise LackingError("a tensor that is no parameter and takes a gradient")
    return struct(
        "Tensors",
        t={"tensor": {"kind": "float", "seed": 1, "shape": [1, 2]}},
        i={"tensor": {"kind": "int", "seed": 2, "shape": [2]}},
        b={"tensor": {"kind": "bool", "seed": 3, "shape": [2]}},
        weight=single("float", 4, [2]),
    )


def recursive(_: Step) -> Step:
    def tree(first: int, children: list[Step], below: Step) -> Step:
        return struct("Tree", layer=linear(first), children={"vec": children}, next=below)

    last = struct("Chain", weight=single("float", 8, [1]), next={"none": True})
    chain = struct("Chain", weight=single("float", 7, [1]), next=last)
    return tree(1, [tree(3, [], {"none": True}), tree(5, [], {"none": True})], chain)


ZOO: dict[str, Callable[[Step], Step]] = {
    "zoo/linear": lambda args: linear(1, args.get("bias", True)),
    "zoo/mlp": mlp,
    "zoo/floats": floats,
    "zoo/integers": integers,
    "zoo/shapes": shapes,
    "zoo/running": running,
    "zoo/shared": shared,
    "zoo/containers": containers,
    "zoo/pick": picked,
    "zoo/nested": nested,
    "zoo/generic": generic,
    "zoo/tensors": tensors,
    # What is no module field is an attribute like any other: its value shows nowhere.
    "zoo/constants": lambda _: struct("Consts", p={"const": 0.5}, weight=single("float", 1, [1])),
    "zoo/skip": lambda _: struct("Skips", weight=single("float", 1, [1]), level={"skip": 4}),
    "zoo/recursive": recursive,
    "zoo/unit": lambda _: struct("Unit"),
    "zoo/tuple10": lambda _: struct("Ten", t={"tuple": [single("float", i, [1]) for i in range(1, 11)]}),
}
