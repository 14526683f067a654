"""No memory: an allocation that fails, whichever it is, and files that ask for more than they are."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cbor2
import pytest

from refimpl.burnpack.api import open_burnpack
from refimpl.burnpack.verify import verify
from refimpl.errors import RefimplError, ResourceError
from refimpl.record.record import ModuleRecord
from tests.burnpack.containers import contents, descriptor, golden, pack, raw
from tests.faults.oracle import NothingLost
from tests.faults.points import Points
from tests.faults.reading import READERS
from tests.faults.saving import SCENARIOS, prepared, raised

MIB = 1 << 20


def allocation_fails(points: Points, folder: Path, count: int = 400) -> None:
    """The n-th allocation fails, in a process of its own: no memory is never called corruption."""
    try:
        testing = import_module("_testcapi")
    except ImportError:
        points.notes.append("this Python has no _testcapi: no allocation was made to fail")
        return
    path = folder / "m.bpk"
    for how, (read, content) in READERS.items():
        prepared(folder, SCENARIOS[0])
        path.write_bytes(content)
        wanted = read(path)
        _tell(
            points, f"memory: {how}", _in_child(lambda r=read, w=wanted: _reads(testing, r, path, w, count))
        )
    for scenario in SCENARIOS:
        found = _in_child(lambda s=scenario: _saves(testing, s, folder, count))
        _tell(points, f"memory: save {scenario.name}", found)


def _reads(
    testing: ModuleType, read: Callable[[Path], Any], path: Path, wanted: Any, count: int
) -> list[Any]:
    wrong: list[str] = []
    where: Any = str(path)  # Python itself makes a TypeError of it when a path object's text is not to be had
    for at in range(count):
        got, error = None, None
        testing.set_nomemory(at, at + 1)
        try:
            got = read(where)
        except BaseException as caught:
            error = caught
        testing.remove_mem_hooks()
        if error is None and got != wanted:
            wrong.append(f"allocation {at} fails: other bytes were read")
        elif error is not None and not isinstance(error, (MemoryError, ResourceError)):
            wrong.append(f"allocation {at} fails: {type(error).__name__}: {error}")
    return [count, wrong]


def _saves(testing: ModuleType, scenario: Any, folder: Path, count: int) -> list[Any]:
    wrong: list[str] = []
    os.fsync = lambda fd: None
    for at in range(count):
        target = prepared(folder, scenario)
        oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
        where: Any = str(target)
        testing.set_nomemory(at, at + 1)
        try:
            error = raised(scenario.save, where)
        except MemoryError as caught:
            error = caught
        testing.remove_mem_hooks()
        try:
            assert error is None or isinstance(error, (MemoryError, ResourceError)), f"{error!r}"
            oracle.check(error)
        except AssertionError as lost:
            wrong.append(f"allocation {at} fails: {lost}")
    return [count, wrong]


def _in_child(work: Callable[[], list[Any]]) -> list[Any]:
    """What `work` says in a process of its own; how that ended, if it did not say anything."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child leaves without a report
        code = 1
        sys.settrace(None)
        sys.unraisablehook = lambda _: None
        try:
            os.write(write, json.dumps(work()).encode()[:60_000])
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    said = b""
    while piece := os.read(read, 1 << 16):
        said += piece
    os.close(read)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(said) if status == 0 else [0, [f"the process ended with {status}"]]


def _tell(points: Points, what: str, said: list[Any]) -> None:
    count, wrong = said
    points.add(what, "no memory", count)
    for line in wrong:
        points.find(f"{what}: {line}")


# --- Files that ask for more than they are ------------------------------------------------------------------


def colliding(count: int) -> bytes:
    """A map whose integer keys all have one hash in Python."""
    keys = b"".join(b"\x1b" + ((2**61 - 1) * i % 2**64).to_bytes(8, "big") + b"\x00" for i in range(count))
    return b"\xba" + count.to_bytes(4, "big") + keys


def _beside(extra: bytes) -> bytes:
    data = cbor2.dumps({"tensors": {"w": descriptor()}})
    return raw(b"\xa2" + data[1:] + b"\x65extra" + extra, bytes(range(8)))


def _maps(count: int) -> bytes:
    return b"\x9a" + count.to_bytes(4, "big") + b"\xa0" * count


def _tensors(count: int) -> bytes:
    empty = cbor2.dumps(descriptor(shape=[0], offsets=[0, 0]))
    body = b"".join(cbor2.dumps(f"t{i:06}") + empty for i in range(count))
    return raw(b"\xa1\x67tensors\xba" + count.to_bytes(4, "big") + body)


def bombs(full: bool) -> dict[str, bytes]:
    """Small files that a naive reader unfolds to much; the large ones in the full tier alone."""
    w = descriptor()
    texts = {
        0: "2020-01-01T00:00:00Z",
        35: "(a+)+$",
        36: "From: a@b\n\nhi",
        2: b"\x07",
        3: b"\x01" + bytes(8),
    }
    tagged = {
        f"C5 param_id under tag {tag}": cbor2.dumps(
            {"tensors": {"w": w | {"param_id": cbor2.CBORTag(tag, texts.get(tag, 7))}}}
        )
        for tag in (0, 1, 2, 3, 30, 35, 36, 55799)
    }
    found = {name: raw(data, bytes(8)) for name, data in tagged.items()}
    found |= {
        "C1 20,000 colliding keys": _beside(colliding(20_000)),
        "a million nested arrays": _beside(b"\x81" * 10**6),
        "a million nested tags": _beside(b"\xc1" * 10**6 + b"\x00"),
        "a million nested pieces of text": _beside(b"\x7f" * 10**6),
        "2^40 bytes claimed": pack({"tensors": {"w": descriptor("U8", [2**40], [0, 2**40])}}),
        "100 MiB of metadata claimed": b"NRUB\1\0" + (100 * MIB).to_bytes(4, "little") + b"x" * 50,
        "2^63 items claimed": raw(b"\xa1\x67tensors\xbb" + (2**63).to_bytes(8, "big")),
        "5,000 entries over each other": pack(
            {"tensors": {f"t{i}": descriptor("U8", [50_000], [0, 50_000]) for i in range(5000)}},
            bytes(50_000),
        ),
    }
    if full:
        found |= {
            "C1 200,000 colliding keys": _beside(colliding(200_000)),
            "C2 10^7 empty maps": _beside(_maps(10**7)),
            "C2 10^8 empty maps": _beside(_maps(10**8)),
            "100,000 tensors": _tensors(100_000),
            "100,001 tensors": _tensors(100_001),
            "two million axes": pack({"tensors": {"w": descriptor("U8", [1] * 2_000_000, [0, 1])}}, b"x"),
            "a wide text of 8 MiB": pack({"tensors": {}, "metadata": {"a" * 8 * MIB + "\U0001f600": ""}}),
        }
    return found


def ceilings(points: Points, folder: Path) -> None:
    """Every file that is known to be hostile, in a process that has no more memory and time than promised."""
    pytest.importorskip("resource")
    files = bombs(points.full)
    files |= {case["name"]: contents(case) for case in golden("burnpack_bad.json.gz")}
    folder.mkdir(parents=True, exist_ok=True)
    worst = [0.0, 0.0]
    for name, data in files.items():
        metadata = min(int.from_bytes(data[6:10], "little"), len(data))
        memory = 64 * MIB + 3 * metadata
        seconds = 2 + 0.5 * metadata / 1e6
        (folder / "bomb.bpk").write_bytes(data)
        data = b""
        said = _in_child(lambda m=memory: _bounded(folder / "bomb.bpk", m))
        points.add("memory: ceiling", "file")
        if len(said) != 4:
            points.find(f"{name}: {said[1][0]}")
            continue
        text, used, spent, wrong = said
        line = f"{name}: {text}, {used / MIB:.1f} of {memory / MIB:.0f} MiB, {spent:.2f} of {seconds:.1f} s"
        worst = [max(worst[0], used / memory), max(worst[1], spent / seconds)]
        if metadata > 100_000 or name[0] == "C":
            points.notes.append(line)
        if wrong or used > memory or spent > seconds:
            points.find(line + f" {wrong}")
    points.notes.append(
        f"{len(files)} hostile files took at most {worst[0]:.0%} of memory, {worst[1]:.0%} of time"
    )


def _bounded(path: Path, memory: int) -> list[Any]:  # pragma: no cover - runs in the child
    import resource

    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, resident = (int(status[key].split()[0]) * 1024 for key in ("VmSize", "VmRSS"))
    resource.setrlimit(resource.RLIMIT_AS, (now + memory + 16 * MIB, now + memory + 16 * MIB))
    begun, wrong, text = time.process_time(), "", "accepted"
    for use in (_open, _load, verify):
        try:
            use(path)
        except RefimplError as error:
            text = "refused"
            if not str(error).isprintable():
                wrong = "a raw control character"
        except BaseException as error:
            wrong = f"{type(error).__name__} escaped from {use.__name__}"
        if use is _open:
            spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return [text, max(0, peak - resident), spent, wrong]


def _open(path: Path) -> None:
    with open_burnpack(path) as found:
        for entry in found.values():
            entry.data.to_numpy()


def _load(path: Path) -> None:
    with ModuleRecord.load(path) as record:
        for entry in record.entries:
            len(entry.data.bytes)
