"""`module.*`."""

from __future__ import annotations

from typing import Any

from ...module.trait import list_param_ids
from ...tensor.core import AnyTensor
from .args import Args, flag, items, text
from .custom import settings
from .faults import LackingError, StepError
from .groups import group
from .looks import ChangeEach, Identity
from .state import State, device_name
from .values import express, tensor_json
from .zoo_values import build


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    on = args.get("on")
    chosen = None if args.get("group") is None else group(state, args["group"])
    match op:
        case "build":
            state.store(args, build(state, text(args, "fixture"), args.get("args", {})))
        case "drop":
            if on not in state.handles:
                raise StepError(f"nothing is called {on!r}")
            del state.handles[on]
        case "clone":
            state.store(args, state.module(on).clone())
        case "valid":
            state.store(args, state.module(on).valid())
        case "map":
            kinds, expr = tuple(args.get("kinds", ("float",))), items(args, "expr")
            change = ChangeEach(
                kinds,
                chosen,
                lambda param: param.map(lambda value: express(value, expr)),
            )
            state.store(args, state.take(on).map(change))
        case "map_identity":
            state.store(args, state.take(on).map(Identity()))
        case "settings":
            return _settings(args)
        case "tensor":
            value = getattr(state.module(on), "value", None)
            if not isinstance(value, AnyTensor):
                raise StepError(f"{on!r} is no bare tensor")
            state.store_if_named(args, value)
            return tensor_json(value)
        case "devices":
            return [device_name(device) for device in state.module(on).devices()]
        case "collect_devices":
            given = tuple(state.devices(args, "devices"))
            return [device_name(device) for device in state.module(on).collect_devices(given)]
        case "num_params":
            return state.module(on).num_params()
        case "param_ids":
            return [state.id_label(one) for one in list_param_ids(state.module(on))]
        case "record":
            text(args, "as")
            module = state.take(on)
            state.store(args, module.into_record() if chosen is None else module.into_record_group(chosen))
        case "load_record" | "try_load_record":
            record = state.record(args.get("record"))
            module = state.take(on)
            state.store(args, getattr(module, op)(record))
        case "save_file":
            _check_format(args)
            path = state.file(args)
            state.take(on).save_file(path)
        case "load_file" | "try_load_file":
            _check_format(args)
            path = state.file(args)
            state.store(args, getattr(state.take(on), op)(path))
        case "to_device" | "fork":
            device = state.device(args.get("device"))
            state.store(args, getattr(state.take(on), op)(device))
        case "train" | "materialize" | "freeze" | "unfreeze" | "no_grad":
            state.store(args, getattr(state.take(on), op)())
        case "set_require_grad":
            state.store(args, state.take(on).set_require_grad(flag(args, "value")))
        case "freeze_group" | "unfreeze_group" if chosen is not None:
            state.store(args, getattr(state.take(on), op)(chosen))
        case "set_require_grad_group" if chosen is not None:
            state.store(args, state.take(on).set_require_grad_group(chosen, flag(args, "value")))
        case _:
            raise StepError(f"`module.{op}` is no step, or lacks a group")
    return {}


def _check_format(args: Args) -> None:
    """Record files are all that the reference writes and reads."""
    form = args.get("format", "burnpack")
    if form != "burnpack":
        raise LackingError(str(form), "the reference writes and reads burnpack files alone")


def _settings(args: Args) -> Any:
    """`settings`, went up `level_up` levels, as they are or under `outer` ones."""
    made = settings(args.get("settings", {}))
    for _ in range(args.get("level_up", 0)):
        made = made.level_up()
    if args.get("outer") is not None:
        outer = settings(args["outer"])
        for _ in range(args.get("outer_level_up", 0)):
            outer = outer.level_up()
        made = made.inherit(outer)
    return {
        "debug": repr(made),
        "show_param_id": made.show_param_id is True,
        "show_all_attributes": made.show_all_attributes is True,
        "show_num_parameters": made.show_num_parameters is not False,
        "new_line_after_attribute": made.is_multiline,
        "indentation_size": made.indent,
    }
