"""What "nothing lost" means after a save: eight checks, the same for every fault that was tried."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from refimpl.errors import BurnpackError, RecordError, RefimplError
from tests.faults.system import descriptors

#: What our scratch files are called.
SCRATCH: Final = re.compile(r".+\.\d+-\d+\.tmp")


@dataclass(frozen=True)
class FileState:
    """All of one file that a fault might change."""

    content: bytes
    mode: int
    mtime_ns: int
    link: str | None

    @classmethod
    def of(cls, path: Path) -> FileState:
        found = path.lstat()
        link = os.readlink(path) if path.is_symlink() else None
        content = path.read_bytes() if link is None and path.is_file() else b""
        return cls(content, found.st_mode & 0o7777, found.st_mtime_ns, link)


@dataclass(frozen=True)
class Snapshot:
    """A folder, and what this process holds open, at one moment."""

    files: dict[str, FileState]
    descriptors: int
    threads: int

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        names = os.listdir(folder) if folder.is_dir() else []
        files = {name: FileState.of(folder / name) for name in names}
        return cls(files, descriptors(), threading.active_count())


class NothingLost:
    """The oracle of one save: made before it, asked after it.

    Args:
        target: The file that is saved to.
        new: The bytes that a save without a fault gives it.
        again: The same save, to be repeated without the fault; None where the caller repeats it.
        in_place: The file is written over as it lies, so a failure may leave it cut short.
    """

    def __init__(
        self,
        target: Path,
        new: bytes,
        again: Callable[[], None] | None = None,
        *,
        in_place: bool = False,
    ) -> None:
        self.target = target
        self.new = new
        self.again = again
        self.in_place = in_place
        self.before = Snapshot.of(target.parent)

    def check(
        self,
        error: BaseException | None,
        *,
        errno: int | None = None,
        killed: bool = False,
        scratch_stays: bool = False,
        mode_changes: bool = False,
    ) -> None:
        """Raise AssertionError unless nothing was lost.

        Args:
            error: What the save raised, or None when it returned.
            errno: The number that the fault had, where it had one.
            killed: The process was killed in the middle: one scratch file of ours may lie there.
            scratch_stays: It could not be removed: that was the fault.
            mode_changes: The mode of the old file could not be asked for, or there is none to keep.
        """
        after = Snapshot.of(self.target.parent)
        self._target_is_old_or_new(after, error, killed=killed)
        self._others_are_untouched(after, scratch=killed or scratch_stays)
        if not mode_changes:
            self._mode_is_kept(after)
        # One that was opened when there was no memory to remember its number cannot be closed.
        if not killed and not isinstance(error, MemoryError):
            self._nothing_is_held(after)
        if error is not None:
            self._error_is_typed(error, errno)
        if self.again is not None:
            self._repeats()

    def target_is_whole(self, *, killed: bool, returned: bool, scratch_stays: bool) -> None:
        """The checks of what lies in the folder, for a save in another process, whose error is not known."""
        after = Snapshot.of(self.target.parent)
        error = None if returned or killed else KeyboardInterrupt()
        self._target_is_old_or_new(after, error, killed=killed)
        self._others_are_untouched(after, scratch=killed or scratch_stays)

    def _target_is_old_or_new(self, after: Snapshot, error: BaseException | None, *, killed: bool) -> None:
        """Checks 1 and 2."""
        old, now = self.before.files.get(self.target.name), after.files.get(self.target.name)
        is_new = now is not None and now.content == self.new and now.link is None
        if error is None and not killed:
            assert is_new, "the call returned, and the target is not the new file"
        elif self.in_place:
            assert now == old or now is not None, "the target is gone"
            assert now is None or now == old or self.new.startswith(now.content), (
                "the target holds other bytes"
            )
        elif killed or isinstance(error, (KeyboardInterrupt, MemoryError)):
            assert now == old or is_new, "the target is neither the old file nor the new one"
        elif saved_all_the_same(error):
            assert is_new, "the error says that it was saved, and the target is not the new file"
        else:
            assert now == old, "the call failed, and the target is not the old file"

    def _others_are_untouched(self, after: Snapshot, *, scratch: bool) -> None:
        """Checks 3 and 4."""
        gone = self.before.files.keys() - after.files.keys() - {self.target.name}
        assert not gone, f"files of others are gone: {gone}"
        for name, state in self.before.files.items():
            assert name == self.target.name or after.files[name] == state, f"{name} of another was changed"
        left = after.files.keys() - self.before.files.keys() - {self.target.name}
        assert all(SCRATCH.fullmatch(name) for name in left), f"unknown files are left: {left}"
        assert len(left) <= scratch, f"scratch is left: {left}"

    def _mode_is_kept(self, after: Snapshot) -> None:
        """Check 5: of a regular file that was replaced."""
        old, now = self.before.files.get(self.target.name), after.files.get(self.target.name)
        if old is not None and now is not None and old.link is None:
            assert now.mode == old.mode, f"the mode {old.mode:o} became {now.mode:o}"

    def _nothing_is_held(self, after: Snapshot) -> None:
        """Check 6."""
        assert after.descriptors == self.before.descriptors, "a descriptor is left open"
        assert after.threads == self.before.threads, "a thread is left"

    def _repeats(self) -> None:
        """Check 7."""
        assert self.again is not None
        self.again()
        assert self.target.read_bytes() == self.new, "repeated without the fault, it gave other bytes"

    def _error_is_typed(self, error: BaseException, errno: int | None) -> None:
        """Check 8."""
        if isinstance(error, (KeyboardInterrupt, MemoryError)):
            return
        assert isinstance(error, RefimplError), f"{type(error).__name__} escaped: {error}"
        if errno is not None:
            assert isinstance(error, (BurnpackError, RecordError))
            assert error.errno == errno, f"errno {errno} became {error.errno}"
            assert error.path == str(self.target), f"the error names {error.path}"
        assert str(error).isprintable(), f"a raw control character in {str(error)!r}"


def saved_all_the_same(error: BaseException | None) -> bool:
    """Whether the error says that the new file is in place: it comes after the rename (BPK-33)."""
    return "was saved" in str(error)
