"""Files that Burn wrote, and broken ones with what Burn says of them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.burnpack.scalar import FloatScalar, Scalar
from refimpl.errors import BurnpackError, PanicError, RecordIoError, RefimplError
from refimpl.record.record import ModuleRecord
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import contents, golden

WRITTEN: dict[str, Any] = golden("burnpack.json.gz")
BAD: list[dict[str, Any]] = golden("burnpack_bad.json.gz")


def serde(dtype: DType) -> Any:
    """A dtype in the JSON form that serde gives it."""
    scheme = dtype.scheme
    if scheme is None:
        return {"Bool": dtype.name[5:-1]} if dtype.is_bool else dtype.name
    block = None
    if scheme.per_block is not None:
        dims = list(scheme.per_block[0].dims)
        size = {"storage": dims + [1] * (5 - len(dims)), "len": len(dims)}
        block = {"size": size, "dtype": scheme.per_block[1].value}
    store: Any = scheme.store.kind
    if scheme.store.is_packed:
        store = {store: scheme.store.axis}
    return {
        "QFloat": {
            "value": scheme.value.value,
            "store": store,
            "mode": scheme.mode.value,
            "tensor": None if scheme.per_tensor is None else scheme.per_tensor.value,
            "block": block,
        }
    }


def scalar_json(value: Scalar) -> Any:
    if isinstance(value, FloatScalar):
        return f"{value.bits:016x}"
    return {type(value).__name__.removesuffix("Scalar"): value.value}


@pytest.mark.clause("BPK-1", "BPK-6", "BPK-7", "BPK-8", "BPK-10", "BPK-23", "QNT-28", "QNT-29", "QNT-30")
@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_burn_wrote_holds_what_burn_says_it_holds(name: str) -> None:
    case = WRITTEN[name]
    with open_burnpack(contents(case)) as found:
        held = {
            key: {
                "dtype_serde": serde(entry.dtype),
                "shape": list(entry.shape),
                "param_id": entry.param_id,
                "nbytes": entry.nbytes,
                "sha256": hashlib.sha256(entry.data.bytes).hexdigest(),
            }
            for key, entry in found.items()
        }
        assert held == case["tensors"]
        assert dict(found.metadata) == case["metadata"]
        assert {k: scalar_json(v) for k, v in found.scalars.items()} == {
            k: v.get("bits", v) for k, v in case["scalars"].items()
        }
        assert found.data_start == case["data_section_start"]


@pytest.mark.clause("BPK-4", "BPK-5", "BPK-8", "BPK-11", "BPK-14", "BPK-15")
@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_burn_wrote_is_written_again_byte_for_byte(name: str, tmp_path: Path) -> None:
    original = contents(WRITTEN[name])
    target = tmp_path / "again.bpk"
    with open_burnpack(original) as found:
        order = sorted(found.values(), key=lambda entry: (entry.start, entry.end, entry.name))
        entries = [(entry.name, entry.data, entry.param_id) for entry in order]
        write_burnpack(target, entries, found.metadata, found.scalars)
        assert burnpack_bytes(entries, found.metadata, found.scalars) == original
    assert target.read_bytes() == original


def outcome(source: Path | bytes) -> dict[str, Any]:
    try:
        with open_burnpack(source) as found:
            return {
                "ok": [
                    {
                        "name": name,
                        "shape": list(entry.shape),
                        "param_id": entry.param_id,
                        "nbytes": entry.nbytes,
                        "sha256": hashlib.sha256(entry.data.bytes).hexdigest(),
                    }
                    for name, entry in found.items()
                ]
            }
    except BurnpackError as error:
        return {"err": str(error)}


@pytest.mark.clause("BPK-18", "BPK-19", "BPK-20", "BPK-21", "BPK-26")
@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_a_broken_file_is_refused_or_accepted_in_burns_words(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "case.bpk"
    path.write_bytes(contents(case))
    for source, key in ((path, "file"), (contents(case), "bytes")):
        recorded = case["result"][key]
        if "ok" in recorded:
            for tensor in recorded["ok"]:
                tensor.pop("dtype", None)
            assert outcome(source) == recorded
        else:
            assert outcome(source) == {"err": recorded["err"]}


@pytest.mark.clause("REC-12", "REC-24", "REC-26")
@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_a_record_of_a_broken_file_fails_in_burns_words(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "case.bpk"
    path.write_bytes(contents(case))
    for load, key in (
        (lambda: ModuleRecord.load(path), "record_file"),
        (lambda: ModuleRecord.from_bytes(contents(case)), "record_bytes"),
    ):
        recorded = case["result"][key]
        if "ok_len" in recorded:
            with load() as record:
                assert len(record) == recorded["ok_len"]
            continue
        kind = PanicError if "panic" in recorded else RecordIoError
        with pytest.raises(RefimplError) as caught:
            load()
        assert isinstance(caught.value, kind)
        assert str(caught.value) == recorded.get("panic", recorded.get("err"))


# Made by a generator of CBOR spellings: tags, indefinite lengths, long heads, byte strings, extra and
# missing items, flipped bytes. burn-pack 0.23.0-pre.1 answered each.
SPELLINGS: list[dict[str, Any]] = golden("burnpack_spellings.json.gz")


@pytest.mark.clause("BPK-7", "BPK-8", "BPK-19", "BPK-20")
@pytest.mark.parametrize("case", SPELLINGS, ids=range(len(SPELLINGS)))
def test_metadata_in_any_spelling_is_read_as_burn_reads_it(case: dict[str, Any]) -> None:
    data = contents(case)
    if "error" in case:
        with pytest.raises(BurnpackError) as caught:
            open_burnpack(data)
        # Where in the bytes the syntax ends is a detail of ciborium's buffer.
        assert re.sub(r"Syntax\(\d+\)", "Syntax", str(caught.value)) == case["error"]
        return
    with open_burnpack(data) as found:
        assert {
            name: {
                "dtype_serde": serde(entry.dtype),
                "shape": list(entry.shape),
                "param_id": entry.param_id,
                "nbytes": entry.nbytes,
                "sha256": hashlib.sha256(entry.data.bytes).hexdigest(),
            }
            for name, entry in found.items()
        } == case["tensors"]
        assert dict(found.metadata) == case["metadata"]
        assert {k: scalar_json(v) for k, v in found.scalars.items()} == {
            k: v.get("Float_bits", v) for k, v in case["scalars"].items()
        }
