"""`record.*`."""

from __future__ import annotations

from typing import Any

from ...record.policy import DTypePolicy
from ...record.record import ModuleRecord
from .args import Args, flag, text
from .faults import StepError
from .pack_steps import record_entries
from .state import State
from .values import bytes_json


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    match op:
        case "options":
            record = _with_options(state.record(args.get("on")), args)
            state.store(args, record)
            return {"debug": repr(record)}
        case "len":
            record = state.record(args.get("on"))
            return {"len": len(record), "is_empty": record.is_empty()}
        case "into_bytes":
            content = state.record(args.get("on")).into_bytes()
            text(args, "as")
            state.store(args, content)
            return bytes_json(content)
        case "from_bytes":
            return _opened(state, args, ModuleRecord.from_bytes(state.get(args.get("bytes"), bytes)))
        case "save":
            state.record(args.get("on")).save(state.file(args))
            return {}
        case "load":
            return _opened(state, args, ModuleRecord.load(state.file(args)))
        case "read":
            path = text(args, "path")
            for entry in record_entries(state, state.record(args.get("on"))):
                if entry["path"] == path:
                    return {key: entry[key] for key in ("dtype", "shape", "hex")}
            raise StepError(f"the record has no entry {path!r}")
    raise StepError(f"`record.{op}` is no step")


def _opened(state: State, args: Args, record: ModuleRecord) -> dict[str, int]:
    state.store(args, record)
    return {"len": len(record)}


def _with_options(record: ModuleRecord, args: Args) -> ModuleRecord:
    if args.get("dtype_policy") is not None:
        try:
            record = record.with_dtype_policy(DTypePolicy(text(args, "dtype_policy")))
        except ValueError:
            raise StepError(f"{args['dtype_policy']!r} is no dtype policy") from None
    for option in ("allow_partial", "allow_unused", "validate"):
        if args.get(option) is not None:
            record = getattr(record, option)(flag(args, option))
    return record
