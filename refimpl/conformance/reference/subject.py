"""The reference under protocol 1: which file answers which step, and how each step ends."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from ... import __version__
from ...errors import EmptyGroupWarning
from . import (
    adapt_steps,
    module_steps,
    pack_steps,
    param_steps,
    placement_steps,
    quant_steps,
    record_steps,
    small_steps,
)
from .args import Args, text
from .faults import StepError, outcome
from .observe import observe
from .state import State

_DTYPES: Final = (
    "f64", "f32", "flex32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8",
    "bool", "bool_u8",
)  # fmt: skip
_CAPABILITIES: Final = (
    "autodiff", "records", "burnpack", "parallel", "files", "threads", "display", "debug",
    "quant", "lora", "reparam",
)  # fmt: skip
#: Steps whose names are handed over whole, and those whose family is taken off first.
_FAMILIES: Final[dict[str, Callable[[State, str, Args], Any]]] = {
    "param": param_steps.run,
    "running": param_steps.run,
    "tensor": small_steps.run,
    "device": small_steps.run,
    "param_id": small_steps.run,
    "group": small_steps.run,
    "flag": small_steps.run,
    "bytes": pack_steps.run,
    "pack": pack_steps.run,
    "file": pack_steps.run,
    "placement": placement_steps.run,
    "distributed": placement_steps.run,
}
_SHORT: Final[dict[str, Callable[[State, str, Args], Any]]] = {
    "module": module_steps.run,
    "record": record_steps.run,
    "quant": quant_steps.run,
}


class ReferenceSubject:
    """Answers cases in process; nothing is kept from one case to the next."""

    def hello(self) -> dict[str, Any]:
        """Who this is, and what it can do."""
        return {
            "protocol": 1,
            "impl": {"name": "refimpl", "version": __version__, "language": "python", "backend": "numpy"},
            "caps": {
                "fixtures": ["zoo/1", "dynamic/1"],
                "devices": {"executing": ["d0", "d1", "d2"], "count": 256},
                "dtypes": list(_DTYPES),
                "capabilities": list(_CAPABILITIES),
            },
            "limits": {},
        }

    def reset(self) -> None:
        """Nothing is held between cases."""

    def case(self, name: str, steps: Sequence[Args]) -> list[dict[str, Any]]:  # noqa: ARG002
        """One outcome a step; the trace goes on after any outcome."""
        state = State()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyGroupWarning)
                return [_outcome(state, step) for step in steps]
        finally:
            state.close()


def _outcome(state: State, step: Args) -> dict[str, Any]:
    try:
        return {"ok": _answer(state, step)}
    except Exception as error:
        made = outcome(error)
        for fault in made.values():
            fault["text"] = state.mask(fault["text"])
        return made


def _answer(state: State, step: Args) -> Any:
    if "observe" in step:
        return observe(state, step)
    name = text(step, "do")
    family, _, op = name.partition(".")
    if family == "module" and op in adapt_steps.STEPS:
        return adapt_steps.run(state, op, step)
    if family in _SHORT:
        return _SHORT[family](state, op, step)
    if family in _FAMILIES:
        return _FAMILIES[family](state, name, step)
    raise StepError(f"`{name}` is no step")
