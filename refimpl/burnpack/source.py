"""Where the bytes of a container are read from: a kept descriptor, or memory."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from typing import Final, Protocol

from ..errors import ArgumentTypeError, ResourceError
from ..tensor.data import fresh_memory
from .paths import shown_path
from .refusal import cause, io, shown

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO without a writer would hold us for ever
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
#: Reads up to the first are answered from a block of the second, so that many small tensors are few calls.
_SMALL: Final = 1 << 12
_BLOCK: Final = 1 << 16


class Source(Protocol):
    """Bytes at positions. `size` is how many there were when it was opened."""

    size: int
    path: str | None

    def read(self, start: int, length: int, tensor: str | None = None) -> bytes | memoryview:
        """Exactly `length` bytes from `start`, which the caller has compared with `size`."""

    def close(self) -> None:
        """Give up what is held."""


class MemorySource:
    """A container in memory: reading gives windows of it, without a copy."""

    __slots__ = ("_view", "path", "size")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        try:
            view = memoryview(data)
            self._view: memoryview | None = view.cast("B").toreadonly() if view.nbytes else memoryview(b"")
        except TypeError:
            raise ArgumentTypeError(
                "a container in memory is contiguous bytes",
                clause="BPK-24",
                hint="make it so with bytes(...)",
            ) from None
        self.path: str | None = None
        self.size = self._view.nbytes

    def read(self, start: int, length: int, tensor: str | None = None) -> memoryview:
        """A read-only window."""
        if self._view is None:
            raise closed(None, tensor)
        return self._view[start : start + length]

    def close(self) -> None:
        """Let go of the memory."""
        self._view = None


class FileSource:
    """A regular file, opened once and read by position.

    A file that is replaced meanwhile is still the one that was opened; one that is cut or written to is an
    error at the next read, never other bytes.

    Clauses: BPK-24, BPK-27, REC-14.
    """

    __slots__ = ("_block", "_fd", "_lock", "_opened", "path", "size")

    def __init__(self, path: str) -> None:
        """Open `path`.

        Raises:
            BurnpackError: there is no such file, it may not be read, or it is no regular file.
        """
        self._fd = -1
        self._lock = None if hasattr(os, "pread") else threading.Lock()
        self._block = (0, b"")
        self.path: str | None = path
        try:
            self._fd = os.open(path, _FLAGS)
        except (OSError, ValueError) as error:
            raise io(
                f"cannot open '{shown_path(path)}': {cause(error)}",
                clause="BPK-27",
                path=path,
                errno=error.errno if isinstance(error, OSError) else None,
            ) from error
        try:
            found = os.fstat(self._fd)
        except OSError as error:
            self.close()
            raise self._failed(error, None) from error
        if not stat.S_ISREG(found.st_mode):
            self.close()
            if stat.S_ISDIR(found.st_mode):
                directory = IsADirectoryError(21, "Is a directory")
                raise self._failed(directory, None)
            raise io(
                f"'{shown_path(path)}' is not a regular file",
                clause="BPK-27",
                path=path,
                hint="copy it into a file first: a pipe or a device has no positions to read at",
            )
        self.size = found.st_size
        self._opened = _identity(found)

    def read(self, start: int, length: int, tensor: str | None = None) -> bytes | memoryview:
        """Exactly `length` bytes from `start`, in as many calls as the system takes.

        Raises:
            BurnpackError: the system refuses, or the file is not as it was when it was opened.
            ResourceError: there is no memory for them.
        """
        if length > _SMALL or tensor is None:
            return self._read(start, length, tensor)
        first, block = self._block
        if not first <= start <= start + length <= first + len(block):
            block = bytes(self._read(start, min(_BLOCK, max(self.size - start, length)), tensor))
            self._block = first, block = start, block
        return block[start - first : start - first + length]

    def _read(self, start: int, length: int, tensor: str | None) -> bytes | memoryview:
        fd = self._fd
        if fd < 0:
            raise closed(self.path, tensor)
        try:
            data: bytes | memoryview
            # The metadata is wanted as bytes, so that it need not be copied.
            data = self._pread(fd, length, start) if length <= _BLOCK or tensor is None else b""
            if len(data) != length:
                data = self._fill(fd, start, length, tensor)
            now = os.fstat(fd)
        except OSError as error:
            raise self._failed(error, tensor) from error
        except MemoryError:
            raise ResourceError(
                f"not enough memory for the {length} bytes of "
                + ("the metadata" if tensor is None else f"tensor '{shown(tensor)}'")
            ) from None
        if _identity(now) != self._opened:
            raise self._was_changed(tensor)
        return data

    def head(self, length: int) -> bytes:
        """Up to `length` of the first bytes: fewer where the file ends."""
        try:
            data = self._pread(self._fd, length, 0)
            while 0 < len(data) < length and (more := self._pread(self._fd, length - len(data), len(data))):
                data += more
        except OSError as error:
            raise self._failed(error, None) from error
        return data

    def _fill(self, fd: int, start: int, length: int, tensor: str | None) -> memoryview:
        """Fresh memory, filled in as many calls as the system takes; the end of the file is an error."""
        whole = fresh_memory(length)
        done = 0
        while done < length:
            rest, at = whole[done:], start + done
            count = os.preadv(fd, [rest], at) if hasattr(os, "preadv") else self._copied(fd, rest, at)
            if not count:
                raise self._was_changed(tensor)
            done += count
        return whole.toreadonly()

    def _copied(self, fd: int, rest: memoryview, at: int) -> int:
        """What `preadv` does, for a system that has none."""
        some = self._pread(fd, min(len(rest), 1 << 24), at)
        rest[: len(some)] = some
        return len(some)

    def _pread(self, fd: int, length: int, start: int) -> bytes:
        return _read_after_seek(self._lock, fd, length, start) if self._lock else os.pread(fd, length, start)

    def close(self) -> None:
        """Close the descriptor, once; what was read is whole, whatever the system says of closing."""
        fd, self._fd = self._fd, -1
        self._block = (0, b"")
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _failed(self, error: OSError, tensor: str | None) -> Exception:
        return io(cause(error), clause="BPK-27", path=self.path, tensor=tensor, errno=error.errno)

    def _was_changed(self, tensor: str | None) -> Exception:
        what = "" if tensor is None else f" while tensor '{shown(tensor)}' was to be read"
        return io(
            f"'{shown_path(self.path or '')}' was changed{what}",
            clause="BPK-24",
            path=self.path,
            tensor=tensor,
            hint="replace a file by renaming, as `write_burnpack` does; then open it again",
        )

    def __del__(self) -> None:
        self.close()


def _read_after_seek(lock: threading.Lock, fd: int, length: int, start: int) -> bytes:
    """What `pread` does, for a system that has none."""
    with lock:
        os.lseek(fd, start, os.SEEK_SET)
        return os.read(fd, length)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    """What stays while nobody writes to a file, and is another when its descriptor was closed and reused."""
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def closed(path: str | None, tensor: str | None) -> Exception:
    """Something is to be read from a container that was closed."""
    return io(
        "the container is closed",
        clause="BPK-24",
        path=path,
        tensor=tensor,
        hint="read inside the `with` block",
    )
