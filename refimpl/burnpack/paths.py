"""Which file a name means: Rust's rule for extensions, and where `.bpk` is appended."""

from __future__ import annotations

import contextlib
import os
from typing import Final

from ..errors import ArgumentTypeError, InvalidArgumentError

EXTENSION: Final = "bpk"
_SEPARATORS: Final = os.sep + (os.altsep or "")

PathLike = str | os.PathLike[str] | os.PathLike[bytes]


def path_text(path: PathLike) -> str:
    """The path as text; what is no UTF-8 in it becomes surrogates, as everywhere in Python.

    Raises:
        ArgumentTypeError: `path` is no path. Plain bytes are none: they are the contents of a container.
    """
    if isinstance(path, (str, os.PathLike)):
        with contextlib.suppress(TypeError):  # a path object whose text is none
            name = os.fsdecode(path)
            try:
                os.fsencode(name)
            except UnicodeEncodeError as error:
                raise InvalidArgumentError(
                    f"the path {name!a} cannot be written in the file system's encoding: {error.reason}",
                    clause="BPK-28",
                ) from None
            return name
    raise ArgumentTypeError(
        f"a path is text or a path object, got {type(path).__name__}",
        clause="BPK-28",
        hint="open_burnpack(data) and ModuleRecord.from_bytes(data) read bytes",
    )


def shown_path(path: str) -> str:
    """The path as a message may print it."""
    readable = os.fsencode(path).decode(errors="replace")
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in readable)


def file_name(path: str) -> tuple[str | None, int, int]:
    """The last component with its first and last index; None where that names no file.

    >>> file_name("a/b.bpk/"), file_name("a/..")[0], file_name("/")[0]
    (('b.bpk', 2, 7), None, None)

    Clauses: BPK-29.
    """
    end = len(path)
    while True:
        end = len(path[:end].rstrip(_SEPARATORS))
        start = max(path.rfind(separator, 0, end) for separator in _SEPARATORS) + 1
        if path[start:end] != "." or start == 0:
            break
        end = start
    name = path[start:end]
    return (None if name in ("", ".", "..") else name), start, end


def has_extension(path: str) -> bool:
    """Whether Rust sees an extension, which may be empty: text after the last dot that is not the first.

    >>> [has_extension(p) for p in ("m", ".hid", "a.v1", "foo.", "..foo", "d.x/m", "..")]
    [False, False, True, True, True, False, False]

    Clauses: BPK-29.
    """
    name, _, _ = file_name(path)
    return name is not None and name.rfind(".") > 0


def with_extension(path: str) -> str:
    """The path with `.bpk` where it has no extension, whether it exists or not; what a writer writes to.

    >>> with_extension("m"), with_extension("d/.hid"), with_extension("foo."), with_extension("..")
    ('m.bpk', 'd/.hid.bpk', 'foo.', '..')

    Burn: burn_pack::Writer::resolve_path
    Clauses: BPK-29.
    """
    name, _, end = file_name(path)
    if name is None or has_extension(path):
        return path
    return f"{path[:end]}.{EXTENSION}"


def existing(path: str) -> str:
    """The path as it is where it has an extension or exists, else with `.bpk`; what a reader opens.

    Burn: burn_pack::Reader::from_file
    Clauses: BPK-28.
    """
    if has_extension(path) or _exists(path):
        return path
    return with_extension(path)


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True
