"""The ten bytes at the front, and where data begins."""

from __future__ import annotations

import pytest

from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.header import align, data_section_start, decode_header, encode_header
from refimpl.errors import BurnpackError
from tests.burnpack.containers import raw


@pytest.mark.clause("BPK-2", "BPK-14")
def test_an_empty_container_is_burns_256_bytes() -> None:
    expected = bytes.fromhex("4e52554201000a000000a16774656e736f7273a0")

    assert burnpack_bytes([]) == expected + bytes(256 - len(expected))


@pytest.mark.clause("BPK-2")
def test_the_header_is_little_endian_and_begins_with_nrub() -> None:
    assert encode_header(0x01020304) == b"NRUB" + bytes([1, 0, 4, 3, 2, 1])


@pytest.mark.clause("BPK-3")
@pytest.mark.parametrize(("size", "start"), [(0, 256), (245, 256), (246, 256), (247, 512), (502, 512)])
def test_data_begins_at_the_next_multiple_of_256(size: int, start: int) -> None:
    assert data_section_start(size) == start
    assert align(start) == start


@pytest.mark.clause("BPK-18")
@pytest.mark.parametrize(
    ("head", "kind", "text"),
    [
        (b"NRUB\1\0\0\0\0", "InvalidHeader", "Invalid header: insufficient bytes"),
        (b"BURN\1\0\0\0\0\0", "InvalidMagicNumber", "Invalid magic number"),
        (b"BURN\2\0\xff\xff\xff\xff", "InvalidMagicNumber", "Invalid magic number"),
        (b"NRUB\2\0\xff\xff\xff\xff", "InvalidVersion", "Unsupported version"),
        (
            b"NRUB\1\0\1\0\x40\6",
            "ValidationError",
            "Validation error: Metadata size 104857601 exceeds maximum allowed size of 104857600 bytes "
            "(potential DoS attack)",
        ),
    ],
)
def test_headers_are_refused_in_burns_order(head: bytes, kind: str, text: str) -> None:
    with pytest.raises(BurnpackError) as caught:
        decode_header(head)

    assert (caught.value.kind, str(caught.value)) == (kind, text)


@pytest.mark.clause("BPK-18")
@pytest.mark.report("BL-41")
def test_version_0_is_accepted_and_later_ones_are_not() -> None:
    metadata = bytes.fromhex("a16774656e736f7273a0")

    assert len(open_burnpack(raw(metadata, version=0))) == 0
    for version in (2, 65535):
        with pytest.raises(BurnpackError, match="Unsupported version"):
            open_burnpack(raw(metadata, version=version))


@pytest.mark.report("BL-38")
@pytest.mark.parametrize(
    "data", [b"\x80\x04\x95" + bytes(40), b"\x93NUMPY\x01\x00" + bytes(40), b"PK\x03\x04" * 9]
)
def test_a_pickle_an_array_or_an_archive_is_bad_magic(data: bytes) -> None:
    with pytest.raises(BurnpackError) as caught:
        open_burnpack(data)

    assert caught.value.kind == "InvalidMagicNumber"
