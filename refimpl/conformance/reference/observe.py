"""Observations: nothing changes but what the observed call itself changes."""

from __future__ import annotations

from typing import Any

from ...module.module import Module
from ...module.trait import ModuleTrait
from ...module.tree import Tree
from ...parallel.placement import LayerPlacement
from ...record.record import ModuleRecord
from . import module_steps
from .args import Args, flag, text
from .custom import settings
from .faults import StepError
from .looks import Events, MapEvents, States
from .pack_steps import record_entries
from .placement_steps import placement_json
from .state import Asked, Offered, Passed, Ran, State, device_name
from .values import bytes_json, tensor_json


def observe(state: State, args: Args) -> Any:
    """The result of one observation."""
    what = text(args, "observe")
    if what == "log":
        return _log(state)
    on = text(args, "on")
    match what:
        case "events":
            events = Events(state)
            state.module(on).visit(events)
            return events.seen
        case "map_events":
            map_events = MapEvents(state)
            state.handles[on] = state.module(on).map(map_events)
            return map_events.seen
        case "state":
            states = States(state)
            state.module(on).visit(states)
            return (
                states.seen
                if flag(args, "values", default=True)
                else [_without_value(one) for one in states.seen]
            )
        case "devices" | "num_params" | "param_ids":
            return module_steps.run(state, what, args)
        case "record":
            return record_entries(state, state.record(on))
        case "bytes":
            return bytes_json(state.get(on, bytes))
        case "tensor":
            return tensor_json(state.tensor(on))
        case "placement":
            return placement_json(state.placement(on))
        case "display":
            return _display(state, args, on)
        case "debug":
            return _debug(state, on)
    raise StepError(f"`{what}` is no observation")


def _without_value(seen: dict[str, Any]) -> dict[str, Any]:
    """Dtype and shape alone of a value that depends on random numbers."""
    value = seen.get("value")
    if value is None:
        return seen
    return {**seen, "value": {key: part for key, part in value.items() if key != "hex"}}


def _log(state: State) -> list[dict[str, Any]]:
    seen, state.log[:] = list(state.log), []
    return [_logged(state, one) for one in seen]


def _logged(state: State, seen: Ran | Passed | Asked | Offered) -> dict[str, Any]:
    match seen:
        case Ran(id, device, require_grad):
            return {"init": state.id_label(id), "device": device_name(device), "require_grad": require_grad}
        case Passed(id, device):
            return {"forward": state.id_label(id), "device": device_name(device)}
        case Offered(path, id):
            return {"offered": path, "id": state.id_label(id)}
        case Asked(name):
            return {"read": name}


def _display(state: State, args: Args, on: str) -> str:
    module = state.module(on)
    if not isinstance(module, (Module, Tree)):
        raise StepError("the module has no display")
    state.meet_ids(module)
    return state.mask(module.format(settings(args.get("settings") or {})))


def _debug(state: State, on: str) -> str:
    found = state.handles.get(on)
    if isinstance(found, ModuleTrait):
        state.meet_ids(found)
    elif not isinstance(found, (ModuleRecord, LayerPlacement)):
        raise StepError(f"{on!r} has no debug text here")
    return state.mask(repr(found))
