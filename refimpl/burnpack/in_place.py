"""Writing over a file as it lies: for whoever has no room for a second copy, or needs the same inode."""

from __future__ import annotations

import contextlib
import os
from typing import Final

from .atomic import already_exists, write_all
from .paths import shown_path
from .refusal import cause, io
from .writer import Buffer, Plan

_FLAGS: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_TRUNC
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def write_in_place(path: str, planned: Plan, *, overwrite: bool) -> None:
    """Cut the file at `path` to nothing and write the container into it, without a sync.

    A failure leaves it cut short, and without `overwrite` the new file stays as it is too. A symbolic link
    is followed, and mode, owner and hard links stay.

    Raises:
        BurnpackError: the file cannot be made or written.

    Burn: burn_pack::Writer::write_to_file_in_place
    Clauses: BPK-32.
    """

    def write(data: Buffer) -> None:
        try:
            write_all(fd, data)
        except OSError as error:
            raise io(
                f"cannot write to '{shown_path(path)}': {cause(error)}",
                clause="BPK-32",
                path=path,
                errno=error.errno,
            ) from error

    try:
        fd = os.open(path, _FLAGS if overwrite else _FLAGS | os.O_EXCL, 0o666)
    except FileExistsError:
        raise already_exists(path) from None
    except (OSError, ValueError) as error:
        errno = error.errno if isinstance(error, OSError) else None
        raise io(
            f"cannot create '{shown_path(path)}': {cause(error)}", clause="BPK-32", path=path, errno=errno
        ) from error
    try:
        planned.emit(write)
    finally:
        with contextlib.suppress(OSError):
            os.close(fd)
