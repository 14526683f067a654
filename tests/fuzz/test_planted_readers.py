"""The fuzz targets have teeth: a reader that is wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.burnpack.source import FileSource
from refimpl.burnpack.stream import Stream
from refimpl.errors import BurnpackError
from tests.burnpack.containers import descriptor, one, pack
from tests.fuzz import targets


def test_a_reader_that_gives_other_bytes_from_a_file_than_from_memory_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(targets, "SELDOM", 1)
    assert targets.reader(one(), tmp_path)
    read = FileSource.read
    monkeypatch.setattr(FileSource, "read", lambda self, *asked: read(self, *asked)[::-1])
    with pytest.raises((AssertionError, BurnpackError)):
        targets.reader(one(), tmp_path)


def test_a_decoder_that_reads_another_number_than_cbor2_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = one(offsets=(0, 8))[10:]
    size = int.from_bytes(one(offsets=(0, 8))[6:10], "little")
    assert targets.metadata(metadata[:size])
    uint = Stream.uint
    monkeypatch.setattr(Stream, "uint", lambda self, bits=64: uint(self, bits) ^ 1)
    with pytest.raises(AssertionError, match="cbor2 reads"):
        targets.metadata(metadata[:size])


def test_a_verdict_that_differs_from_the_reader_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refimpl.burnpack.verify.range_faults", lambda *_: iter(()))
    with pytest.raises(AssertionError, match="verify says None"):
        targets.reader(pack({"tensors": {"w": descriptor(shape=[9])}}, bytes(8)))
