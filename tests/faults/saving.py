"""Faults while a file is saved: every call with every errno, a disk that is full at every byte, and more."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import burnpack_bytes, write_burnpack
from refimpl.burnpack.writer import Item
from refimpl.module.module import Module
from refimpl.param.param import Param
from refimpl.record.record import ModuleRecord
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import Tensor
from tests.faults.oracle import NothingLost
from tests.faults.points import Points
from tests.faults.system import CALLS, Faults, fails

ERRNOS = (
    errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE,
    errno.ENAMETOOLONG, errno.EINTR,
)  # fmt: skip
STRANGER = "m.bpk.1-0.tmp"


def entry(name: str, data: bytes) -> Item:
    return name, TensorData(DType.U8, [len(data)], data), 1


OLD = burnpack_bytes([entry("old", b"o" * 300)])
#: Of three writes: small tensors are joined, large ones are written as they lie.
NEW = [entry("small", b"n" * 20), entry("large", b"N" * 70_000), entry("last", b"m" * 300)]


class Pair(Module):
    """A model of two parameters."""

    weight: Param[Tensor]
    bias: Param[Tensor]


MODEL = Pair(
    weight=Param.from_data([[1.0, 2.0], [3.0, 4.0]], Device("cpu")),
    bias=Param.from_data([5.0], Device("cpu")),
)


@dataclass(frozen=True)
class Scenario:
    """One way to save, and what lies there before."""

    name: str
    save: Callable[[Path], None]
    new: bytes
    exists: bool = True
    in_place: bool = False


def _pack(**how: Any) -> Callable[[Path], None]:
    return lambda path: write_burnpack(path, NEW, **how)


SCENARIOS = (
    Scenario("new", _pack(), burnpack_bytes(NEW), exists=False),
    Scenario("replace", _pack(), burnpack_bytes(NEW)),
    Scenario("overwrite=False", _pack(overwrite=False), burnpack_bytes(NEW), exists=False),
    Scenario("in place", _pack(in_place=True), burnpack_bytes(NEW), in_place=True),
    Scenario(
        "record", lambda p: ModuleRecord.collect(MODEL).save(p), ModuleRecord.collect(MODEL).into_bytes()
    ),
    Scenario("module", lambda p: MODEL.save_file(p), ModuleRecord.collect(MODEL).into_bytes()),
)


def prepared(folder: Path, scenario: Scenario) -> Path:
    """The target as the scenario wants it, readable by its owner alone, beside a stranger's scratch file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    target = folder / "m.bpk"
    (folder / STRANGER).write_bytes(b"a stranger's")
    if scenario.exists:
        target.write_bytes(OLD)
        target.chmod(0o600)
    return target


def raised(save: Callable[[Path], None], target: Path) -> BaseException | None:
    try:
        save(target)
    except BaseException as error:
        return error
    return None


@contextmanager
def quick_syncs() -> Iterator[None]:
    """Syncs that do nothing: what they are for is shown by replaying crashes, not by waiting for a disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


def every_errno_at_every_call(points: Points, folder: Path) -> None:
    """Each call fails with each errno, once and from then on."""
    with quick_syncs():
        for scenario in SCENARIOS:
            target = prepared(folder, scenario)
            with pytest.MonkeyPatch.context() as patch:
                counted = Faults(patch, -1, fails(0))
                scenario.save(target)
            count = len(counted.seen)
            for lasting in (False, True):
                for at in range(count):
                    for code in ERRNOS:
                        _one_errno(points, folder, scenario, at, code, lasting=lasting)


def _one_errno(
    points: Points, folder: Path, scenario: Scenario, at: int, code: int, *, lasting: bool
) -> None:
    target = prepared(folder, scenario)
    may_repeat = scenario.name != "overwrite=False"
    oracle = NothingLost(
        target,
        scenario.new,
        (lambda: scenario.save(target)) if may_repeat else None,
        in_place=scenario.in_place,
    )
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, at, fails(code), lasting=lasting)
        error = raised(scenario.save, target)
    points.add(f"save: {faults.hit[0]}", code)
    try:
        oracle.check(
            error,
            errno=None if error is None else code,
            # A scratch file that cannot be removed stays; a mode that cannot be asked for is the usual one.
            scratch_stays="unlink" in faults.hit,
            mode_changes="lstat" in faults.hit,
        )
    except AssertionError as wrong:
        where = f"{scenario.name}: {faults.hit[0]} (call {at}) fails with {os.strerror(code)}"
        points.find(f"{where}{' for ever' if lasting else ''}: {wrong}")


def full_at_every_byte(points: Points, folder: Path) -> None:
    """The file may have one byte less than it needs, two less, and so on (RLIMIT_FSIZE)."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard != resource.RLIM_INFINITY:
        points.notes.append("RLIMIT_FSIZE is set here already: the disk was not filled at every byte")
        return
    sizes = (20, 1200, 2000) if not points.full else (20, 1200, 2000, 9000)
    for size in sizes:
        entries = [entry("a", b"n" * size), entry("b", b"m" * 40)]
        for in_place in (False, True):
            new = burnpack_bytes(entries)
            how = Scenario("full", _saving(entries, in_place), new, in_place=in_place)
            target = prepared(folder, how)
            oracle = NothingLost(target, new, in_place=in_place)
            for limit in range(len(new)):
                if in_place:
                    target.write_bytes(OLD)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
                try:
                    error = raised(how.save, target)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                points.add("save: every byte", errno.EFBIG)
                try:
                    assert error is not None, "it was reported as saved"
                    oracle.check(error, errno=errno.EFBIG)
                except AssertionError as wrong:
                    points.find(f"full at byte {limit} of {len(new)}, in place {in_place}: {wrong}")


def _saving(entries: list[Item], in_place: bool) -> Callable[[Path], None]:
    return lambda path: write_burnpack(path, entries, in_place=in_place)


def short_writes(points: Points, folder: Path) -> None:
    """The system takes less than it is given: always, or at one call."""
    with quick_syncs():
        for scenario in SCENARIOS:
            for most in (1, 7, 255, 4096):
                if most == 1 and len(scenario.new) > 10_000 and not points.full:
                    continue
                target = prepared(folder, scenario)
                oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
                with pytest.MonkeyPatch.context() as patch:
                    _write_at_most(patch, most)
                    error = raised(scenario.save, target)
                points.add("save: write", "short")
                try:
                    assert error is None, f"it failed: {error}"
                    oracle.check(None)
                except AssertionError as wrong:
                    points.find(f"{scenario.name}: at most {most} bytes a write: {wrong}")
            for at in range(8):
                target = prepared(folder, scenario)
                oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
                with pytest.MonkeyPatch.context() as patch:
                    Faults(patch, at, lambda _, real, fd, data: real(fd, data[: len(data) // 2]), ("write",))
                    error = raised(scenario.save, target)
                points.add("save: write", "half")
                try:
                    oracle.check(error)
                    assert error is None, f"it failed: {error}"
                except AssertionError as wrong:
                    points.find(f"{scenario.name}: write {at} takes half: {wrong}")


def nothing_is_taken(points: Points, folder: Path) -> None:
    """A write that takes nothing and reports no error is an error, not a loop for ever."""
    for scenario in SCENARIOS[:4]:
        target = prepared(folder, scenario)
        oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
        with pytest.MonkeyPatch.context() as patch:
            calls = [0]

            def nothing(fd: int, data: Any, calls: list[int] = calls) -> int:
                calls[0] += 1
                if calls[0] > 100:  # it would go on for ever
                    raise KeyboardInterrupt
                return 0

            patch.setattr(os, "write", nothing)
            error = raised(scenario.save, target)
        points.add("save: write", "takes 0")
        try:
            assert not isinstance(error, KeyboardInterrupt), "it tries for ever"
            oracle.check(error)
        except AssertionError as wrong:
            points.find(f"{scenario.name}: a write takes nothing: {wrong}")


def _write_at_most(patch: pytest.MonkeyPatch, most: int) -> None:
    real = os.write
    patch.setattr(os, "write", lambda fd, data: real(fd, data[:most]))


def _gives(value: Any) -> Callable[[], Any]:
    return lambda: value


def _raises(error: BaseException) -> Callable[[], Any]:
    def give() -> Any:
        raise error

    return give


#: What the provider of a deferred tensor of four bytes may do instead of giving them.
PROVIDERS: dict[str, Callable[[], Any]] = {
    "too few": _gives(b"123"),
    "too many": _gives(b"12345"),
    "nothing": _gives(b""),
    "None": _gives(None),
    "text": _gives("1234"),
    "list": _gives([1, 2, 3, 4]),
    "not contiguous": _gives(memoryview(b"12345678")[::2]),
    "OSError": _raises(OSError(errno.ENOSPC, "no space")),
    "ValueError": _raises(ValueError("a\x1b[31m name\nof a stranger")),
    "KeyError": _raises(KeyError("k")),
    "RecursionError": _raises(RecursionError()),
    "StopIteration": _raises(StopIteration()),
    "MemoryError": _raises(MemoryError()),
    "interrupt": _raises(KeyboardInterrupt()),
}


def failing_providers(points: Points, folder: Path) -> None:
    """A deferred tensor fails, or gives another number of bytes, at each of five tensors."""
    with quick_syncs():
        for how in ({}, {"overwrite": False}, {"in_place": True}):
            for fault, provider in PROVIDERS.items():
                for at in range(5):
                    _one_provider(points, folder, how, fault, provider, at)


def _one_provider(
    points: Points, folder: Path, how: dict[str, Any], fault: str, provider: Callable[[], Any], at: int
) -> None:
    def save(path: Path, faulty: bool = True) -> None:
        gives = [provider if faulty and i == at else _gives(b"1234") for i in range(5)]
        items = [(f"t{i}", TensorData.deferred(DType.U8, [4], 4, give), 1) for i, give in enumerate(gives)]
        write_burnpack(path, items, **how)

    new = burnpack_bytes([entry(f"t{i}", b"1234") for i in range(5)])
    scenario = Scenario("provider", save, new, exists="overwrite" not in how, in_place="in_place" in how)
    target = prepared(folder, scenario)
    oracle = NothingLost(target, new, lambda: save(target, False), in_place=scenario.in_place)
    error = raised(save, target)
    points.add("save: provider", fault)
    try:
        assert error is not None, "it was reported as saved"
        oracle.check(error)
        if fault != "interrupt":
            assert f"t{at}" in str(error), f"the error does not name the tensor: {error}"
    except AssertionError as wrong:
        points.find(f"{how}: {fault} at tensor {at}: {wrong}")


def odd_places(points: Points, folder: Path) -> None:
    """A link, a folder in the way, a folder that vanishes or takes no files, names that are none."""
    for scenario in SCENARIOS[:3]:
        for at in range(len(CALLS) + 4):
            target = prepared(folder, scenario)
            elsewhere = folder.with_name("elsewhere")
            shutil.rmtree(elsewhere, ignore_errors=True)

            def vanish(name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
                os.rename(folder, elsewhere)  # noqa: B023
                return real(*args, **more)

            with pytest.MonkeyPatch.context() as patch:
                faults = Faults(patch, at, vanish)
                error = raised(scenario.save, target)
            if not faults.hit:
                continue
            points.add("save: folder", "vanishes")
            if elsewhere.exists():
                kept = (elsewhere / "m.bpk").read_bytes() if (elsewhere / "m.bpk").exists() else None
                wanted = (OLD if scenario.exists else None, scenario.new)
                if kept not in wanted or (error is None) != (
                    kept == scenario.new and at >= 0 and error is None
                ):
                    points.find(f"{scenario.name}: the folder vanishes at call {at}: {kept!r:.60}")
            if error is not None:
                try:
                    NothingLost(target, scenario.new)._error_is_typed(error, None)
                except AssertionError as wrong:
                    points.find(f"{scenario.name}: the folder vanishes at call {at}: {wrong}")
    for kind in ("link", "dangling link", "folder", "fifo"):
        for scenario in SCENARIOS:
            _one_odd_target(points, folder, kind, scenario)


def _one_odd_target(points: Points, folder: Path, kind: str, scenario: Scenario) -> None:
    target = prepared(folder, scenario)
    target.unlink(missing_ok=True)
    other = folder / "other"
    if kind == "link":
        other.write_bytes(OLD)
    if "link" in kind:
        target.symlink_to(other)
    elif kind == "folder":
        target.mkdir()
    else:
        os.mkfifo(target)
    if scenario.in_place and kind in ("link", "dangling link"):
        return  # a link is followed there, on purpose
    oracle = NothingLost(target, scenario.new)
    error = raised(scenario.save, target)
    points.add("save: target", kind)
    try:
        oracle.check(error, mode_changes=True)
    except AssertionError as wrong:
        points.find(f"{scenario.name}: the target is a {kind}: {wrong}")
