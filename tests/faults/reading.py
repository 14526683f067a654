"""Faults while a file is opened and read: every call with every errno, short reads, a file that changes."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.verify import verify
from refimpl.errors import BurnpackError, RecordError, RefimplError
from refimpl.record.record import ModuleRecord
from tests.faults.points import Points
from tests.faults.saving import MODEL, entry
from tests.faults.system import READS, Faults, descriptors, fails

ERRNOS = (
    errno.EIO, errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.ESTALE, errno.EBADF,
)  # fmt: skip
#: Kinds of error that speak of the file: a fault of the machine is never one of them.
CORRUPT = ("InvalidHeader", "InvalidMagicNumber", "InvalidVersion", "MetadataDeserializationError")

ENTRIES = [entry("a", b"a" * 300), entry("big", b"b" * 70_000), entry("c", b"c" * 5000), entry("d", b"d")]
FILE = burnpack_bytes(ENTRIES)
WANTED = {name: bytes(data.bytes) for name, data, _ in ENTRIES}
MODEL_FILE = ModuleRecord.collect(MODEL).into_bytes()


def _read_pack(path: Path) -> Any:
    with open_burnpack(path) as found:
        return {name: bytes(e.data.bytes) for name, e in found.items()}


def _read_pieces(path: Path) -> Any:
    with open_burnpack(path) as found:
        return {name: b"".join(e.pieces(999)) for name, e in found.items()}


def _read_record(path: Path) -> Any:
    with ModuleRecord.load(path) as record:
        return {e.path: bytes(e.data.bytes) for e in record.entries}


def _load_model(path: Path) -> Any:
    loaded = MODEL.try_load_file(path)
    return {n: bytes(getattr(loaded, n).val().to_data().bytes) for n in ("weight", "bias")}


def _verify(path: Path) -> Any:
    return verify(path).findings


#: Every way to read: what it does, and the file it is done to.
READERS: dict[str, tuple[Callable[[Path], Any], bytes]] = {
    "pack": (_read_pack, FILE),
    "pieces": (_read_pieces, FILE),
    "record": (_read_record, FILE),
    "model": (_load_model, MODEL_FILE),
    "verify": (_verify, FILE),
}


def _outcome(read: Callable[[Path], Any], path: Path) -> tuple[Any, BaseException | None]:
    try:
        return read(path), None
    except BaseException as error:
        return None, error


def _judge(
    wanted: Any, got: Any, error: BaseException | None, path: Path, held: int, code: int | None = None
) -> str | None:
    """What is wrong with the outcome of a read that met a fault, or None."""
    if descriptors() != held:
        return "a descriptor is left open"
    if error is None:
        return None if got == wanted else f"other bytes were read: {got!r:.80}"
    if not isinstance(error, RefimplError):
        return f"{type(error).__name__} escaped: {error}"
    if getattr(error, "kind", None) in CORRUPT:
        return f"a fault of the machine is called corruption: {error}"
    if isinstance(error, (BurnpackError, RecordError)) and error.path != str(path):
        return f"the error names {error.path}"
    if code is not None and getattr(error, "errno", None) != code:
        return f"errno {code} became {getattr(error, 'errno', None)}: {error}"
    return None


def every_errno_at_every_call(points: Points, folder: Path) -> None:
    """Each call of each way to read fails with each errno, once and from then on."""
    path = _file(folder, FILE)
    for how, (read, content) in READERS.items():
        path.write_bytes(content)
        wanted = read(path)
        with pytest.MonkeyPatch.context() as patch:
            counted = Faults(patch, -1, fails(0), READS)
            read(path)
        for at in range(len(counted.seen)):
            for lasting in (False, True):
                for code in ERRNOS:
                    held = descriptors()
                    with pytest.MonkeyPatch.context() as patch:
                        faults = Faults(patch, at, fails(code), READS, lasting=lasting)
                        got, error = _outcome(read, path)
                    points.add(f"read: {faults.hit[0]}", code)
                    if wrong := _judge(wanted, got, error, path, held, code if error else None):
                        points.find(f"{how}: {faults.hit[0]} (call {at}) fails: {os.strerror(code)}: {wrong}")


def short_reads(points: Points, folder: Path) -> None:
    """The system gives less than it was asked for: at every call, or at one."""
    path = _file(folder, FILE)
    for how, (read, content) in READERS.items():
        path.write_bytes(content)
        wanted = read(path)
        for most in (1, 7, 1000):
            with pytest.MonkeyPatch.context() as patch:
                real, reals = os.pread, os.preadv
                patch.setattr(os, "pread", lambda fd, n, at, m=most, r=real: r(fd, min(n, m), at))
                patch.setattr(os, "preadv", lambda fd, to, at, m=most, r=reals: r(fd, [to[0][: 50 * m]], at))
                got, error = _outcome(read, path)
            points.add("read: pread", "short")
            if error or got != wanted:
                points.find(f"{how}: at most {most} bytes a read: {error}")
        for at in range(12):
            with pytest.MonkeyPatch.context() as patch:
                faults = Faults(patch, at, _half, ("pread", "preadv"))
                got, error = _outcome(read, path)
            if faults.hit:
                points.add(f"read: {faults.hit[0]}", "half")
                if error or got != wanted:
                    points.find(f"{how}: read {at} gives half: {error}")


def _half(name: str, real: Callable[..., Any], fd: int, what: Any, at: int) -> Any:
    if name == "pread":
        return real(fd, max(what // 2, 1), at)
    return real(fd, [what[0][: max(len(what[0]) // 2, 1)]], at)


def a_file_that_changes(points: Points, folder: Path) -> None:
    """Before each call the file is cut, emptied, replaced, grown, written over, or deleted."""
    other = burnpack_bytes([entry(name, bytes(len(data))) for name, data in WANTED.items()])
    changes: dict[str, Callable[[Path], None]] = {
        "emptied": lambda p: os.truncate(p, 0),
        "cut in the metadata": lambda p: os.truncate(p, 50),
        "cut in the data": lambda p: os.truncate(p, 5000),
        "one byte short": lambda p: os.truncate(p, p.stat().st_size - 1),
        "grown": lambda p: _append(p, b"more"),
        "written over": lambda p: _write_over(p, other),
        "replaced": lambda p: _replace(p, other),
        "deleted": lambda p: p.unlink(),
    }
    for how, (read, content) in READERS.items():
        if how == "model":
            continue
        path = _file(folder, content)
        wanted = read(path)
        with pytest.MonkeyPatch.context() as patch:
            counted = Faults(patch, -1, fails(0), READS)
            read(path)
        for at in range(1, len(counted.seen)):
            for name, change in changes.items():
                path = _file(folder, content)
                held = descriptors()

                def changed(
                    _: str, real: Callable[..., Any], *args: Any, p: Path = path, c: Any = change, **more: Any
                ) -> Any:
                    c(p)
                    return real(*args, **more)

                with pytest.MonkeyPatch.context() as patch:
                    faults = Faults(patch, at, changed, READS)
                    got, error = _outcome(read, path)
                points.add("read: file changes", name)
                if wrong := _judge_change(how, wanted, got, error, path, held, counted.seen[:at]):
                    points.find(f"{how}: the file is {name} before {faults.hit[0]} (call {at}): {wrong}")


def _judge_change(
    how: str, wanted: Any, got: Any, error: BaseException | None, path: Path, held: int, before: list[str]
) -> str | None:
    """A change before the file's size was taken makes another file of it; later it may not be believed."""
    if "fstat" not in before:
        if error is None or isinstance(error, RefimplError):
            return None
        return f"{type(error).__name__} escaped: {error}"
    if how == "verify" and error is None and got != wanted:
        return f"a verdict on a file that was changed: {got!r:.80}"
    return _judge(wanted, got, error, path, held)


def odd_paths(points: Points, folder: Path) -> None:
    """What is no regular file, may not be opened, or is no name at all."""
    _file(folder, FILE)
    os.mkfifo(folder / "fifo.x")
    (folder / "folder.x").mkdir()
    (folder / "loop.x").symlink_to(folder / "loop.x")
    (folder / "empty.x").write_bytes(b"")
    special = ["/dev/zero", "/dev/null", "/dev/full", "/dev/random", "/proc/self/maps", "/proc/self/mem", "/"]
    paths = [str(p) for p in folder.iterdir() if p.name != "m.bpk"]
    paths += [p for p in special if os.path.exists(p)]
    paths += [
        "a\0b",
        "",
        "x" * 5000,
        str(folder / "no"),
        str(folder / "no" / "m.x"),
        str(folder / "m.bpk" / "x"),
    ]
    paths += [str(folder / "folder.x" / ".."), str(folder / "e\u0301\udc80")]
    for path in paths:
        for how, (read, _) in READERS.items():
            held = descriptors()
            _, error = _outcome(read, path)  # type: ignore[arg-type]
            points.add("open: path", how)
            ok = isinstance(error, RefimplError) or (how == "verify" and error is None)
            if not ok or descriptors() != held or not str(error).isprintable():
                points.find(f"{how}: {path!r:.60}: {type(error).__name__}: {error}")


def no_descriptors_left(points: Points, folder: Path) -> None:
    """The process has no descriptor left (RLIMIT_NOFILE)."""
    resource = pytest.importorskip("resource")
    path = _file(folder, FILE)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for how, (read, content) in READERS.items():
        path.write_bytes(content)
        wanted = read(path)
        held = descriptors()
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            got, error = _outcome(read, path)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        points.add("open: limit", errno.EMFILE)
        if error is None or (wrong := _judge(wanted, got, error, path, held, errno.EMFILE)):
            points.find(f"{how}: no descriptor is left: {error or got!r:.80} {error and wrong}")


def _file(folder: Path, content: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "m.bpk"
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))  # so that a later write shows in the time
    return path


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _write_over(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    path.with_name("other").write_bytes(data)
    os.replace(path.with_name("other"), path)
