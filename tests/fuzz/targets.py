"""The laws that any bytes are held against. A target returns, or raises AssertionError or what escaped."""

from __future__ import annotations

import contextlib
import io
import zlib
from pathlib import Path
from typing import Any, Final

import cbor2
import msgspec
from rich.console import Console

from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.metadata import Metadata, decode_metadata
from refimpl.burnpack.reader import Pack
from refimpl.burnpack.verify import Verdict, verify
from refimpl.cli import inspect
from refimpl.cli.look import read as read_tensor
from refimpl.errors import BurnpackError, RefimplError
from refimpl.record.record import ModuleRecord

#: Of the accepted inputs, one in so many is also read from a file and printed, which is slow.
SELDOM: Final = 64


def reader(data: bytes, folder: Path | None = None) -> bool:
    """F1: opening, reading, verifying, recording and showing any bytes. Whether they were accepted."""
    verdict = verify(data)
    told = next((f.text for f in verdict.findings if f.stage == "open"), None)
    pack, said = None, None
    try:
        pack = open_burnpack(data)
    except BurnpackError as error:
        said = error.message
    assert said == told, f"open says {said!r}, verify says {told!r}"
    if pack is None:
        assert said is not None
        assert said.isprintable(), said
        return False
    assert len(pack) == verdict.tensors
    read = {name: bytes(entry.data.bytes) for name, entry in pack.items()}
    assert all(len(read[name]) == entry.nbytes for name, entry in pack.items())
    for entry in pack.values():
        with contextlib.suppress(RefimplError):
            entry.data.to_numpy()
            read_tensor(pack, entry.name)
    _record(data, read, verdict)
    document = msgspec.json.encode(inspect._document(pack))
    shown = msgspec.json.decode(document)
    assert [tensor["name"] for tensor in shown["tensors"]] == list(pack), "JSON changed a name"
    if zlib.crc32(data) % SELDOM == 0:
        _printed(pack)
        if folder is not None:
            _from_file(folder / "f1.bpk", data, read, verdict)
    return True


def _record(data: bytes, read: dict[str, bytes], verdict: Verdict) -> None:
    met = next((f.text for f in verdict.findings if f.stage != "none"), None)
    record, said = None, None
    try:
        record = ModuleRecord.from_bytes(data)
    except RefimplError as error:
        said = error.message.removeprefix("Record I/O error: ")
    assert said == met, f"a record says {said!r}, verify says {met!r}"
    if record is not None:
        assert {entry.path: bytes(entry.data.bytes) for entry in record.entries} == read


def _printed(pack: Pack) -> None:
    """What a terminal is given: printable characters and line breaks, and one line a tensor."""
    for print_it in (inspect._print_table, inspect._print_tree):
        out = io.StringIO()
        console = inspect.console
        plain = Console(file=out, markup=False, highlight=False, emoji=False, width=110, soft_wrap=True)
        inspect.console = lambda plain=plain: plain  # type: ignore[assignment]
        try:
            print_it(pack)
        finally:
            inspect.console = console
        assert all(c.isprintable() or c == "\n" for c in out.getvalue()), out.getvalue()
        assert out.getvalue().count("\n") >= len(pack)


def _from_file(path: Path, data: bytes, read: dict[str, bytes], verdict: Verdict) -> None:
    path.write_bytes(data)
    with open_burnpack(path) as pack:
        assert {name: bytes(entry.data.bytes) for name, entry in pack.items()} == read
    assert verify(path) == verdict


# --- F2: two CBOR decoders ----------------------------------------------------------------------------------


def metadata(data: bytes) -> bool:
    """F2: our decoder against cbor2, where the bytes are of a form that both must read alike."""
    try:
        ours: Metadata | None = decode_metadata(data)
        text = ""
    except BurnpackError as error:
        ours, text = None, error.message
        assert text.isprintable()
    wanted = _second_opinion(data)
    if wanted is None:
        return ours is not None
    assert ours is not None, f"cbor2 reads {wanted!r:.200}, and we say {text}"
    got = {
        "tensors": {n: (list(t.shape), t.start, t.end, t.param_id) for n, t in ours.tensors.items()},
        "metadata": ours.metadata,
    }
    assert got == wanted, f"cbor2 reads {wanted!r:.300}, we read {got!r:.300}"
    return True


def _second_opinion(data: bytes) -> dict[str, Any] | None:
    """The tree as cbor2 reads it; None for bytes it refuses, or that are not in the plain form."""
    if any(first >> 5 == 6 or first == 0xFF for first in data):
        return None  # tags and breaks, or bytes that look like them: the form may be anything
    try:
        tree = cbor2.loads(data)
    except Exception:
        return None
    if not isinstance(tree, dict) or not set(tree) <= {"tensors", "metadata"} or "tensors" not in tree:
        return None
    tensors, texts = tree["tensors"], tree.get("metadata", {})
    if not isinstance(tensors, dict) or not isinstance(texts, dict):
        return None
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in texts.items()):
        return None
    found = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, dict):
            return None
        if (
            not {"dtype", "shape", "data_offsets"} <= set(tensor) <= _DESCRIPTOR
            or tensor["dtype"] not in _DENSE
        ):
            return None
        shape, offsets, param_id = tensor["shape"], tensor["data_offsets"], tensor.get("param_id")
        if not _numbers(shape) or not _numbers(offsets) or len(offsets) != 2:
            return None
        if param_id is not None and not _numbers([param_id]):
            return None
        found[name] = (shape, *offsets, param_id)
    if cbor2.dumps(tree) != data and _count(data) != _items(tree):
        return None  # a key twice, or bytes after the item
    return {"tensors": found, "metadata": texts}


_DESCRIPTOR: Final = {"dtype", "shape", "data_offsets", "param_id"}
_DENSE: Final = ("F64", "F32", "Flex32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8")


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 64 for v in values
    )


def _items(tree: Any) -> int:
    if isinstance(tree, dict):
        return 1 + sum(_items(k) + _items(v) for k, v in tree.items())
    if isinstance(tree, list):
        return 1 + sum(map(_items, tree))
    return 1


def _count(data: bytes) -> int:
    from tests.fuzz.mutation import heads

    found = heads(data)
    return len(found) if found and found[-1][1] == len(data) else -1


# --- F3: what is read is written, and read again the same -------------------------------------------------


def rewritten(data: bytes) -> bool:
    """F3: a container that is accepted is written again, read as the same, and written the same again."""
    try:
        pack = open_burnpack(data)
        entries = [(n, e.data, e.param_id) for n, e in pack.items()]
    except RefimplError:
        return False
    written, said = b"", None
    try:
        written = burnpack_bytes(entries, pack.metadata, pack.scalars)
    except BurnpackError as error:
        said = error.message
    if said is not None:
        # A quantised tensor of another length is read, and not written again.
        assert any(e.dtype.is_quantized for e in pack.values()), f"the writer refuses what was read: {said}"
        return False
    again = open_burnpack(written)
    assert [(n, e.data, e.param_id) for n, e in again.items()] == entries
    assert (again.metadata, again.scalars) == (pack.metadata, pack.scalars) or "nan" in repr(pack.scalars)
    assert verify(written).word in ("sound", "odd")
    assert burnpack_bytes(entries, again.metadata, again.scalars) == written
    return True


def everything(data: bytes, folder: Path | None = None) -> None:
    """All three targets on one input."""
    reader(data, folder)
    metadata(data[10 : 10 + int.from_bytes(data[6:10], "little")])
    rewritten(data)


TARGETS: Final = {"F1 reader": reader, "F2 metadata": metadata, "F3 rewritten": rewritten}
