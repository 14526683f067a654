"""Saving: the old file or the new one, whole, whatever fails."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack import atomic
from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.errors import BurnpackError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.faults.system import Faults, descriptors, fails, folder


def entry(name: str, data: bytes) -> tuple[str, TensorData, int]:
    return name, TensorData(DType.U8, [len(data)], data), 1


OLD = [entry("old", b"o" * 300)]
NEW = [entry("small", b"n" * 20), entry("large", b"N" * 100_000), entry("last", b"m" * 300)]
ERRNOS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A good file, readable by its owner alone, beside somebody else's scratch file."""
    path = tmp_path / "m.bpk"
    write_burnpack(path, OLD)
    path.chmod(0o600)
    (tmp_path / "m.bpk.1-0.tmp").write_bytes(b"a stranger's")
    return path


def calls_of_a_save(target: Path, *, overwrite: bool = True) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, -1, fails(0))
        write_burnpack(target, NEW, overwrite=overwrite)
    return faults.seen


@pytest.mark.clause("BPK-30", "BPK-33")
@pytest.mark.report("BL-17")
@pytest.mark.parametrize("code", ERRNOS)
def test_whatever_call_fails_the_file_is_the_old_or_the_new_one_and_nothing_is_left(
    code: int, target: Path
) -> None:
    before = folder(target.parent)
    count = len(calls_of_a_save(target))
    new = folder(target.parent)
    write_burnpack(target, OLD)
    assert folder(target.parent) == before
    for at in range(count):
        open_before = descriptors()
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, at, fails(code))
            try:
                write_burnpack(target, NEW)
                failed = None
            except BurnpackError as error:
                failed = error
        after = folder(target.parent)
        assert descriptors() == open_before
        if failed is None:
            # Not being able to look at the old file means a new one with the usual mode; so does Burn.
            assert faults.seen[at] in ("lstat",)
        else:
            assert (failed.path, failed.errno, failed.kind) == (str(target), code, "IoError")
            published = "replace" in faults.seen[:at]
            assert after == (new if published else before)
            assert ("was saved" in str(failed)) == published
        write_burnpack(target, OLD)
        target.chmod(0o600)


@pytest.mark.clause("BPK-32")
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_publishing_by_a_link_loses_nothing_either(code: int, tmp_path: Path) -> None:
    target = tmp_path / "m.bpk"
    count = len(calls_of_a_save(target, overwrite=False))
    new = folder(tmp_path)
    target.unlink()
    for at in range(count):
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, at, fails(code))
            try:
                write_burnpack(target, NEW, overwrite=False)
                text = ""
            except BurnpackError as error:
                text = str(error)
        after = folder(tmp_path)
        if faults.seen[at] in ("link", "lstat"):
            assert (text, after) == ("", new)  # renamed instead, once the destination is known to be absent
        elif faults.seen[at] == "unlink":
            assert "could not be removed" in text
            assert after["m.bpk"] == new["m.bpk"]
        elif "was saved" in text:
            assert after == new
        else:
            assert after == {}
        for path in tmp_path.iterdir():
            path.unlink()


@pytest.mark.clause("BPK-33")
@pytest.mark.parametrize(
    ("call", "nth", "text"),
    [
        ("open", 0, "I/O error: cannot create '{scratch}': Input/output error (os error 5)"),
        (
            "fchmod",
            0,
            "I/O error: cannot carry the permissions of '{target}' onto the file replacing it: "
            "Input/output error (os error 5)",
        ),
        ("write", 1, "I/O error: cannot write to '{scratch}': Input/output error (os error 5)"),
        ("fsync", 0, "I/O error: cannot flush '{scratch}' to disk: Input/output error (os error 5)"),
        (
            "replace",
            0,
            "I/O error: cannot move the completed container '{scratch}' onto '{target}': "
            "Input/output error (os error 5)",
        ),
        (
            "fsync",
            1,
            "I/O error: '{target}' was saved, but syncing its directory failed, so it may not survive power "
            "loss: Input/output error (os error 5)",
        ),
    ],
)
def test_a_call_that_fails_is_told_in_burns_words(
    call: str, nth: int, text: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_NEXT", itertools.count(7))
    Faults(monkeypatch, nth, fails(errno.EIO), (call,))
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(target, NEW)

    scratch = f"{target}.{os.getpid()}-7.tmp"
    assert str(caught.value) == text.format(scratch=scratch, target=target)


def test_the_file_may_be_full_at_every_byte(target: Path) -> None:
    resource = pytest.importorskip("resource")
    before = folder(target.parent)
    size = len(burnpack_bytes(NEW[::2]))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard != resource.RLIM_INFINITY:
        pytest.skip("the size of files is limited here already")
    try:
        for limit in range(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            with pytest.raises(BurnpackError, match="cannot write to") as caught:
                write_burnpack(target, NEW[::2])
            assert caught.value.errno == errno.EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert folder(target.parent) == before


@pytest.mark.parametrize("taken", [1, 7, 1000])
def test_a_system_that_writes_less_than_asked_for_is_asked_again(
    taken: int, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, memoryview(data)[:taken]))
    write_burnpack(target, NEW[::2])

    assert target.read_bytes() == burnpack_bytes(NEW[::2])


@pytest.mark.report("BL-17")
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError, MemoryError])
@pytest.mark.parametrize("at", range(5))
def test_a_deferred_tensor_that_fails_leaves_the_old_file(
    error: type[BaseException], at: int, target: Path
) -> None:
    before = folder(target.parent)

    def provider(index: int) -> bytes:
        if index == at:
            raise error
        return b"1234"

    entries = [
        (str(i), TensorData.deferred(DType.U8, [4], 4, lambda i=i: provider(i)), 1)  # type: ignore[misc]
        for i in range(5)
    ]
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - KeyboardInterrupt is one of them
        write_burnpack(target, entries)
    if error is not KeyboardInterrupt:
        assert f"tensor '{at}'" in str(caught.value)
    assert folder(target.parent) == before


@pytest.mark.clause("BPK-30")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_the_mode_of_the_old_file_is_there_before_any_data(
    mode: int, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.chmod(mode)
    modes: set[int] = set()
    real = os.write

    def write(fd: int, data: Any) -> int:
        modes.add(os.fstat(fd).st_mode & 0o7777)
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    write_burnpack(target, NEW)

    assert modes == {mode}
    assert target.stat().st_mode & 0o7777 == mode


@pytest.mark.clause("BPK-30")
def test_a_new_file_has_the_mode_that_the_process_gives(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_burnpack(tmp_path / "m", NEW)
    finally:
        os.umask(old)

    assert (tmp_path / "m.bpk").stat().st_mode & 0o7777 == 0o640


@pytest.mark.clause("BPK-31")
@pytest.mark.report("BL-17")
def test_a_symbolic_link_is_replaced_and_what_it_named_stays(target: Path) -> None:
    other = target.with_name("other")
    target.rename(other)
    target.symlink_to(other)
    old = other.read_bytes()
    write_burnpack(target, NEW)

    assert not target.is_symlink()
    assert other.read_bytes() == old
    assert target.stat().st_mode & 0o7777 != 0o600


@pytest.mark.clause("BPK-32")
def test_without_overwrite_an_existing_file_stays_and_is_named(target: Path) -> None:
    before = folder(target.parent)
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(target, NEW, overwrite=False)

    assert caught.value.kind == "AlreadyExists"
    assert str(caught.value) == (
        f"File already exists: {target}. To replace it, use .overwrite(true), or AtomicFile::commit instead "
        "of commit_new."
    )
    assert folder(target.parent) == before


@pytest.mark.clause("BPK-32")
@pytest.mark.parametrize("exists", [False, True])
def test_without_hard_links_the_destination_is_looked_at_first(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "m.bpk"
    if exists:
        target.write_bytes(b"old")
    Faults(monkeypatch, 0, fails(errno.EPERM), ("link",))
    if exists:
        with pytest.raises(BurnpackError, match="File already exists"):
            write_burnpack(target, NEW, overwrite=False)
    else:
        write_burnpack(target, NEW, overwrite=False)

    assert [p.name for p in tmp_path.iterdir()] == ["m.bpk"]
    assert (target.read_bytes() == b"old") == exists


@pytest.mark.clause("BPK-32")
def test_when_neither_link_nor_rename_works_both_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faults(monkeypatch, 0, fails(errno.EPERM), ("link",))
    Faults(monkeypatch, 0, fails(errno.EIO), ("replace",))
    with pytest.raises(BurnpackError, match=r"cannot move the completed container .* \(after linking failed"):
        write_burnpack(tmp_path / "m", NEW, overwrite=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.clause("BPK-32")
def test_when_the_destination_cannot_be_looked_at_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faults(monkeypatch, 0, fails(errno.EPERM), ("link",))
    Faults(monkeypatch, 1, fails(errno.EIO), ("lstat",))
    with pytest.raises(BurnpackError, match="nor check whether it exists: Input/output error"):
        write_burnpack(tmp_path / "m", NEW, overwrite=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.clause("BPK-30")
def test_a_scratch_name_that_is_taken_is_left_alone(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_NEXT", itertools.count(0))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    write_burnpack(target, NEW)

    assert (target.parent / "m.bpk.1-0.tmp").read_bytes() == b"a stranger's"
    assert sorted(p.name for p in target.parent.iterdir()) == ["m.bpk", "m.bpk.1-0.tmp"]


@pytest.mark.clause("BPK-30")
@pytest.mark.report("BL-48")
def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(tmp_path / "no" / "m.bpk", NEW)

    assert str(caught.value).startswith(f"I/O error: cannot create '{tmp_path}/no/m.bpk.{os.getpid()}-")
    assert str(caught.value).endswith(".tmp': No such file or directory (os error 2)")


@pytest.mark.clause("BPK-30")
def test_an_error_of_the_plan_touches_no_file(target: Path) -> None:
    before = folder(target.parent)
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, -1, fails(0))
        with pytest.raises(BurnpackError, match="Duplicate"):
            write_burnpack(target, [*NEW, *NEW])
    assert faults.seen == []
    assert folder(target.parent) == before


@pytest.mark.report("BL-17")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the child only makes calls and dies
def test_a_process_killed_at_any_call_leaves_the_old_or_the_new_file(target: Path) -> None:
    before = folder(target.parent)
    count = len(calls_of_a_save(target))
    new = folder(target.parent)["m.bpk"]
    for at in range(count):
        write_burnpack(target, OLD)
        target.chmod(0o600)
        child = os.fork()
        if child == 0:  # pragma: no cover - the child is killed
            _die_at(at, target)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        after = folder(target.parent)
        assert after.pop("m.bpk") in (before["m.bpk"], new)
        scratch = [name for name in after if name != "m.bpk.1-0.tmp"]
        assert len(scratch) <= 1
        for name in scratch:
            assert name.startswith(f"m.bpk.{child}-")
            (target.parent / name).unlink()


def _die_at(at: int, target: Path) -> None:  # pragma: no cover - runs in the child
    seen = itertools.count()

    def watched(real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            if next(seen) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return call

    for name in ("open", "fchmod", "write", "fsync", "close", "replace", "link", "unlink", "lstat"):
        setattr(os, name, watched(getattr(os, name)))
    try:
        write_burnpack(target, NEW)
    finally:
        os._exit(0)


RACE = """
import sys
from refimpl.burnpack.api import write_burnpack
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
for _ in range(40):
    write_burnpack(sys.argv[1], [("w", TensorData(DType.U8, [50000], sys.argv[2].encode() * 50000), 1)])
"""


def test_two_writers_and_a_reader_meet_whole_files_only(tmp_path: Path) -> None:
    target = tmp_path / "m.bpk"
    write_burnpack(target, [entry("w", b"a" * 50_000)])
    writers = [subprocess.Popen([sys.executable, "-c", RACE, str(target), who]) for who in "ab"]
    while any(writer.poll() is None for writer in writers):
        with open_burnpack(target) as found:
            assert bytes(found["w"].data.bytes) in (b"a" * 50_000, b"b" * 50_000)

    assert [writer.wait() for writer in writers] == [0, 0]
    assert [p.name for p in tmp_path.iterdir()] == ["m.bpk"]
