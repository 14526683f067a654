"""Reading from files: lazily, from what was opened, and never for ever."""

from __future__ import annotations

import errno
import os
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack import source as source_module
from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.burnpack.limits import ReaderLimits
from refimpl.errors import ArgumentTypeError, BurnpackError, ResourceError, TensorNotFoundError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import descriptor, pack
from tests.faults.system import descriptors


def entry(name: str, data: bytes) -> tuple[str, TensorData, int]:
    return name, TensorData(DType.U8, [len(data)], data), 1


ENTRIES = [entry("a", b"a" * 300), entry("big", b"b" * 300_000), entry("c", b"c" * 5000), entry("d", b"d")]
WANTED = {name: bytes(data.bytes) for name, data, _ in ENTRIES}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_burnpack(tmp_path / "m", ENTRIES)
    return tmp_path / "m.bpk"


def read(found: Any) -> dict[str, bytes]:
    return {name: bytes(e.data.bytes) for name, e in found.items()}


@pytest.mark.clause("BPK-23")
def test_entries_come_by_name_and_a_name_that_is_not_there_is_said_so(path: Path) -> None:
    with open_burnpack(path) as found:
        assert list(found) == ["a", "big", "c", "d"]
        assert len(found) == 4
        assert "a" in found
        assert "q" not in found
        assert found.get("q") is None
        with pytest.raises(KeyError) as caught:
            found["q"]
    assert isinstance(caught.value, TensorNotFoundError)
    assert str(caught.value) == "Tensor not found: q"


@pytest.mark.clause("BPK-24", "REC-14")
def test_a_file_that_is_replaced_or_deleted_is_still_the_one_that_was_opened(path: Path) -> None:
    with open_burnpack(path) as found:
        write_burnpack(path, [entry("a", b"z" * 300)])
        assert read(found) == WANTED
        path.unlink()
        assert read(found) == WANTED


@pytest.mark.clause("BPK-24")
@pytest.mark.parametrize("name", list(WANTED))
@pytest.mark.parametrize("change", ["cut", "grow", "overwrite"])
def test_a_file_that_is_changed_in_place_is_an_error_that_names_the_tensor(
    name: str, change: str, path: Path
) -> None:
    with open_burnpack(path) as found:
        size = path.stat().st_size
        if change == "cut":
            os.truncate(path, found.data_start)
        else:
            with path.open("r+b") as file:
                file.seek(0, os.SEEK_END if change == "grow" else os.SEEK_SET)
                file.write(b"z" * 10)
            os.utime(path, ns=(0, 12345))
        with pytest.raises(BurnpackError) as caught:
            found[name].data  # noqa: B018
    assert (caught.value.kind, caught.value.tensor, caught.value.path) == ("IoError", name, str(path))
    assert "was changed" in str(caught.value)
    assert size


@pytest.mark.clause("BPK-27")
@pytest.mark.parametrize("at", range(6))
def test_a_read_that_fails_is_an_error_of_ours_and_leaves_no_descriptor(
    at: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = descriptors()
    seen: list[int] = []

    def failing(real: Any) -> Any:
        def call(*args: Any) -> Any:
            seen.append(1)
            if len(seen) - 1 == at:
                raise OSError(errno.EIO, "x")
            return real(*args)

        return call

    monkeypatch.setattr(os, "pread", failing(os.pread))
    monkeypatch.setattr(os, "preadv", failing(os.preadv))
    monkeypatch.setattr(os, "fstat", failing(os.fstat))
    with pytest.raises(BurnpackError) as caught, open_burnpack(path) as found:
        read(found)
    monkeypatch.undo()
    assert (str(caught.value), caught.value.errno) == (
        "I/O error: Input/output error (os error 5)",
        errno.EIO,
    )
    assert descriptors() == before


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_a_system_that_reads_less_than_asked_for_is_asked_again(
    most: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, reals = os.pread, os.preadv
    monkeypatch.setattr(os, "pread", lambda fd, n, at: real(fd, min(n, most), at))
    monkeypatch.setattr(os, "preadv", lambda fd, into, at: reals(fd, [into[0][: 50 * most]], at))
    with open_burnpack(path) as found:
        assert read(found) == WANTED


def test_a_system_without_positional_reads_seeks_under_a_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pread", raising=False)
    monkeypatch.delattr(os, "preadv", raising=False)
    wrong: list[str] = []
    with open_burnpack(path) as found:

        def work() -> None:
            wrong.extend("read other bytes" for _ in range(20) if read(found) != WANTED)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def special_files(folder: Path) -> list[tuple[str, str]]:
    os.mkfifo(folder / "fifo.x")
    (folder / "folder.x").mkdir()
    (folder / "loop.x").symlink_to(folder / "loop.x")
    return [
        (str(folder / "fifo.x"), "is not a regular file"),
        (str(folder / "folder.x"), "I/O error: Is a directory (os error 21)"),
        (str(folder / "loop.x"), "Too many levels of symbolic links (os error 40)"),
        ("/dev/zero", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        ("/proc/self/maps", "Invalid magic number"),
        ("x" * 5000, "File name too long (os error 36)"),
        (str(folder / "none.x"), "No such file or directory (os error 2)"),
        (str(folder / "folder.x" / ".." / "none.x" / "y.z"), "No such file or directory (os error 2)"),
    ]


@pytest.mark.clause("BPK-27", "REC-26")
@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="the files and numbers are those of Linux")
def test_a_path_that_is_no_file_is_an_error_at_once(tmp_path: Path) -> None:
    before = descriptors()
    for path, text in special_files(tmp_path):
        begun = time.process_time()
        with pytest.raises(BurnpackError) as caught:
            open_burnpack(path)
        assert time.process_time() - begun < 0.1, path
        assert text in str(caught.value)
        if "kind" not in text and "magic" not in text:
            assert caught.value.path == path or path.startswith("x")
    assert descriptors() == before


@pytest.mark.clause("BPK-22")
@pytest.mark.report("BL-41")
def test_limits_are_checked_when_data_is_read_and_can_be_raised(path: Path) -> None:
    with open_burnpack(path, limits=ReaderLimits(max_tensor_size=299)) as found:
        assert bytes(found["d"].data.bytes) == b"d"
        with pytest.raises(BurnpackError) as caught:
            found["a"].data  # noqa: B018
    assert str(caught.value) == (
        "Validation error: Tensor 'a' size 300 exceeds maximum allowed size of 299 bytes (potential DoS "
        "attack; raise it with `Reader::with_limits`)"
    )
    with (
        open_burnpack(path, limits=ReaderLimits(max_file_size=10)) as found,
        pytest.raises(BurnpackError, match="exceeds maximum allowed size of 10 bytes") as caught,
    ):
        next(found["a"].pieces())
    assert str(caught.value).startswith(f"Validation error: File size {path.stat().st_size} bytes exceeds")
    memory = open_burnpack(path.read_bytes(), limits=ReaderLimits(max_file_size=10))
    assert read(memory) == WANTED


def test_a_closed_container_says_so_and_closing_twice_is_fine(path: Path) -> None:
    for found in (open_burnpack(path), open_burnpack(path.read_bytes())):
        kept = found["a"].data
        found.close()
        found.close()
        assert bytes(kept.bytes) == WANTED["a"]
        for name in ("a", "big"):
            with pytest.raises(BurnpackError, match="the container is closed"):
                found[name].data  # noqa: B018


def test_a_container_that_is_forgotten_gives_its_descriptor_back(path: Path) -> None:
    before = descriptors()
    open_burnpack(path)

    assert descriptors() == before


@pytest.mark.clause("BPK-24")
def test_opening_reads_the_metadata_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: asked.append(n) or real(fd, n, at))
    with open_burnpack(path) as found:
        assert sum(asked) < found.data_start


def test_a_number_that_a_file_claims_allocates_nothing(tmp_path: Path) -> None:
    claimed = pack({"tensors": {"w": descriptor("U8", [2**40], [0, 2**40])}})
    short = b"NRUB\1\0" + (100 * 2**20).to_bytes(4, "little") + b"x" * 50
    tracemalloc.start()
    try:
        for name, data in (("claimed", claimed), ("short", short)):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(BurnpackError):
                open_burnpack(tmp_path / name)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_running_out_of_memory_is_said_as_that(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(nbytes: int) -> memoryview:
        raise MemoryError

    with open_burnpack(path) as found:
        monkeypatch.setattr(source_module, "fresh_memory", full)
        with pytest.raises(ResourceError, match="not enough memory for the 300000 bytes of tensor 'big'"):
            found["big"].data  # noqa: B018


@pytest.mark.clause("BPK-24")
def test_a_container_in_memory_is_windows_of_what_was_given() -> None:
    data = burnpack_bytes(ENTRIES)
    for given in (data, bytearray(data), memoryview(data)):
        with open_burnpack(given) as found:
            assert read(found) == WANTED
            assert found["a"].data.bytes.readonly
    with pytest.raises(ArgumentTypeError, match="contiguous"):
        open_burnpack(memoryview(data)[::2])


def test_data_in_pieces_is_the_data(path: Path) -> None:
    with open_burnpack(path) as found:
        assert {n: b"".join(e.pieces(7000)) for n, e in found.items()} == WANTED


def test_an_entry_and_a_container_show_what_they_are(path: Path) -> None:
    with open_burnpack(path) as found:
        assert repr(found) == f"<burnpack of 4 tensors in '{path}'>"
        assert repr(found["d"]) == "Entry('d', U8, [1], param_id=1)"
        assert (found.path, found.size) == (str(path), path.stat().st_size)
    assert repr(open_burnpack(burnpack_bytes([]))) == "<burnpack of 0 tensors in memory>"


@pytest.mark.clause("BPK-21")
@pytest.mark.report("BL-40")
def test_overlaps_gaps_and_odd_offsets_are_read_as_they_are() -> None:
    data = bytes(range(20))
    tensors = {
        "a": descriptor("U8", [8], [0, 8]),
        "b": descriptor("U8", [8], [4, 12]),
        "c": descriptor("F32", [1], [3, 7]),
        "d": descriptor("U8", [0], [20, 20]),
        "e": descriptor("U8", [0], [20, 20]),
    }

    assert read(open_burnpack(pack({"tensors": tensors}, data))) == {
        "a": data[:8], "b": data[4:12], "c": data[3:7], "d": b"", "e": b"",
    }  # fmt: skip


def test_a_name_with_control_characters_is_shown_escaped() -> None:
    with pytest.raises(BurnpackError) as caught:
        open_burnpack(pack({"tensors": {"\x1b[31m\u202e" + "n" * 2000: descriptor(shape=[3])}}))

    text = str(caught.value)
    assert "\\u{1b}[31m\\u{202e}nnn" in text
    assert text.isprintable()
    assert len(text) < 1200
