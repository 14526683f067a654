"""Bytes, files and safetensors: `module.save_file` and `module.load_file` with that format."""

from __future__ import annotations

import hashlib
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from .build import KEPT
from .data import Step
from .outcome import EndedError, LackingError
from .trace import NOTHING, Answer, Trace

#: As many bytes as BYTES tells whole.
WHOLE = 4096


def told(content: bytes) -> Step:
    """BYTES of a result."""
    made: Step = {"len": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return made | {"hex": content.hex()} if len(content) <= WHOLE else made


def make(trace: Trace, step: Step) -> Step:
    if "hex" not in step:
        raise LackingError("bytes that are not hexadecimal")
    content = bytes.fromhex(step["hex"])
    trace.store(step, content)
    return told(content)


def observed(trace: Trace, step: Step) -> Step:
    return told(trace.get(step, "on", bytes))


def write(trace: Trace, step: Step) -> Step:
    content = trace.get(step, "bytes", bytes)
    try:
        trace.file(step).write_bytes(content)
    except OSError as error:
        raise EndedError("error", "Io", str(error)) from None
    return NOTHING


def read(trace: Trace, step: Step) -> Step:
    try:
        content = trace.file(step).read_bytes()
    except OSError as error:
        raise EndedError("error", "Io", str(error)) from None
    trace.store(step, content)
    return told(content)


def save(trace: Trace, step: Step) -> Step:
    asked_for_safetensors(step)
    module = trace.take(step, nn.Module)
    save_file(module.state_dict(), trace.file(step))
    return NOTHING


def loading(form: str, kinds: tuple[str, str]) -> Answer:
    """`load_state_dict` of a file; the kinds are those of what cannot be read and of what does not fit."""

    def answer(trace: Trace, step: Step) -> Step:
        asked_for_safetensors(step)
        module = trace.take(step, nn.Module)
        try:
            held = load_file(trace.file(step))
        except (OSError, SafetensorError) as error:
            raise EndedError(form, kinds[0], str(error)) from None
        return trace.store(step, loaded(module, held, form, kinds[1]))

    return answer


def loaded(module: nn.Module, held: dict[str, Any], form: str, kind: str) -> nn.Module:
    """The module with the values of the file, in the dtypes of the file."""
    before = module.state_dict(keep_vars=True)
    try:
        module.load_state_dict(held, assign=True)
    except RuntimeError as error:
        raise EndedError(form, kind, str(error)) from None
    for path, tensor in module.state_dict(keep_vars=True).items():
        for name in KEPT:
            setattr(tensor, name, getattr(before[path], name))
    return module


def asked_for_safetensors(step: Step) -> None:
    if step.get("format", "burnpack") != "safetensors":
        raise LackingError(step.get("format", "burnpack"))


FILES: dict[str, Answer] = {
    "bytes.make": make,
    "observe.bytes": observed,
    "file.write": write,
    "file.read": read,
    "module.save_file": save,
    "module.load_file": loading("panic", ("Load", "Load")),
    "module.try_load_file": loading("error", ("RecordIo", "RecordValidation")),
}
