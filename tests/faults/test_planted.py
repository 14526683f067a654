"""The tests have teeth: ten faults, planted one by one, and the matrix that catches each."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refimpl.burnpack import atomic, reader, refusal, source, stream, writer
from refimpl.burnpack.atomic import AtomicFile
from refimpl.burnpack.source import FileSource
from refimpl.conformance import process, protocol
from refimpl.errors import SubjectError
from tests.burnpack.containers import descriptor, pack
from tests.faults import crash, memory, reading, saving
from tests.faults.points import Points
from tests.fuzz.targets import reader as fuzz_reader

Plant = Callable[[pytest.MonkeyPatch], None]


def no_sync(patch: pytest.MonkeyPatch) -> None:
    """`publish` without a sync of the file."""
    publish = AtomicFile.publish

    def planted(self: AtomicFile, *, overwrite: bool = True) -> None:
        with pytest.MonkeyPatch.context() as inner:
            real = os.fsync
            inner.setattr(os, "fsync", lambda fd: None if fd == self._fds[0] else real(fd))
            publish(self, overwrite=overwrite)

    patch.setattr(AtomicFile, "publish", planted)


def sync_after_the_rename(patch: pytest.MonkeyPatch) -> None:
    """The scratch file takes its name first and is synced then."""

    def planted(self: AtomicFile, *, overwrite: bool = True) -> None:
        (self._rename if overwrite else self._link)()
        os.fsync(self._fds[0])

    patch.setattr(AtomicFile, "publish", planted)


def scratch_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """The scratch file lies outside the target's folder: no rename reaches across file systems."""
    create = AtomicFile._create

    def planted(self: AtomicFile) -> None:
        wanted, (above, name) = self.destination, os.path.split(self.destination)
        self.destination = os.path.join(os.path.dirname(above), name)
        try:
            create(self)
        finally:
            self.destination = wanted

    patch.setattr(AtomicFile, "_create", planted)


def one_write(patch: pytest.MonkeyPatch) -> None:
    """A short write is taken for a whole one."""
    patch.setattr(atomic, "write_all", lambda fd, data: os.write(fd, data))


def unlink_after_the_rename(patch: pytest.MonkeyPatch) -> None:
    """Cleaning up removes the target when something fails after the rename."""
    discard = AtomicFile._discard

    def planted(self: AtomicFile) -> None:
        failed = sys.exc_info()[0] is not None
        discard(self)
        if failed and self._published:
            with contextlib.suppress(OSError):
                os.unlink(self.destination)

    patch.setattr(AtomicFile, "_discard", planted)


def errors_ignored(patch: pytest.MonkeyPatch) -> None:
    """`except OSError: pass` around a write."""

    def planted(fd: int, data: Any) -> None:
        with contextlib.suppress(OSError):
            while data:
                data = memoryview(data)[os.write(fd, data) :]

    patch.setattr(atomic, "write_all", planted)


def fixed_scratch_name(patch: pytest.MonkeyPatch) -> None:
    """Whatever lies at the scratch name is taken over."""
    patch.setattr(atomic, "_FLAGS", atomic._FLAGS & ~os.O_EXCL)
    patch.setattr(atomic, "_NEXT", itertools.repeat(0))
    patch.setattr(os, "getpid", lambda: 1)


def memory_before_the_check(patch: pytest.MonkeyPatch) -> None:
    """Memory is taken for the length that the header claims before the file's size is looked at."""
    real = reader.decode_header

    def planted(head: bytes) -> int:
        size = real(head)
        bytes(size)  # filled with zeros: really taken
        return size

    patch.setattr(reader, "decode_header", planted)


def raw_names(patch: pytest.MonkeyPatch) -> None:
    """Messages hold names as they are."""
    for module in (refusal, reader, writer, source):
        patch.setattr(module, "shown", lambda name: name)
    patch.setattr("refimpl.burnpack.verify.shown", lambda name: name)


def a_read_is_whole(patch: pytest.MonkeyPatch) -> None:
    """A short read is taken for a whole one, and the rest is zeros."""
    real = FileSource._pread

    def planted(self: FileSource, fd: int, length: int, start: int) -> bytes:
        return real(self, fd, length, start).ljust(length, b"\0")

    patch.setattr(FileSource, "_pread", planted)


def memory_errors_are_corruption(patch: pytest.MonkeyPatch) -> None:
    """Running out of memory is told as broken metadata."""
    real = stream.Stream._take

    def planted(self: stream.Stream, length: int) -> bytes:
        try:
            return real(self, length)
        except MemoryError:
            raise stream.end_of_data() from None

    patch.setattr(stream.Stream, "_take", planted)


def a_changed_file_is_believed(patch: pytest.MonkeyPatch) -> None:
    """Whether the file changed since it was opened is not asked."""
    real = os.fstat
    kept: dict[int, os.stat_result] = {}
    patch.setattr(os, "fstat", lambda fd: kept.setdefault(fd, real(fd)))
    close = os.close
    patch.setattr(os, "close", lambda fd: (kept.pop(fd, None), close(fd))[1])


CAUGHT_BY: dict[str, tuple[Plant, Callable[[Points, Path], None]]] = {
    "no sync": (no_sync, crash.lost_power),
    "sync after the rename": (sync_after_the_rename, crash.lost_power),
    "scratch outside the target's folder": (scratch_elsewhere, crash.lost_power),
    "no loop on a short write": (one_write, saving.short_writes),
    "the target is unlinked after the rename": (unlink_after_the_rename, saving.every_errno_at_every_call),
    "except OSError: pass": (errors_ignored, saving.full_at_every_byte),
    "a stranger's scratch file is taken over": (fixed_scratch_name, saving.short_writes),
    "memory before the length is checked": (memory_before_the_check, memory.ceilings),
    "no memory is called corruption": (memory_errors_are_corruption, memory.allocation_fails),
    "a short read is taken for a whole one": (a_read_is_whole, reading.short_reads),
    "a changed file is believed": (a_changed_file_is_believed, reading.a_file_that_changes),
}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("fault", CAUGHT_BY)
def test_a_planted_fault_is_caught(
    fault: str, points: Points, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, matrix = CAUGHT_BY[fault]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with contextlib.suppress(AssertionError):
            matrix(points, folder)

    assert points.found, f"nothing noticed: {fault}"


def test_error_texts_with_raw_names_are_caught() -> None:
    hostile = pack({"tensors": {"\x1b[2J": descriptor(shape=[9])}}, bytes(8))
    fuzz_reader(hostile)
    with pytest.MonkeyPatch.context() as patch:
        raw_names(patch)
        with pytest.raises(AssertionError):
            fuzz_reader(hostile)


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud800"'])
def test_json_in_place_of_msgspec_is_caught(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f'{{"id": 1, "ok": {{"steps": [{{"ok": {value}}}]}}}}'.encode()

    def believed() -> bool:
        try:
            return bool(protocol.read_trace(protocol.decode(line, 1), 1))
        except SubjectError:
            return False

    def answer(raw: bytes) -> SimpleNamespace:
        found = json.loads(raw)
        ok = json.dumps(found["ok"]).encode()
        return SimpleNamespace(id=found["id"], ok=ok, error=protocol.msgspec.UNSET)

    def trace(raw: bytes) -> SimpleNamespace:
        steps = [SimpleNamespace(one_of=protocol.msgspec.UNSET, ok=s["ok"]) for s in json.loads(raw)["steps"]]
        return SimpleNamespace(steps=steps)

    assert not believed()
    monkeypatch.setattr(protocol, "_answer", SimpleNamespace(decode=answer))
    monkeypatch.setattr(protocol, "_trace", SimpleNamespace(decode=trace))
    assert believed()


#: A subject that leaves a grandchild in a session of its own, and ends.
LEAVER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
        os.closerange(0, 3)
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descendants are found on Linux only")
def test_killing_the_group_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = tmp_path / "straight.py"
    straight.write_text("import os, sys\nos.execvp(sys.argv[2], sys.argv[2:])\n", "utf-8")
    alive = {}
    for keeper in (process._KEEPER, str(straight)):
        monkeypatch.setattr(process, "_KEEPER", keeper)
        told = tmp_path / f"{Path(keeper).stem}.pid"
        with pytest.raises(SubjectError):
            process.ProcessSubject([sys.executable, "-c", LEAVER, str(told)], str(tmp_path))
        grandchild = int(told.read_text())
        alive[Path(keeper).stem] = running(grandchild)
        with contextlib.suppress(ProcessLookupError):
            os.kill(grandchild, signal.SIGKILL)

    assert alive == {"keeper": False, "straight": True}


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
