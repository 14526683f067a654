"""`param.*` and `running.*`: one parameter, or one running state, of a module."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...module.module import Module
from ...module.tree import Tree
from ...module.variants import ModuleEnum
from ...param.flag import Flag
from ...param.mapper import NO_MAPPER
from ...param.param import Param
from ...param.running import RunningState
from ...tensor.core import AnyTensor
from ...tensor.tensor import Tensor
from .adapters import adapter_json
from .args import Args, flag, items, text, whole
from .direct import at_field, change_field
from .faults import StepError
from .looks import At, Change, kind_name
from .state import Ran, State, device_name
from .values import express, make, read_data, tensor_json

_LOOKS = (
    "param.info",
    "param.val",
    "param.base",
    "param.into_value",
    "param.is_require_grad",
    "param.threads",
    "param.adapter",
)


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    on, path = text(args, "on"), text(args, "path")
    if op.startswith("running."):
        return _running(state, op, args, on, path)
    if op == "param.adapter" or flag(args, "direct", default=False):
        return _direct(state, op, args, on, [name for name in path.split(".") if name])
    if op in _LOOKS:
        at = At(path)
        state.module(on).visit(at)
        return _look(state, op, args, at.found)
    change = Change(path, lambda param: _change(state, op, args, param))
    made = state.take(on).map(change)
    state.handles[on] = made
    if not change.is_done:
        raise StepError(f"there is no parameter at {path!r}")
    return {}


def _direct(state: State, op: str, args: Args, on: str, names: list[str]) -> Any:
    """The same of the parameter as a field, with its adapter."""
    if op in _LOOKS:
        return _look(state, op, args, at_field(state.module(on), names))
    made = change_field(state.take(on), names, lambda param: _change(state, op, args, param))
    state.handles[on] = made
    return {}


def _look(state: State, op: str, args: Args, param: Param[Any]) -> Any:
    match op:
        case "param.info":
            return _info(state, param)
        case "param.is_require_grad":
            return param.is_require_grad()
        case "param.adapter":
            return adapter_json(state, param)
        case "param.threads":
            return _read_at_once(state, param, whole(args.get("count")))
    value = {"param.val": param.val, "param.base": param.base}.get(op, param.into_value)()
    state.store_if_named(args, value)
    return tensor_json(value)


def _info(state: State, param: Param[Any]) -> dict[str, Any]:
    label, kind = state.id_label(param.id), kind_name(param)
    form = {"id": label, "kind": kind, "initialized": param.is_initialized()}
    texts = {"display": state.mask(str(param)), "debug": state.mask(repr(param))}
    if kind == "flag":
        return {**form, "enabled": param.is_enabled(), **texts}
    shape = param.lazy_shape()
    place = {"rank": len(shape), "shape": list(shape), "device": device_name(param.lazy_device())}
    return {**form, **place, **texts}


def _read_at_once(state: State, param: Param[Any], count: int) -> dict[str, Any]:
    before = sum(isinstance(seen, Ran) for seen in state.log)
    with ThreadPoolExecutor(count) as pool:
        read = list(pool.map(lambda _: param.val().to_data(), range(count)))
    inits = sum(isinstance(seen, Ran) for seen in state.log) - before
    return {"equal": len({bytes(data.bytes) for data in read}) == 1, "inits": inits}


def _change(state: State, op: str, args: Args, param: Param[Any]) -> Param[Any]:
    value: Any = param
    match op.removeprefix("param."):
        case "map":
            return value.map(lambda held: express(held, items(args, "expr")))  # type: ignore[no-any-return]
        case "init_mapper" | "load_mapper" | "save_mapper" as name:
            expr = items(args, "expr")
            made = getattr(value, name)(lambda tensor: express(tensor, expr))
        case "set_require_grad":
            made = value.set_require_grad(flag(args, "value"))
        case "with_value":
            made = value.with_value(flag(args, "value"))
        case "rebuild":
            own, held, mapper = value.consume()
            held = express(held, args.get("expr") or ())
            made = Param.from_mapped_value(own, held, mapper if text(args, "mapper") == "own" else NO_MAPPER)
        case "replace":
            made = _replaced(state, args, param)
        case "set_id":
            made = value.with_id(state.known_id(whole(args.get("id"))))
        case "to_device" | "fork" as name:
            made = getattr(value, name)(state.device(args.get("device")))
        case "train" | "valid" | "materialize" | "clone" | "transform_for_save" as name:
            made = getattr(value, name)()
        case "transform_for_load":
            given = state.known_id(whole(args.get("id")))
            made = value.transform_for_load(state.tensor(args.get("tensor")), given)
        case _:
            raise StepError(f"`{op}` is no step of a parameter")
    return made  # type: ignore[no-any-return]


def _replaced(state: State, args: Args, old: Param[Any]) -> Param[Any]:
    held: Any
    made: Param[Any]
    if old.kind is Flag:
        made = Param.from_bool(flag(args, "value"))
    else:
        if "tensor" in args:
            held = state.tensor(args["tensor"])
        else:
            kind = kind_name(old)
            held = make(kind, read_data(args, kind, 0), state.device(args.get("device")))
        match text(args, "how"):
            case "initialized":
                made = Param.initialized(old.id, held)
            case "from_tensor":
                made = Param.from_tensor(held)
            case "from_data":
                made = Param.from_data(held.to_data(), state.device(args.get("device")))
            case how:
                raise StepError(f"{how!r} is no constructor of a parameter")
    return made if args.get("id") is None else made.with_id(state.known_id(whole(args["id"])))


def _running(state: State, op: str, args: Args, on: str, path: str) -> Any:
    running, thread = _find_running(state.module(on), path), args.get("thread", "main")
    match op:
        case "running.update":
            value = _update(state, args)
            state.on_thread(thread, lambda: running.update(value))
            return {}
        case "running.value":
            value = state.on_thread(thread, running.value)
        case "running.value_sync":
            value = state.on_thread(thread, running.value_sync)
        case "running.text":
            label = state.id_label(running.id)
            return {"display": state.mask(str(running)), "debug_id": label}
        case _:
            raise StepError(f"`{op}` is no step")
    state.store_if_named(args, value)
    return tensor_json(value)


def _update(state: State, args: Args) -> Tensor:
    value: AnyTensor
    if "tensor" in args:
        value = state.tensor(args["tensor"])
    else:
        value = make("float", read_data(args, "float", 0), state.device(args.get("device", "d0")))
    if not isinstance(value, Tensor):
        raise StepError("a running state takes float tensors")
    return value


def _find_running(module: Any, path: str) -> RunningState:
    """The running state at a path: no traversal hands it over, so the names are followed."""
    found: Any = module.value if isinstance(module, Tree) else module
    for name in filter(None, path.split(".")):
        found = found.value if isinstance(found, Tree) else found
        if isinstance(found, tuple):
            found = found[int(name)] if name.isdigit() and int(name) < len(found) else None
        elif isinstance(found, ModuleEnum):
            found = getattr(found, "value", None) if type(found).__name__ == name else None
        else:
            found = getattr(found, name, None) if isinstance(found, Module) else None
    found = found.value if isinstance(found, Tree) else found
    if not isinstance(found, RunningState):
        raise StepError(f"there is no running state at {path!r}")
    return found
