"""Crashes while a file is saved: power lost after any call, a process that is killed or interrupted."""

from __future__ import annotations

import dis
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from refimpl.burnpack import atomic, writer
from tests.faults.oracle import SCRATCH, NothingLost
from tests.faults.points import Points
from tests.faults.saving import OLD, SCENARIOS, STRANGER, Scenario, prepared, quick_syncs, raised
from tests.faults.system import CALLS, Faults


@dataclass(frozen=True)
class Op:
    """One call that changed something; `file` is the number of an inode, `name` a name in the folder."""

    kind: str
    file: int = -1
    name: str = ""
    to: str = ""
    data: bytes = b""


def recorded(scenario: Scenario, target: Path) -> list[Op]:
    """The calls of one save, in order."""
    ops: list[Op] = []
    inodes: dict[int, int] = {}
    next_inode = itertools.count(1)
    real = {name: getattr(os, name) for name in CALLS}

    def opened(path: Any, flags: int, *more: Any) -> int:
        fd: int = real["open"](path, flags, *more)
        if flags & os.O_CREAT:
            existed = scenario.in_place and scenario.exists
            inodes[fd] = 0 if existed else next(next_inode)
            within, name = os.path.split(path)
            ops.append(Op("cut" if existed else "create", inodes[fd], name, within))
        else:
            inodes[fd] = -1
        return fd

    def write(fd: int, data: Any) -> int:
        done: int = real["write"](fd, data)
        ops.append(Op("write", inodes[fd], data=bytes(data)[:done]))
        return done

    def fsync(fd: int) -> None:
        ops.append(Op("sync folder") if inodes[fd] < 0 else Op("sync", inodes[fd]))

    def two(kind: str) -> Callable[[Any, Any], None]:
        def call(path: Any, to: Any) -> None:
            real[kind](path, to)
            ops.append(Op(kind, name=os.path.basename(path), to=os.path.basename(to)))

        return call

    def unlink(path: Any) -> None:
        real["unlink"](path)
        ops.append(Op("unlink", name=os.path.basename(path)))

    with pytest.MonkeyPatch.context() as patch:
        for name, call in (("open", opened), ("write", write), ("fsync", fsync), ("unlink", unlink)):
            patch.setattr(os, name, call)
        patch.setattr(os, "replace", two("replace"))
        patch.setattr(os, "link", two("link"))
        scenario.save(target)
    return ops


def states(ops: list[Op], old: bytes | None) -> Iterator[tuple[int, dict[str, bytes]]]:
    """What a disk may hold after a crash: the number of calls made, and the files by name.

    Names whose folder was not synced since may be changed or not, in any combination that is possible. Data
    that was not synced may be there, in part, or be zeros of the right length.
    """
    for made in range(len(ops) + 1):
        done = ops[:made]
        synced = max((i for i, op in enumerate(done) if op.kind == "sync folder"), default=-1)
        namings = [op for op in done[: synced + 1] if op.kind in _NAMING]
        loose = [op for op in done[synced + 1 :] if op.kind in _NAMING]
        contents = {
            inode: list(_contents(done, inode, old)) for inode in {op.file for op in done if op.file >= 0}
        }
        if old is not None:
            contents.setdefault(0, [old])
        for kept in itertools.product((True, False), repeat=len(loose)):
            names = _named([*namings, *itertools.compress(loose, kept)], old)
            if names is None:
                continue
            used = sorted(set(names.values()))
            for chosen in itertools.product(*(contents[inode] for inode in used)):
                held = dict(zip(used, chosen, strict=True))
                yield made, {name: held[inode] for name, inode in names.items()}


_NAMING = ("create", "replace", "link", "unlink")


def _named(ops: list[Op], old: bytes | None) -> dict[str, int] | None:
    """The names after these changes; None when one of them needs another that is missing."""
    names = {} if old is None else {"m.bpk": 0}
    for op in ops:
        if op.kind == "create":
            names[op.name] = op.file
        elif op.name not in names:
            return None
        elif op.kind == "link":
            names[op.to] = names[op.name]
        else:
            inode = names.pop(op.name)
            if op.kind == "replace":
                names[op.to] = inode
    return names


def _contents(ops: list[Op], inode: int, old: bytes | None) -> Iterator[bytes]:
    """What a file may hold: synced data for certain, the rest in any of the ways that disks lose it."""
    mine = [op for op in ops if op.file == inode]
    last = max((i for i, op in enumerate(mine) if op.kind == "sync"), default=-1)
    base = old or b"" if inode == 0 and not any(op.kind == "cut" for op in mine[: last + 1]) else b""
    certain = b"".join(op.data for op in mine[: last + 1] if op.kind == "write")
    loose = mine[last + 1 :]
    if any(op.kind == "cut" for op in loose):
        yield base
        base = b""
    base += certain
    pieces = [op.data for op in loose if op.kind == "write"]
    for count in range(len(pieces) + 1):
        whole = base + b"".join(pieces[:count])
        yield whole
        if count:
            yield whole[: len(whole) - len(pieces[count - 1]) // 2]
            yield base + bytes(len(whole) - len(base))
            yield whole[: len(whole) - len(pieces[count - 1])] + bytes(len(pieces[count - 1]))


def lost_power(points: Points, folder: Path, scenarios: tuple[Scenario, ...] = SCENARIOS) -> None:
    """After any call the power fails: the disk holds the old file or the new one."""
    for scenario in scenarios:
        target = prepared(folder, scenario)
        ops = recorded(scenario, target)
        old = OLD if scenario.exists else None
        outside = [op.name for op in ops if op.kind == "create" and op.to not in ("", str(folder))]
        if outside:
            points.find(f"{scenario.name}: scratch outside the target's folder: {outside}")
        for made, files in states(ops, old):
            points.add("save: crash", scenario.name)
            now = files.pop("m.bpk", None)
            wrong = ""
            if scenario.in_place:
                continue  # promises nothing but that no other file is touched
            if now not in (old, scenario.new):
                wrong = f"the target holds {now!r:.40} of {len(now or b'')} bytes"
            elif made == len(ops) and now != scenario.new:
                wrong = "the call returned, and the new file may be gone"
            elif len(files) > 1 or not all(SCRATCH.fullmatch(name) for name in files):
                wrong = f"left over: {list(files)}"
            if wrong:
                points.find(f"{scenario.name}: power lost after {made} of {len(ops)} calls: {wrong}")


def killed(points: Points, folder: Path, signals: tuple[int, ...] = (signal.SIGKILL, signal.SIGTERM)) -> None:
    """The process dies before any call: nothing but one scratch file of ours may be left."""
    for scenario in SCENARIOS:
        for number in signals:
            for at in itertools.count():
                target = prepared(folder, scenario)
                oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
                status = _in_child(lambda s=scenario, t=target, n=number, a=at: _signalled(s, t, n, a))
                if os.WIFEXITED(status):
                    break  # there are fewer calls than that
                points.add("save: killed", signal.Signals(number).name)
                try:
                    oracle.check(None, killed=True)
                except AssertionError as wrong:
                    points.find(f"{scenario.name}: {signal.Signals(number).name} at call {at}: {wrong}")
                left = [p.name for p in folder.iterdir() if p.name not in ("m.bpk", STRANGER)]
                if any(SCRATCH.fullmatch(name) is None for name in left):
                    points.find(f"{scenario.name}: left {left}")


def interrupted(points: Points, folder: Path) -> None:
    """Ctrl-C comes at any call: old or new, and no scratch."""
    for scenario in SCENARIOS:
        for at in itertools.count():
            target = prepared(folder, scenario)
            oracle = NothingLost(target, scenario.new, in_place=scenario.in_place)
            status = _in_child(lambda s=scenario, t=target, a=at: _signalled(s, t, signal.SIGINT, a))
            code = os.waitstatus_to_exitcode(status)
            if code == 0:
                break
            points.add("save: interrupted", "SIGINT at a call")
            try:
                assert code == 130, f"it ended with {code}"
                oracle.check(KeyboardInterrupt())
            except AssertionError as wrong:
                points.find(f"{scenario.name}: SIGINT at call {at}: {wrong}")


def _in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:  # pragma: no cover - the child leaves without a report
        code = 1
        try:
            work()
            code = 0
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _signalled(scenario: Scenario, target: Path, number: int, at: int) -> None:  # pragma: no cover
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def strike(name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        os.kill(os.getpid(), number)
        return real(*args, **more)

    patch = pytest.MonkeyPatch()
    Faults(patch, at, strike)
    scenario.save(target)


def interrupted_between_instructions(points: Points, folder: Path) -> None:
    """Ctrl-C comes wherever Python looks for signals: after any call and at the start of any function."""
    files = {atomic.__file__, writer.__file__}
    with quick_syncs():
        for scenario in SCENARIOS[:3]:
            for at in itertools.count():
                target = prepared(folder, scenario)
                oracle = NothingLost(target, scenario.new)
                strike = _Strike(files, at)
                before = sys.gettrace()  # of a coverage tool, perhaps
                sys.settrace(strike.trace)
                try:
                    error = raised(scenario.save, target)
                finally:
                    sys.settrace(before)
                if not strike.done:
                    break
                points.add("save: interrupted", "between instructions")
                try:
                    assert isinstance(error, KeyboardInterrupt), f"it ended with {error!r}"
                    oracle.check(error)
                except AssertionError as wrong:
                    points.find(f"{scenario.name}: interrupted in {strike.done}: {wrong}")


class _Strike:
    """Raises KeyboardInterrupt at the `at`-th place where a signal may be noticed."""

    def __init__(self, files: set[str], at: int) -> None:
        self.files = files
        self.left = at
        self.done = ""

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename not in self.files or self.done:
            return None
        frame.f_trace_opcodes = True
        if event == "call" or (event == "opcode" and frame.f_lasti in _after_calls(frame.f_code)):
            self.left -= 1
            if self.left < 0:
                self.done = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return self.trace


@cache
def _after_calls(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions that follow a call."""
    found = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    return frozenset(b.offset for a, b in itertools.pairwise(found) if a.opname.startswith("CALL"))
