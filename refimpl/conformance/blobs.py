"""Tensors too long for a line cross as files in the scratch folder, named by the hash of their bytes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec

from ..errors import SubjectError
from .case import Step
from .outcome import Outcome

#: Longer data than this is a blob, not text.
INLINE = 64 * 1024
#: A blob that is longer than this is not read.
MAX_BLOB = 1 << 30
#: The capability of a subject that reads blobs.
CAPABILITY = "blobs"

_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CHUNK = 1 << 20


def give(steps: list[Step], scratch: str) -> list[Step]:
    """The steps with each `hex` longer than `INLINE` bytes as `blob`, and the files written."""
    return [_give(step, scratch) for step in steps]


def _give(value: Any, scratch: str) -> Any:
    if isinstance(value, list):
        return [_give(item, scratch) for item in value]
    if not isinstance(value, dict):
        return value
    given = {key: _give(item, scratch) for key, item in value.items()}
    digits = given.get("hex")
    if isinstance(digits, str) and len(digits) > 2 * INLINE:
        content = bytes.fromhex(digits)
        given["blob"] = hashlib.sha256(content).hexdigest()
        del given["hex"]
        path = Path(scratch, given["blob"])
        if not path.exists():
            path.write_bytes(content)
    return given


def take(outcomes: tuple[Outcome, ...], scratch: str) -> tuple[Outcome, ...]:
    """The outcomes with each `blob` read, checked, and written as the `sha256` that a case expects.

    Raises:
        SubjectError: A blob is not what it says it is.
    """
    return tuple(
        outcome
        if outcome.ok is msgspec.UNSET
        else msgspec.structs.replace(outcome, ok=_take(outcome.ok, scratch))
        for outcome in outcomes
    )


def _take(value: Any, scratch: str) -> Any:
    if isinstance(value, list):
        return [_take(item, scratch) for item in value]
    if not isinstance(value, dict):
        return value
    taken = {key: _take(item, scratch) for key, item in value.items()}
    if "blob" not in taken:
        return taken
    name, nbytes = taken.pop("blob"), taken.get("nbytes")
    if not isinstance(nbytes, int) or isinstance(nbytes, bool):
        raise SubjectError(f"the blob {name!r} has no `nbytes`")
    check(name, nbytes, scratch)
    taken["sha256"] = name
    return taken


def check(name: object, nbytes: int, scratch: str) -> None:
    """Read a blob once and hold it against its name and length.

    The file is looked up in the scratch folder alone, no link is followed, and nothing but a plain file
    with one name is read; not a byte more is read than announced.

    Raises:
        SubjectError: It is not what it says it is.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise SubjectError(f"{name!r} is no name of a blob: 64 lower-case hex digits")
    if not 0 <= nbytes <= MAX_BLOB:
        raise SubjectError(f"the blob {name} has {nbytes} bytes; {MAX_BLOB} are read at most")
    try:
        folder = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            blob = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise SubjectError(f"the blob {name} cannot be opened: {error.strerror}") from None
    try:
        found = os.fstat(blob)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise SubjectError(f"the blob {name} is no plain file with one name")
        if found.st_size != nbytes:
            raise SubjectError(f"the blob {name} has {found.st_size} bytes, not {nbytes}")
        digest, length = _digest(blob, nbytes)
    except OSError as error:
        raise SubjectError(f"the blob {name} cannot be read: {error.strerror}") from None
    finally:
        os.close(blob)
    if length != nbytes or digest != name:
        raise SubjectError(f"the blob {name} holds other bytes: {length} of them, sha256 {digest}")


def _digest(blob: int, nbytes: int) -> tuple[str, int]:
    """The hash and the count of the bytes, of which at most one more than announced is read."""
    digest, length = hashlib.sha256(), 0
    while length <= nbytes:
        chunk = os.read(blob, min(_CHUNK, nbytes + 1 - length))
        if not chunk:
            break
        digest.update(chunk)
        length += len(chunk)
    return digest.hexdigest(), length
