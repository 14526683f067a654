"""Writing over a file, or into memory, without a scratch file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from refimpl.burnpack.api import burnpack_bytes, burnpack_into, write_burnpack
from refimpl.errors import BurnpackError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.faults.system import Faults, descriptors, fails

ENTRIES = [("w", TensorData(DType.F32, [1], bytes(4)), None)]


@pytest.mark.clause("BPK-32")
def test_the_inode_stays_and_a_link_is_followed(tmp_path: Path) -> None:
    target = tmp_path / "m.bpk"
    target.write_bytes(b"o" * 5000)
    target.chmod(0o600)
    (tmp_path / "link.bpk").symlink_to(target)
    inode = target.stat().st_ino
    write_burnpack(tmp_path / "link", ENTRIES, in_place=True)

    assert target.read_bytes() == burnpack_bytes(ENTRIES)
    assert (target.stat().st_ino, target.stat().st_mode & 0o7777) == (inode, 0o600)
    assert (tmp_path / "link.bpk").is_symlink()


@pytest.mark.clause("BPK-32")
def test_without_overwrite_only_a_new_file_is_written(tmp_path: Path) -> None:
    write_burnpack(tmp_path / "m", ENTRIES, in_place=True, overwrite=False)
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(tmp_path / "m", [], in_place=True, overwrite=False)

    assert caught.value.kind == "AlreadyExists"
    assert (tmp_path / "m.bpk").read_bytes() == burnpack_bytes(ENTRIES)


@pytest.mark.clause("BPK-32")
def test_a_failure_is_told_and_leaves_the_file_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = descriptors()
    target = tmp_path / "m.bpk"
    target.write_bytes(b"old")
    Faults(monkeypatch, 0, fails(errno.ENOSPC), ("write",))
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(target, ENTRIES, in_place=True)

    assert (
        str(caught.value) == f"I/O error: cannot write to '{target}': No space left on device (os error 28)"
    )
    assert target.read_bytes() == b""
    assert descriptors() == before


@pytest.mark.clause("BPK-32")
def test_what_cannot_be_opened_is_told_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.x")
    for path in (tmp_path / "no" / "m.x", tmp_path / "fifo.x", "a\0b.x"):
        with pytest.raises(BurnpackError, match="cannot create"):
            write_burnpack(path, ENTRIES, in_place=True)


@pytest.mark.clause("BPK-14", "BPK-16")
def test_a_buffer_is_filled_from_its_front_or_refused_untouched() -> None:
    buffer = bytearray(b"x" * 300)

    assert burnpack_into(buffer, ENTRIES) == 260
    assert buffer == burnpack_bytes(ENTRIES) + b"x" * 40
    small = bytearray(b"x" * 10)
    with pytest.raises(BurnpackError) as caught:
        burnpack_into(small, ENTRIES)
    assert str(caught.value) == "I/O error: Buffer too small: need 260 bytes, got 10 bytes"
    assert small == b"x" * 10
