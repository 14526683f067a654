"""Sequences of calls on one kind of thing: parameters, running states, layered models, modules by groups."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from ..case import Step
from ..tree import draw_tree
from .comparison import Trace
from .texts import group_of

_DEVICES = ("d0", "d0+autodiff")
_ANY: tuple[list[Any], ...] = (
    ["transpose"],
    ["detach"],
    ["set_require_grad", True],
    ["set_require_grad", False],
)
_NUMBERS = (["add", 1], ["mul", 2], ["zeros_like"], ["ones_like"])
#: What a closure does to a tensor of a kind.
_CHANGES: dict[str, tuple[list[Any], ...]] = {
    "float": (*_ANY, *_NUMBERS, ["cast", "f64"], ["cast", "f16"]),
    "int": (*_ANY, *_NUMBERS, ["cast", "i32"], ["cast", "u8"]),
    "bool": _ANY,
}


def parameters(rng: Random) -> Trace:
    """One parameter, lazy or not, plain or with mappers, under calls of its own and those of its module."""
    kind = rng.choice(("float", "float", "float", "int", "bool"))
    made: dict[str, Any] = {"id": 1, "shape": list(rng.choice(((2, 1), (1, 2), (2, 2))))}
    how = rng.choice(("lazy", "lazy", "initialized", "from_tensor"))
    if kind == "float" or how in ("lazy", "initialized"):
        made["how"] = how
    if how == "lazy":
        made["require_grad"] = rng.random() < 0.6
    for mapper in ("init", "load", "save"):
        if kind == "float" and rng.random() < 0.2:
            made[mapper] = [rng.choice((["mul", 2.0], ["add", 1.0], ["transpose"]))]
    tree = {"struct": "S", "fields": [["a", {kind: made}]]}
    device = rng.choice(_DEVICES)
    steps: list[Step] = [
        {"do": "tensor.create", "kind": kind, "shape": made["shape"], "seed": 5, "device": device, "as": "t"},
        {
            "do": "module.build",
            "fixture": "dynamic/1",
            "args": {"tree": tree, "device": device},
            "as": "m",
        },
    ]
    if rng.random() < 0.3:
        steps.append({"do": "module.clone", "on": "m", "as": "c"})
    for _ in range(rng.randint(2, 6)):
        steps.append(_parameter_step(rng, _CHANGES[kind]))
        steps.append({"do": "param.info", "on": "m", "path": "a"})
    steps += [{"observe": "state", "on": "m"}, {"observe": "log"}]
    if any(step.get("as") == "c" for step in steps):
        steps.append({"observe": "state", "on": "c"})
    return Trace(tuple(steps), ("PAR-36", "PAR-40", "PAR-54"), ("dynamic/1", "autodiff"))


def _parameter_step(rng: Random, changes: tuple[list[Any], ...]) -> Step:
    name = rng.choice(
        (
            "val", "base", "is_require_grad", "map", "map", "set_require_grad", "init_mapper", "load_mapper",
            "save_mapper", "rebuild", "into_value", "set_id", "to_device", "fork", "train", "valid",
            "materialize", "transform_for_load", "transform_for_save", "info",
        )
    )  # fmt: skip
    step: Step = {"do": f"param.{name}", "on": "m", "path": "a"}
    match name:
        case "map":
            step["expr"] = [rng.choice((*changes, ["panic", "no"], ["reshape", [2, 1]]))]
        case "init_mapper" | "load_mapper" | "save_mapper":
            # None fails: asked again after a failed initialiser, Burn hangs (PAR-26).
            sound = [one for one in changes if one != ["set_require_grad", True]]
            step["expr"] = rng.sample(sound, rng.randint(1, 2))
        case "rebuild":
            step["mapper"] = rng.choice(("own", "default"))
            if rng.random() < 0.5:
                step["expr"] = [rng.choice((*changes, ["panic", "no"], ["reshape", [2, 1]]))]
        case "set_require_grad":
            step["value"] = rng.random() < 0.5
        case "set_id":
            step["id"] = rng.randint(2, 9)
        case "to_device" | "fork":
            step["device"] = rng.choice(_DEVICES)
        case "transform_for_load":
            step |= {"tensor": "t", "id": rng.randint(2, 9)}
        case "into_value":
            step["as"] = "v"
    return step


def running(rng: Random) -> Trace:
    """A running state that threads update, between calls that commit it or carry it elsewhere."""
    size = rng.randint(1, 3)
    state = {"running": {"id": 3, "shape": [size], "device": rng.choice(_DEVICES)}}
    tree = {"struct": "S", "fields": [["mean", state], ["w", {"float": {"id": 1, "shape": [1]}}]]}
    steps: list[Step] = [
        {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree, "device": "d0"}, "as": "m"}
    ]
    for _ in range(rng.randint(2, 7)):
        name = rng.choice(("update", "update", "update", "value", "value_sync", "text", "module", "record"))
        cloned = any(step.get("as") == "c" for step in steps)
        at = {"on": rng.choice(("m", "m", "c")) if cloned else "m", "path": "mean"}
        thread = {"thread": rng.choice(("main", "a", "b"))}
        match name:
            case "update":
                values = [rng.randint(-4, 4) for _ in range(size)]
                steps.append({"do": "running.update", **at, **thread, "shape": [size], "values": values})
            case "value" | "value_sync":
                steps.append({"do": f"running.{name}", **at, **thread})
            case "text":
                steps.append({"do": "running.text", **at})
            case "module":
                call = rng.choice(("clone", "valid", "train", "freeze", "no_grad", "map_identity", "fork"))
                extra = {"clone": {"as": "c"}, "fork": {"device": "d0"}}.get(call, {})
                steps.append({"do": f"module.{call}", "on": "m", **extra})
            case _:
                steps += [
                    {"do": "module.clone", "on": "m", "as": "k"},
                    {"do": "module.record", "on": "k", "as": "r"},
                    {"observe": "record", "on": "r"},
                    {"do": "module.load_record", "on": "m", "record": "r"},
                ]
    steps.append({"observe": "state", "on": "m"})
    return Trace(tuple(steps), ("PAR-73", "PAR-75"), ("dynamic/1", "autodiff", "records"))


def layered(rng: Random) -> Trace:
    """A layered model on a placement: its own, or another one than its layers were built for."""
    count = rng.randint(0, 3)
    lazy = rng.random() < 0.5
    names = ("d0", "d0+autodiff", "d1", "d2") if lazy else ("d0", "d0", "d0+autodiff")

    def drawn(hidden: int) -> dict[str, Any]:
        one = rng.random() < 0.4
        first = rng.choice(names)
        at = [first if one else rng.choice(names) for _ in range(hidden + 2)]
        return {"input": at[0], "hidden": at[1:-1], "output": at[-1]}

    made = drawn(count)
    other = drawn(rng.choice((count, count + 1))) if rng.random() < 0.3 else made
    args: dict[str, Any] = {
        "placement": "p",
        "order": rng.choice(("forward",) * 5 + ("reversed", "short", "long")),
    }
    if lazy:
        args["lazy"] = True
    steps: list[Step] = [
        {"do": "placement.make", **made, "as": "p"},
        {"do": "placement.make", **other, "as": "q"},
        {"do": "placement.equal", "a": "p", "b": "q"},
        {"do": "module.build", "fixture": "zoo/layered", "args": args, "as": "m"},
        {"do": "distributed.new", "model": "m", "placement": "q", "as": "x"},
        {"observe": "events", "on": "x"},
    ]
    executes = not any(name in str(made) for name in ("d1", "d2"))
    for _ in range(rng.randint(1, 4)):
        name = rng.choice(("placement", "devices", "num_params", "call", "forward", "clone"))
        match name:
            case "placement":
                steps.append({"do": "distributed.placement", "on": "x"})
            case "devices" | "num_params":
                steps.append({"do": f"module.{name}", "on": "x"})
            case "call":
                call = rng.choice(("train", "valid", "freeze", "unfreeze", "no_grad", "map_identity"))
                if executes:
                    steps.append({"do": f"module.{call}", "on": "x"})
            case "forward" if executes:
                steps += [
                    {
                        "do": "tensor.create",
                        "kind": "float",
                        "shape": [rng.randint(1, 2), 2],
                        "device": rng.choice(_DEVICES),
                        "as": "i",
                    },
                    {"do": "distributed.forward", "on": "x", "input": "i"},
                    {"observe": "log"},
                ]
            case "clone":
                steps.append({"do": "module.clone", "on": "x", "as": "y"})
    steps.append(
        rng.choice(
            (
                {"do": "distributed.into_stages", "on": "x"},
                {"do": "distributed.into_inner", "on": "x", "as": "n"},
                {"observe": "events", "on": "x"},
            )
        )
    )
    return Trace(tuple(steps), ("DLM-1", "DLM-2", "DLM-4"), ("zoo/1", "parallel", "autodiff"))


_BY_GROUP: tuple[Callable[[Random], Step], ...] = (
    lambda _: {"do": "module.freeze_group"},
    lambda _: {"do": "module.unfreeze_group"},
    lambda rng: {"do": "module.set_require_grad_group", "value": rng.random() < 0.5},
    lambda rng: {"do": "module.map", "expr": [rng.choice((["add", 1], ["mul", -2]))]},
    lambda _: {"do": "module.apply_lora", "rank": 1, "alpha": 2},
    lambda _: {
        "do": "module.quantize_weights",
        "scheme": {"value": "Q8S", "store": "Native", "tensor": "F32"},
    },
)


def by_group(rng: Random) -> Trace:
    """What takes a group, on a drawn tree, with groups by pattern, by path and by id."""
    tree = draw_tree(rng, nodes=rng.randint(4, 8), leaves=2)
    args = {"tree": tree.root, "device": rng.choice(_DEVICES)}
    steps: list[Step] = [{"do": "module.build", "fixture": "dynamic/1", "args": args, "as": "m"}]
    for _ in range(rng.randint(1, 3)):
        group = group_of(rng, tree.leaves)
        steps.append(
            {"do": "group.matches", "group": group, "probes": [[n, path] for n, path in tree.leaves]}
        )
        steps.append({**rng.choice(_BY_GROUP)(rng), "on": "m", "group": group})
        steps.append({"observe": "state", "on": "m", "values": False})
    return Trace(tuple(steps), ("GRP-1", "MOD-44", "MOD-46"), ("dynamic/1", "autodiff", "lora", "quant"))


def saved(rng: Random) -> Trace:
    """Modules and records saved under names with and without a suffix, found again, replaced and removed.

    What is read is read at once: Burn reads a loaded tensor when it is first used (REC-14).
    """
    tree = draw_tree(rng, nodes=rng.randint(2, 5), leaves=1, records=True)
    args = {"tree": tree.root, "device": rng.choice(_DEVICES)}
    names = rng.sample(("m", "m.bpk", "m.bin", "a.b", "é", ".h", "M.BPK"), 3)
    steps: list[Step] = [{"do": "module.build", "fixture": "dynamic/1", "args": args, "as": "m"}]
    for _ in range(rng.randint(2, 5)):
        file = rng.choice(names)
        match rng.randrange(6):
            case 0:
                steps += [
                    {"do": "module.clone", "on": "m", "as": "k"},
                    {"do": "module.save_file", "on": "k", "file": file},
                ]
            case 1:
                steps += [
                    {"do": "module.clone", "on": "m", "as": "k"},
                    {"do": "module.record", "on": "k", "as": "r"},
                    {"do": "record.len", "on": "r"},
                    {"do": "record.save", "on": "r", "file": file},
                ]
            case 2:
                steps.append({"do": "record.load", "file": file, "as": "s"})
            case 3:
                steps += [
                    {"do": "module.build", "fixture": "dynamic/1", "args": {**args, "base": 100}, "as": "n"},
                    {"do": "module.try_load_file", "on": "n", "file": file},
                    {"observe": "state", "on": "n"},
                ]
            case 4:
                steps.append({"do": "file.list"})
            case _:
                steps += [{"do": "file.remove", "file": f"{file}.bpk"}, {"do": "file.list"}]
    steps.append({"do": "file.list"})
    return Trace(tuple(steps), ("REC-7", "REC-8"), ("dynamic/1", "records", "files"))
