"""`bytes.*`, `pack.*`, `file.*`."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...burnpack.api import burnpack_bytes, burnpack_into, open_burnpack, write_burnpack
from ...burnpack.limits import ReaderLimits
from ...burnpack.reader import Pack
from ...burnpack.scalar import (
    BoolScalar,
    FloatScalar,
    IntScalar,
    Scalar,
    UIntScalar,
    scalar,
    scalar_bool,
    scalar_float,
    scalar_int,
)
from ...burnpack.writer import Item, plan
from ...errors import BurnpackError, InvalidArgumentError
from ...record.record import ModuleRecord
from ...tensor.data import TensorData
from .args import Args, flag, items, number, only, signed, text, whole
from .dtypes import dtype_name
from .faults import StepError
from .state import Asked, PackSource, State
from .values import bytes_json, data_json, declared, read_data

_INTEGERS = {"i64": (64, True), "u64": (64, False), "i32": (32, True), "u8": (8, False)}


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    match op.partition(".")[0]:
        case "bytes":
            return _bytes(state, op, args)
        case "file":
            return _file(state, op, args)
    if op.startswith("pack.write") or op == "pack.size":
        return _write(state, op, args)
    return _read(state, op, args)


def record_entries(state: State, record: ModuleRecord) -> list[dict[str, Any]]:
    """The entries of a record in the order of their data."""
    with open_burnpack(record.into_bytes()) as pack:
        found = sorted((pack[name] for name in pack), key=lambda e: (e.start, e.nbytes, e.name))
        return [
            {
                "path": entry.name,
                "id": None if entry.param_id is None else state.id_label(entry.param_id),
                "dtype": dtype_name(entry.dtype),
                "shape": list(entry.shape),
                "hex": bytes(entry.data.bytes).hex(),
            }
            for entry in found
        ]


# --- Bytes ---------------------------------------------------------------------------------------------


def _bytes(state: State, op: str, args: Args) -> Any:
    if op == "bytes.make":
        if "base64" in args:
            return _stored(state, args, base64.b64decode(text(args, "base64")))
        return _stored(state, args, bytes.fromhex(text(args, "hex")))
    if op != "bytes.edit":
        raise StepError(f"`{op}` is no step")
    made = bytearray(state.get(args.get("on"), bytes))
    for edit in items(args, "edits"):
        _edit(made, edit)
    return _stored(state, args, bytes(made))


def _edit(content: bytearray, edit: Any) -> None:
    match edit:
        case ["put", at, written]:
            new = bytes.fromhex(written)
            _fits(content, at + len(new))
            content[at : at + len(new)] = new
        case ["truncate", count]:
            del content[count:]
        case ["append", written]:
            content += bytes.fromhex(written)
        case ["xor", at, value]:
            _fits(content, at + 1)
            content[at] ^= value & 255
        case ["zero", at, count]:
            _fits(content, at + count)
            content[at : at + count] = bytes(count)
        case ["repeat", at, count, times, *digits]:
            _fits(content, at + count)
            content[at : at + count] = _repeated(bytes(content[at : at + count]), times, *digits)
        case _:
            raise StepError(f"{edit!r} is no edit")


def _repeated(piece: bytes, times: int, digits: int = 0) -> bytes:
    """`piece` so many times; the first `digits` bytes of a copy are its number."""
    if not digits:
        return piece * times
    return b"".join(f"{number:0{digits}}".encode()[:digits] + piece[digits:] for number in range(times))


def _fits(content: bytearray, end: int) -> None:
    if end > len(content):
        raise StepError(f"the edit is past the end, {end} of {len(content)} bytes")


def _stored(state: State, args: Args, content: bytes) -> dict[str, Any]:
    state.store(args, content)
    return bytes_json(content)


# --- Writing -------------------------------------------------------------------------------------------


def _write(state: State, op: str, args: Args) -> Any:
    entries = [_item(state, entry) for entry in items(args, "entries")]
    metadata = args.get("metadata")
    scalars = {name: _scalar(value) for name, value in (args.get("scalars") or {}).items()}
    match op:
        case "pack.write":
            text(args, "as")
            return _stored(state, args, burnpack_bytes(entries, metadata, scalars))
        case "pack.write_file":
            exact = not flag(args, "auto_extension", True)
            write_burnpack(
                state.file(args),
                entries,
                metadata,
                scalars,
                exact=exact,
                overwrite=flag(args, "overwrite", True),
                in_place=flag(args, "in_place", False),
            )
            return {}
        case "pack.write_into":
            buffer = bytearray(whole(args.get("size")))
            burnpack_into(buffer, entries, metadata, scalars)
            return {"sha256": hashlib.sha256(buffer).hexdigest()}
        case "pack.size":
            return plan(entries, metadata, scalars).size
    raise StepError(f"`{op}` is no step")


def _item(state: State, entry: Args) -> Item:
    param_id = None if entry.get("id") is None else int(state.known_id(whole(entry["id"])))
    kind = "bool" if str(entry.get("dtype", "")).startswith("bool") else "float"
    dtype, shape = declared(entry, kind)
    if "hex" in entry:
        content = bytes.fromhex(text(entry, "hex"))
    else:
        content = bytes(read_data(entry, kind, param_id or 0).bytes)
    if flag(entry, "deferred", False):
        claimed = len(content) if entry.get("claims") is None else whole(entry["claims"])
        provider = _provider(state, text(entry, "name"), content, entry.get("fails"))
        return text(entry, "name"), TensorData.deferred(dtype, shape, claimed, provider), param_id
    return text(entry, "name"), TensorData(dtype, shape, content), param_id


def _provider(state: State, name: str, content: bytes, fails: str | None) -> Callable[[], bytes]:
    def provide() -> bytes:
        state.log.append(Asked(name))
        if fails is not None:
            raise BurnpackError(f"I/O error: {fails}", kind="IoError")
        return content

    return provide


def _scalar(spec: Any) -> Scalar:
    match only(spec, "scalar"):
        # Plain values, as a program writes them; but of integers only those that become the named kind.
        case "Int", value:
            found = signed(value)
            return scalar(found) if found < 1 << 63 else IntScalar(found)
        case "UInt", value:
            found = whole(value)
            return UIntScalar(found) if found < 1 << 63 else scalar(found)
        case "Float", value:
            return scalar(number(value))
        case "Bool", bool(value):
            return scalar(value)
    raise StepError(f"{spec!r} is no scalar")


# --- Reading -------------------------------------------------------------------------------------------


def _read(state: State, op: str, args: Args) -> Any:
    if op == "pack.open":
        exact = flag(args, "exact", False)
        place = state.get(args["bytes"], bytes) if "bytes" in args else state.file(args)
        source = PackSource(place, exact)
        with _opened(source) as pack:
            names = [entry.name for entry in pack.values()]
        text(args, "as")
        state.store(args, source)
        return {"names": names}
    source = state.get(args.get("on"), PackSource)
    if op == "pack.limits":
        tensor, file = args.get("max_tensor_size"), args.get("max_file_size")
        source.limits = ReaderLimits(
            max_file_size=source.limits.max_file_size if file is None else whole(file),
            max_tensor_size=source.limits.max_tensor_size if tensor is None else whole(tensor),
        )
        return {}
    with _opened(source) as pack:
        match op:
            case "pack.entries":
                return _entries(state, pack)
            case "pack.entry":
                return {"hex": bytes(pack[text(args, "name")].data.bytes).hex()}
            case "pack.scalar":
                return _read_scalar(pack, args)
    raise StepError(f"`{op}` is no step")


def _opened(source: PackSource) -> Pack:
    return open_burnpack(source.place, exact=source.exact, limits=source.limits)


def _entries(state: State, pack: Pack) -> dict[str, Any]:
    entries = []
    for name in pack:
        entry = pack[name]
        label = None if entry.param_id is None else state.id_label(entry.param_id)
        entries.append({**data_json(entry.data), "name": name, "id": label})
    scalars = {name: _scalar_json(value) for name, value in pack.scalars.items()}
    return {"entries": entries, "metadata": dict(pack.metadata), "scalars": scalars}


def _scalar_json(value: Scalar) -> dict[str, Any]:
    match value:
        case IntScalar():
            return {"Int": str(value.value)}
        case UIntScalar():
            return {"UInt": str(value.value)}
        case FloatScalar():
            return {"Float": f"{value.bits:016x}"}
        case BoolScalar():
            return {"Bool": value.value}


def _read_scalar(pack: Pack, args: Args) -> Any:
    name, kind = text(args, "name"), text(args, "type")
    if name not in pack.scalars:
        raise StepError(f"the pack has no scalar {name!r}")
    held = pack.scalars[name]
    try:
        if kind in _INTEGERS:
            bits, is_signed = _INTEGERS[kind]
            return str(scalar_int(held, bits=bits, signed=is_signed))
        if kind == "bool":
            return scalar_bool(held)
        as_float = scalar_float(held)
    except InvalidArgumentError as error:
        raise StepError(str(error), "Scalar") from None
    if kind == "f64":
        return struct.pack(">d", as_float).hex()
    if kind == "f32":
        with np.errstate(over="ignore"):
            return np.array(as_float, np.float64).astype(">f4").tobytes().hex()
    raise StepError(f"{kind!r} is no type of a scalar")


# --- Files ---------------------------------------------------------------------------------------------


def _file(state: State, op: str, args: Args) -> Any:
    if op == "file.list":
        return sorted(_marked(entry) for entry in state.folder().iterdir())
    path = Path(state.file(args))
    match op:
        case "file.write":
            path.write_bytes(state.get(args.get("bytes"), bytes))
        case "file.read":
            content = path.read_bytes()
            text(args, "as")
            return _stored(state, args, content)
        case "file.remove" if path.is_dir():
            shutil.rmtree(path)
        case "file.remove":
            path.unlink()
        case "file.mkdir":
            path.mkdir(parents=True, exist_ok=True)
        case "file.symlink":
            os.symlink(text(args, "target"), path)
        case _:
            raise StepError(f"`{op}` is no step")
    return {}


def _marked(entry: Path) -> str:
    return entry.name + ("@" if entry.is_symlink() else "/" if entry.is_dir() else "")
