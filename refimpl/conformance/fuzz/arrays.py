"""Tensors, quantised tensors, devices and containers: chains of operations on one of them."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from .. import generate_quant
from ..case import Step
from .comparison import Trace

_DEVICES = ("d0", "d0+autodiff")


def tensors(rng: Random) -> Trace:
    """A tensor through changes of state, of shape and of dtype."""
    kind = rng.choice(("float", "float", "int", "bool"))
    shape = rng.choice(([2], [2, 2], [1, 3], [2, 1, 2], [0, 2]))
    device = rng.choice(_DEVICES)
    made = {"do": "tensor.create", "kind": kind, "shape": shape, "device": device}
    steps: list[Step] = [{**made, "as": "t"}, {**made, "seed": 3, "as": "u"}]
    names = ["transpose", "reshape", "clone", "to_device"]
    if kind != "bool":
        names += ["zeros_like", "ones_like", "add", "sub", "mul", "add_scalar", "mul_scalar", "cast", "sum"]
    if kind == "float":
        names += [
            "detach",
            "require_grad",
            "set_require_grad",
            "autodiff",
            "without_autodiff",
            "inner",
            "from_inner",
        ]
    dtypes = {"float": ("f64", "f16", "bf16", "f32"), "int": ("i32", "i8", "u8", "i64"), "bool": ()}[kind]
    for _ in range(rng.randint(2, 6)):
        name = rng.choice(names)
        step: Step = {"do": "tensor.op", "on": rng.choice(("t", "t", "u")), "op": name}
        match name:
            case "reshape":
                step["shape"] = [math.prod(shape), *[1] * (len(shape) - 1)]
            case "to_device":
                step["device"] = rng.choice(_DEVICES)
            case "add" | "sub" | "mul":
                step["with"] = rng.choice(("t", "u"))
            case "add_scalar" | "mul_scalar" | "set_require_grad":
                step["value"] = rng.random() < 0.5 if name == "set_require_grad" else rng.choice((2, -1, 0))
            case "cast":
                step["dtype"] = rng.choice(dtypes)
        if rng.random() < 0.6:
            step["as"] = rng.choice(("t", "u"))
        steps.append(step)
    steps += [{"observe": "tensor", "on": "t"}, {"observe": "tensor", "on": "u"}]
    return Trace(tuple(steps), ("PAR-40", "DEV-9", "DEV-10"), ("autodiff",))


def quantised(rng: Random) -> Trace:
    """A quantised tensor, rearranged, cut, and brought back to floats."""
    shape = rng.choice(([6], [4, 4], [2, 6], [2, 3, 4]))
    value = rng.choice(generate_quant.VALUES)
    scheme: dict[str, Any] = {"value": value, "store": "Native"}
    if rng.random() < 0.5:
        scheme["tensor"] = rng.choice(generate_quant.SCALES)
    else:
        extents = [rng.choice([d for d in (1, 2, 3, 4) if n % d == 0]) for n in shape]
        scheme["block"] = generate_quant.block(*extents, dtype=rng.choice(generate_quant.SCALES))
    if rng.random() < 0.4:
        scheme["store"] = {"PackedU32": rng.randrange(len(shape))}
    values = generate_quant.inputs("normal", math.prod(shape), rng)
    device = rng.choice(_DEVICES)
    steps: list[Step] = [
        {
            "do": "tensor.create",
            "kind": "float",
            **generate_quant.data(values, shape),
            "device": device,
            "as": "t",
        },
        {"do": "quant.layout", "scheme": scheme, "shape": shape},
        {"do": "quant.dynamic", "on": "t", "scheme": scheme, "as": "q"},
    ]
    rank = len(shape)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(
            ("transpose", "swap_dims", "permute", "flip", "reshape", "slice", "narrow", "select", "clone")
        )
        step: Step = {"do": "quant.op", "on": "q", "op": name, "as": "q"}
        axis = rng.randrange(rank)
        match name:
            case "swap_dims":
                step["dims"] = [axis, rng.randrange(rank)]
            case "permute":
                step["dims"] = rng.sample(range(rank), rank)
            case "flip":
                step["dims"] = sorted(rng.sample(range(rank), rng.randint(1, rank)))
            case "reshape":
                step["shape"] = rng.choice(([math.prod(shape)], [2, math.prod(shape) // 2], shape))
                rank = len(step["shape"])
            case "slice":
                step["ranges"] = [[0, rng.randint(1, 2)] for _ in range(rank)]
            case "narrow":
                step |= {"dim": axis, "start": 0, "length": rng.randint(1, 2)}
            case "select":
                step |= {"dim": axis, "indices": {"values": [0, rng.randint(0, 1)]}}
        steps += [step, {"do": "quant.parts", "on": "q"}, {"do": "quant.dequantize", "on": "q"}]
    return Trace(tuple(steps), ("QNT-35", "QNT-22"), ("quant", "autodiff"))


def devices(rng: Random) -> Trace:
    """Devices with and without contexts, compared and looked for."""
    names = [f"d{rng.randint(0, 2)}{rng.choice(('', '+autodiff', '+autodiff(balanced)'))}" for _ in range(4)]
    steps: list[Step] = []
    for _ in range(rng.randint(2, 5)):
        ops: list[Any] = ["autodiff", "without_autodiff", "inner", "gradient_checkpointing"]
        ops.append(["with_autodiff_context_from", rng.choice(names)])
        steps.append(
            rng.choice(
                (
                    {"do": "device.ops", "on": rng.choice(names), "ops": rng.sample(ops, rng.randint(1, 3))},
                    {"do": "device.equal", "a": rng.choice(names), "b": rng.choice(names)},
                    {"do": "device.find", "devices": names[:3], "device": rng.choice(names)},
                )
            )
        )
    return Trace(tuple(steps), ("DEV-1", "DEV-8"), ("autodiff",))


def containers(rng: Random) -> Trace:
    """A container with entries, metadata and scalars of every kind, read back by name and by limit."""
    names = rng.sample(("a", "w", "a.b", "layers.0.w", "é", ""), rng.randint(0, 4))
    entries = [
        {
            "name": name,
            "id": rng.choice((None, 1, "18446744073709551615")),
            "dtype": rng.choice(("f32", "f64", "f16", "bf16", "i64", "i8", "u32", "bool")),
            "shape": rng.choice(([2], [0], [1, 3], [2, 2, 1])),
        }
        for name in names
    ]
    metadata = {
        key: rng.choice(("v", "", "é" * 30)) for key in rng.sample(("k", "a", "zz", ""), rng.randint(0, 3))
    }
    written: dict[str, Any] = {"entries": entries, "metadata": metadata}
    scalar = rng.choice(
        ({"Int": 0}, {"Int": -1}, {"UInt": "18446744073709551615"}, {"Float": 1.5}, {"Bool": True})
    )
    written["scalars"] = {"s": scalar}
    steps: list[Step] = [
        {"do": "pack.size", **written},
        {"do": "pack.write", **written, "as": "b"},
        {"do": "pack.open", "bytes": "b", "as": "p"},
        {"do": "pack.entries", "on": "p"},
        {"do": "pack.entry", "on": "p", "name": rng.choice([*names, "missing"])},
        {
            "do": "pack.scalar",
            "on": "p",
            "name": "s",
            "type": rng.choice(("i64", "u64", "i32", "u8", "f64", "f32", "bool")),
        },
        {"do": "pack.limits", "on": "p", "max_tensor_size": rng.choice((0, 7, 8, 16, 100))},
        {"do": "pack.entries", "on": "p"},
    ]
    return Trace(tuple(steps), ("BPK-2", "BPK-5", "BPK-21"), ("burnpack",))


def schemes(rng: Random) -> Trace:
    """Schemes, valid and not, with what follows from them: layouts, scales, and bytes read as codes."""
    steps: list[Step] = []
    for _ in range(rng.randint(1, 4)):
        shape = rng.choice(([4], [2, 4], [3, 2], [2, 2, 4], [0, 2], [1]))
        scheme = _scheme(rng)
        scales = [rng.choice((0, 1, 0.3, 1e-30, 448, 65504, 1e30, "inf")) for _ in range(3)]
        length = rng.choice((math.prod(shape) + 4, rng.randint(0, 24)))
        steps += rng.sample(
            [
                {"do": "quant.value", "value": rng.choice(generate_quant.VALUES)},
                {"do": "quant.scheme", "scheme": scheme, "equals": _scheme(rng)},
                {"do": "quant.layout", "scheme": scheme, "shape": shape},
                {"do": "quant.scale", "dtype": rng.choice(generate_quant.SCALES), "scales": scales},
                {"do": "quant.block", "dims": _extents(rng), "equals": _extents(rng), "shape": shape},
                {
                    "do": "quant.from_bytes",
                    "hex": rng.randbytes(length).hex(),
                    "shape": shape,
                    "scheme": scheme,
                },
            ],
            2,
        )
    return Trace(tuple(steps), ("QNT-1", "QNT-2", "QNT-9"), ("quant",))


def _scheme(rng: Random) -> dict[str, Any]:
    scheme: dict[str, Any] = {
        "value": rng.choice(generate_quant.VALUES),
        "store": rng.choice(generate_quant.STORES),
    }
    if rng.random() < 0.6:
        scheme["tensor"] = rng.choice(generate_quant.SCALES)
    if rng.random() < 0.5:
        scheme["block"] = generate_quant.block(*_extents(rng), dtype=rng.choice(generate_quant.SCALES))
    return scheme


def _extents(rng: Random) -> list[int]:
    return [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.randint(1, 3))]
