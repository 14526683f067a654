"""Files that a command writes are none that it reads, and each is another."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG

import click

Paths = Path | str | Sequence[Path | str] | None


def refuse_shared(written: Mapping[str, Paths], read: Mapping[str, Paths] | None = None) -> None:
    """Refuse a file to write that another option names, by this path, a link or a hard link.

    A device is written by as many as like.

    Args:
        written: What is written: option, and one path, several or none.
        read: What is read.

    Raises:
        UsageError: Two options name one file, or `-` stands for a file.
    """
    owners: dict[object, str] = {}
    for option, given in [*(read or {}).items(), *written.items()]:
        for path in _each(given):
            if option in written and str(path) == "-":
                raise click.UsageError(f"{option} writes a file, and `-` is none: /dev/stdout is one")
            key = _file(path)
            if key is None:
                continue
            other = owners.setdefault(key, option)
            if other != option and option in written:
                raise click.UsageError(f"{other} and {option} name one file: {path}")


def _each(given: Paths) -> Sequence[Path | str]:
    if given is None:
        return ()
    return (given,) if isinstance(given, (str, Path)) else given


def _file(path: Path | str) -> object:
    """What two paths of one file have in common; None for what is no regular file."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if S_ISREG(found.st_mode) else None
