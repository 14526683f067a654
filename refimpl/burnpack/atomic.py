"""Writing a file so that its name never stands for half of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from types import TracebackType
from typing import Final, Self

from ..errors import BurnpackError
from .paths import file_name, shown_path
from .refusal import cause, io

_FLAGS: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
#: One counter for the process: two writers of one file take different names.
_NEXT: Final = itertools.count()
_POSIX: Final = os.name == "posix"


class AtomicFile:
    """A scratch file beside `destination`, which takes its place when complete and is removed otherwise.

    The scratch name is `{name}.{pid}-{n}.tmp`. The mode bits of a file that is replaced are on the scratch
    file before any data is. A symbolic link at the destination is replaced, not followed.

    Burn: burn_pack::AtomicFile
    Clauses: BPK-30, BPK-31, BPK-32, BPK-33.
    """

    __slots__ = ("_closed", "_fds", "_published", "destination", "path")

    def __init__(self, destination: str) -> None:
        """Prepare to write `destination`; entering the `with` block makes the scratch file.

        Raises:
            BurnpackError: the destination names no file.
        """
        if file_name(destination)[0] is None:
            raise io(
                f"cannot write to '{shown_path(destination)}': not a file path",
                clause="BPK-29",
                path=destination,
            )
        self.destination = destination
        self.path = ""
        self._fds: list[int] = []
        self._closed = self._published = False

    def _create(self) -> None:
        name, start, _ = file_name(self.destination)
        mode = _mode_of(self.destination)
        while True:
            self.path = f"{self.destination[:start]}{name}.{os.getpid()}-{next(_NEXT)}.tmp"
            try:
                # No interrupt comes between this call and the list: a file that nobody knew of would stay.
                self._fds.extend(map(os.open, (self.path,), (_FLAGS,), (0o666 if mode is None else 0o600,)))
                break
            except FileExistsError:
                continue
            except (OSError, ValueError) as error:
                raise self._failed(f"cannot create '{shown_path(self.path)}'", error, "BPK-33") from error
        if mode is not None:
            try:
                os.fchmod(self._fds[0], mode)
            except OSError as error:
                raise self._failed(
                    f"cannot carry the permissions of '{shown_path(self.destination)}' onto the file "
                    "replacing it",
                    error,
                    "BPK-30",
                ) from error

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append all of `data`, in as many calls as the system takes.

        Raises:
            BurnpackError: the system refuses.
        """
        try:
            write_all(self._fds[0], data)
        except OSError as error:
            raise self._failed(f"cannot write to '{shown_path(self.path)}'", error, "BPK-33") from error

    def publish(self, *, overwrite: bool = True) -> None:
        """Sync the file and give it the destination's name; without `overwrite` only where none stands.

        Raises:
            BurnpackError: before the destination changed, or after: the message then says that it was saved.
        """
        try:
            os.fsync(self._fds[0])
            self._closed = True
            os.close(self._fds[0])
        except OSError as error:
            raise self._failed(f"cannot flush '{shown_path(self.path)}' to disk", error, "BPK-33") from error
        if overwrite:
            self._rename()
        else:
            self._link()

    def _rename(self) -> None:
        try:
            os.replace(self.path, self.destination)
        except OSError as error:
            raise self._failed(
                f"cannot move the completed container '{shown_path(self.path)}' onto "
                f"'{shown_path(self.destination)}'",
                error,
                "BPK-33",
            ) from error
        self._published = True
        self._sync_folder()

    def _link(self) -> None:
        try:
            os.link(self.path, self.destination)
        except FileExistsError:
            raise already_exists(self.destination) from None
        except OSError as refused:
            self._rename_if_absent(refused)
            return
        try:
            os.unlink(self.path)
        except OSError as error:
            raise self._failed(
                f"'{shown_path(self.destination)}' was saved, but its scratch link '{shown_path(self.path)}' "
                "could not be removed",
                error,
                "BPK-32",
            ) from error
        self._published = True
        self._sync_folder()

    def _rename_if_absent(self, refused: OSError) -> None:
        """For file systems without hard links: look, then rename; another writer may come between."""
        try:
            os.lstat(self.destination)
        except FileNotFoundError:
            try:
                self._rename()
            except BurnpackError as error:
                raise io(
                    f"{error.message.removeprefix('I/O error: ')} (after linking failed: {cause(refused)})",
                    clause="BPK-32",
                    path=self.destination,
                    errno=error.errno,
                ) from error
            return
        except OSError as error:
            raise self._failed(
                f"cannot link '{shown_path(self.path)}' onto '{shown_path(self.destination)}' "
                f"({cause(refused)}), nor check whether it exists",
                error,
                "BPK-32",
            ) from error
        raise already_exists(self.destination)

    def _sync_folder(self) -> None:
        """Make the new name durable: it is in place by now, whatever happens here."""
        if not _POSIX:
            return
        _, start, _ = file_name(self.destination)
        opened: list[int] = []
        try:
            try:
                opened.extend(map(os.open, (self.destination[:start] or ".",), (os.O_RDONLY | os.O_CLOEXEC,)))
                os.fsync(opened[0])
            finally:
                for fd in opened:
                    os.close(fd)
        except OSError as error:
            raise self._failed(
                f"'{shown_path(self.destination)}' was saved, but syncing its directory failed, "
                "so it may not survive power loss",
                error,
                "BPK-33",
            ) from error

    def _discard(self) -> None:
        """Close and remove the scratch file, unless it was published. What failed first is what is told."""
        if not self._fds:
            return
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):
                os.close(self._fds[0])
        if not self._published:
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def _failed(self, what: str, error: OSError | ValueError, clause: str) -> BurnpackError:
        return io(
            f"{what}: {cause(error)}",
            clause=clause,
            path=self.destination,
            errno=error.errno if isinstance(error, OSError) else None,
        )

    def __enter__(self) -> Self:
        """Make the scratch file.

        Raises:
            BurnpackError: the folder takes none, or not with the mode of the old file.
        """
        try:
            self._create()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()


def already_exists(path: str) -> BurnpackError:
    """Something stands where nothing was to be replaced."""
    return BurnpackError(
        f"File already exists: {shown_path(path)}. To replace it, use .overwrite(true), or "
        "AtomicFile::commit instead of commit_new.",
        kind="AlreadyExists",
        clause="BPK-32",
        path=path,
        hint="overwrite=True replaces it",
    )


def write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    """All of `data`, in as many calls as the system takes.

    Raises:
        OSError: the system refuses, or takes nothing, which would go on for ever.
    """
    written = os.write(fd, data)
    if written < len(data):
        _write_rest(fd, memoryview(data)[written:])


def _write_rest(fd: int, rest: memoryview) -> None:
    while rest:
        written = os.write(fd, rest)
        if not written:
            raise OSError("failed to write whole buffer")
        rest = rest[written:]


def _mode_of(destination: str) -> int | None:
    """The mode bits to keep: those of a regular file that is about to be replaced."""
    if not _POSIX:
        return None
    try:
        found = os.lstat(destination)
    except (OSError, ValueError):
        return None
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else None
