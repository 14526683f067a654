"""The sentences with which a container is refused: Burn's own `Display` texts."""

from __future__ import annotations

import os
from typing import Final

from ..errors import BurnpackError
from ..rust_text import debug_str

#: Longer names are cut in messages.
_SHOWN: Final = 1_000


def invalid_header(path: str | None = None) -> BurnpackError:
    """The bytes end before the header or the metadata does."""
    return BurnpackError(
        "Invalid header: insufficient bytes", kind="InvalidHeader", clause="BPK-18", path=path
    )


def validation(
    detail: str,
    *,
    clause: str,
    tensor: str | None = None,
    path: str | None = None,
    hint: str | None = None,
) -> BurnpackError:
    """The container contradicts itself or its limits."""
    return BurnpackError(
        f"Validation error: {detail}",
        kind="ValidationError",
        clause=clause,
        tensor=tensor,
        path=path,
        hint=hint,
    )


def deserialization(detail: str) -> BurnpackError:
    """The metadata is no CBOR, or not of the form of metadata; `detail` is ciborium's Debug text."""
    return BurnpackError(
        f"Metadata deserialization error: {detail}",
        kind="MetadataDeserializationError",
        clause="BPK-19",
        hint="the file is damaged, or was not written by a burnpack writer",
    )


def serialization(detail: str, *, clause: str, tensor: str | None = None) -> BurnpackError:
    """A value that metadata cannot hold."""
    return BurnpackError(
        f"Metadata serialization error: {detail}",
        kind="MetadataSerializationError",
        clause=clause,
        tensor=tensor,
    )


def io(
    detail: str,
    *,
    clause: str,
    path: str | None = None,
    tensor: str | None = None,
    errno: int | None = None,
    hint: str | None = None,
) -> BurnpackError:
    """The system, or the end of the file, stood in the way."""
    return BurnpackError(
        f"I/O error: {detail}",
        kind="IoError",
        clause=clause,
        path=path,
        tensor=tensor,
        errno=errno,
        hint=hint,
    )


def cause(error: OSError | ValueError) -> str:
    """What the system says, in the words of Rust's `std::io::Error`."""
    if isinstance(error, ValueError):
        return "file name contained an unexpected NUL byte"
    number = error.errno
    return str(error) if number is None else f"{os.strerror(number)} (os error {number})"


def shown(name: str) -> str:
    """`name` as a message may print it: as it is, but no control, format or unassigned character raw."""
    if len(name) > _SHOWN:
        name = f"{name[:_SHOWN]}..."
    return "".join(c if c.isprintable() else _escaped(c) for c in name)


def _escaped(c: str) -> str:
    return debug_str(c)[1:-1]
