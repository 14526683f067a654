"""`tensor.*`, `device.*`, `param_id.*`, `group.*`, `flag.*`."""

from __future__ import annotations

import json
from typing import Any

from ...module.tree import Tree
from ...param.flag import Flag
from ...param.param_id import ParamId
from ...tensor.device import Device
from .args import Args, flag, items, text, whole
from .faults import StepError
from .groups import group
from .state import State, device_name
from .values import make, read_data, tensor_json, tensor_op


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    match op.partition(".")[0]:
        case "tensor":
            return _tensor(state, op, args)
        case "device":
            return _device(state, op, args)
        case "param_id":
            return _param_id(state, op, args)
    match op:
        case "group.make":
            made = group(state, args.get("group"))
            return {"debug": repr(made), "serde": made.to_serde()}
        case "group.matches":
            chosen = group(state, args.get("group"))
            probes = items(args, "probes")
            return [chosen.matches(state.known_id(whole(number)), path) for number, path in probes]
        case "flag.make":
            made_flag = Flag(flag(args, "value"))
            if args.get("with") is not None:
                made_flag = made_flag.with_(flag(args, "with"))
            return {"enabled": made_flag.is_enabled(), "display": str(made_flag), "debug": repr(made_flag)}
    raise StepError(f"`{op}` is no step")


def _tensor(state: State, op: str, args: Args) -> Any:
    match op:
        case "tensor.create":
            kind, device = text(args, "kind"), state.device(args.get("device"))
            made = make(kind, read_data(args, kind, 0), device)
            state.store(args, made)
            return tensor_json(made)
        case "tensor.op":
            device_or_none = state.device(args["device"]) if "device" in args else None
            other = state.tensor(args["with"]) if "with" in args else None
            made = tensor_op(state.tensor(args.get("on")), text(args, "op"), args, device_or_none, other)
            state.store_if_named(args, made)
            return tensor_json(made)
        case "tensor.module":
            text(args, "as")
            state.store(args, Tree(state.tensor(args.get("on"))))
            return {}
    raise StepError(f"`{op}` is no step")


def _device(state: State, op: str, args: Args) -> Any:
    match op:
        case "device.ops":
            device = state.device(args.get("on"))
            for one in items(args, "ops"):
                device = _device_op(state, device, one)
            how = device.gradient_checkpointing_strategy()
            return {
                "device": device_name(device),
                "is_autodiff": device.is_autodiff,
                "strategy": None if how is None else how.value,
                "debug": state.mask(str(device)),
            }
        case "device.equal":
            return state.device(args.get("a")) == state.device(args.get("b"))
        case "device.find":
            wanted, among = state.device(args.get("device")), state.devices(args, "devices")
            return among.index(wanted) if wanted in among else None
        case "device.default":
            return {"is_autodiff": Device.default().is_autodiff}
    raise StepError(f"`{op}` is no step")


def _device_op(state: State, device: Device, op: Any) -> Device:
    match op:
        case "autodiff":
            return device.autodiff()
        case "without_autodiff":
            return device.without_autodiff()
        case "inner":
            return device.inner()
        case "gradient_checkpointing":
            return device.gradient_checkpointing()
        case ["with_autodiff_context_from", name]:
            return device.with_autodiff_context_from(state.device(name))
    raise StepError(f"{op!r} is nothing that a device does")


def _param_id(state: State, op: str, args: Args) -> Any:
    match op:
        case "param_id.format":
            known = state.known_id(whole(args.get("id")))
            serde = json.dumps({"value": int(known)}, separators=(",", ":"))
            return {"display": str(known), "debug": repr(known), "serde": serde}
        case "param_id.parse":
            return str(int(ParamId.parse(text(args, "text"))))
        case "param_id.serde":
            return _read_id(text(args, "json"))
        case "param_id.new":
            made = [ParamId.new() for _ in range(whole(args.get("count")))]
            return {
                "distinct": len(set(made)) == len(made),
                "roundtrip": all(ParamId.parse(str(one)) == one for one in made),
                "lengths": sorted({len(str(one)) for one in made}),
            }
        case "param_id.compare":
            a, b = (ParamId.from_int(whole(args.get(key))) for key in ("a", "b"))
            return {"equal": a == b, "less": a < b, "same_hash": hash(a) == hash(b)}
    raise StepError(f"`{op}` is no step")


def _read_id(written: str) -> str:
    """An id in its serde form, which only occurs inside a serialised group (PAR-7, GRP-13)."""
    from ...errors import InvalidArgumentError
    from ...param.group import ParamGroup

    try:
        read = json.loads(written, object_pairs_hook=_without_repeats)
        held = ParamGroup.from_serde({"matcher": {"Explicit": [read]}}).to_serde()["matcher"]
    except (InvalidArgumentError, ValueError) as error:
        raise StepError(str(error), "Serde") from None
    form: Any = held
    return str(form["Explicit"][0]["value"])


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)
