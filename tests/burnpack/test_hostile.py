"""Every truncation and every bit flip of small files: a value or an error of ours, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.metadata import decode_metadata
from refimpl.errors import PanicError, RefimplError
from refimpl.record.record import ModuleRecord
from tests.burnpack.containers import contents, golden, raw

WRITTEN = golden("burnpack.json.gz")
SMALL = ("raw_metadata_scalars", "raw_rank0", "quant_E2M1_PackedU320_two16_F16")


def read_all(data: bytes) -> int:
    """How many tensors were read: opening, reading and loading agree on whether there is anything to read."""
    try:
        with open_burnpack(data) as found:
            count = sum(entry.data.nbytes == entry.nbytes for entry in found.values())
    except RefimplError:
        with pytest.raises(RefimplError):
            ModuleRecord.from_bytes(data)
        return -1
    try:
        loaded = len(ModuleRecord.from_bytes(data))
    except PanicError:  # a quantised entry of another length, which the container does not check
        return count
    assert loaded == count
    return count


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_is_a_value_or_an_error_of_ours(name: str) -> None:
    data = contents(WRITTEN[name])

    assert {read_all(data[:length]) for length in range(len(data))} == {-1}
    assert read_all(data) > 0


@pytest.mark.parametrize("name", SMALL)
def test_every_bit_flip_is_a_value_or_an_error_of_ours(name: str) -> None:
    data = contents(WRITTEN[name])
    head = 10 + int.from_bytes(data[6:10], "little")
    for bit in range(8 * min(head + 8, len(data))):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        read_all(bytes(flipped))


@given(st.binary(max_size=300))
def test_any_bytes_as_metadata_are_a_value_or_an_error_of_ours(data: bytes) -> None:
    read_all(raw(data, bytes(64)))


PLAIN = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats() | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers() | st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_whatever_another_library_writes_under_an_unknown_key_is_skipped(
    value: Any, indefinite: bool
) -> None:
    written = cbor2.dumps({"before": value, "tensors": {}, "after": [value]}, canonical=not indefinite)

    assert len(open_burnpack(raw(written))) == 0


NAMES = st.text(max_size=6)
DTYPES = st.sampled_from(["F64", "BF16", "U8", {"Bool": "U32"}])


@given(
    st.dictionaries(
        NAMES, st.tuples(DTYPES, st.lists(st.integers(0, 3), max_size=3), st.integers(0, 2**64 - 1))
    ),
    st.dictionaries(NAMES, NAMES, max_size=3),
)
def test_metadata_of_another_library_is_read_as_that_library_reads_it(
    tensors: dict[str, tuple[Any, list[int], int]], texts: dict[str, str]
) -> None:
    sizes = {"F64": 8, "BF16": 2, "U8": 1}
    described = {}
    for name, (dtype, shape, param_id) in tensors.items():
        length = sizes[dtype] if isinstance(dtype, str) else 4
        for extent in shape:
            length *= extent
        described[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [3, 3 + length],
            "param_id": param_id,
        }
    found = decode_metadata(cbor2.dumps({"metadata": texts, "tensors": described}))

    assert found.metadata == texts
    assert found.plain
    assert {name: (list(t.shape), [t.start, t.end], t.param_id) for name, t in found.tensors.items()} == {
        name: (t["shape"], t["data_offsets"], t["param_id"]) for name, t in described.items()
    }


def test_a_container_in_memory_and_one_on_disk_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.bpk"
    for name in SMALL:
        path.write_bytes(contents(WRITTEN[name]))
        with open_burnpack(path) as file, open_burnpack(path.read_bytes()) as memory:
            entries = [(n, e.data, e.param_id) for n, e in memory.items()]
            assert [(n, e.data, e.param_id) for n, e in file.items()] == entries
            assert len(burnpack_bytes(entries)) > 256
