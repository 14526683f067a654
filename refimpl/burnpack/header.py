"""The first ten bytes of a container, and where its data begins."""

from __future__ import annotations

import struct
from typing import Final

from ..errors import BurnpackError
from .limits import MAX_METADATA_SIZE
from .refusal import invalid_header, validation

#: magic (u32), version (u16), bytes of metadata (u32); little-endian, so a file begins with `NRUB`.
_LAYOUT: Final = struct.Struct("<IHI")
MAGIC_NUMBER: Final = 0x4255524E
FORMAT_VERSION: Final = 1
HEADER_SIZE: Final = _LAYOUT.size
TENSOR_ALIGNMENT: Final = 256


def encode_header(metadata_size: int) -> bytes:
    """The header of a container with that many bytes of metadata.

    >>> encode_header(10).hex(" ", 2)
    '4e52 5542 0100 0a00 0000'

    Burn: burn_pack::Header::into_bytes
    Clauses: BPK-2.
    """
    return _LAYOUT.pack(MAGIC_NUMBER, FORMAT_VERSION, metadata_size)


def decode_header(head: bytes | memoryview) -> int:
    """The number of bytes of metadata; version 0 is accepted, as Burn does.

    Raises:
        BurnpackError: too few bytes, another magic number, a later version, or too much metadata, in
            this order.

    Burn: burn_pack::Header::from_bytes
    Clauses: BPK-18.
    """
    if len(head) < HEADER_SIZE:
        raise invalid_header()
    magic, version, metadata_size = _LAYOUT.unpack(head[:HEADER_SIZE])
    if magic != MAGIC_NUMBER:
        raise BurnpackError(
            "Invalid magic number",
            kind="InvalidMagicNumber",
            clause="BPK-18",
            hint="a burnpack file begins with the bytes NRUB",
        )
    if version > FORMAT_VERSION:
        raise BurnpackError(
            "Unsupported version",
            kind="InvalidVersion",
            clause="BPK-18",
            hint=f"the file says version {version}; versions up to {FORMAT_VERSION} are known",
        )
    if metadata_size > MAX_METADATA_SIZE:
        raise validation(
            f"Metadata size {metadata_size} exceeds maximum allowed size of {MAX_METADATA_SIZE} bytes "
            "(potential DoS attack)",
            clause="BPK-18",
        )
    return int(metadata_size)


def align(offset: int) -> int:
    """The first multiple of 256 that is not below `offset`."""
    return -(-offset // TENSOR_ALIGNMENT) * TENSOR_ALIGNMENT


def data_section_start(metadata_size: int) -> int:
    """Where the data begins: offsets in the metadata count from here.

    >>> data_section_start(246), data_section_start(247)
    (256, 512)

    Burn: burn_pack::aligned_data_section_start
    Clauses: BPK-3.
    """
    return align(HEADER_SIZE + metadata_size)
