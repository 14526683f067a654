"""Everything that is wrong with a file, in one pass, and in agreement with the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cbor2
import pytest

from refimpl.burnpack import verify as module
from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.verify import Answer, Verdict, verify
from refimpl.errors import BurnpackError, RefimplError
from refimpl.record.record import ModuleRecord
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import contents, descriptor, golden, one, pack, raw

WRITTEN: dict[str, Any] = golden("burnpack.json.gz")
BAD: list[dict[str, Any]] = golden("burnpack_bad.json.gz")
SPELLINGS: list[dict[str, Any]] = golden("burnpack_spellings.json.gz")


def agrees(source: Path | bytes) -> Verdict:
    """The verdict, after a look at whether opening and making a record say the same."""
    verdict = verify(source)
    told = next((f.text for f in verdict.findings if f.stage == "open"), None)
    said = None
    try:
        open_burnpack(source).close()
    except BurnpackError as error:
        said = error.message
    assert said == told
    load = ModuleRecord.from_bytes if isinstance(source, bytes) else ModuleRecord.load
    met = next((f.text for f in verdict.findings if f.stage != "none"), None)
    said = None
    try:
        load(source).close()  # type: ignore[operator]
    except RefimplError as error:
        said = error.message.removeprefix("Record I/O error: ")
    assert said == met
    return verdict


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_burn_wrote_is_sound(name: str) -> None:
    findings = agrees(contents(WRITTEN[name])).findings

    # One of them holds names that a terminal may obey, on purpose.
    assert [f for f in findings if "characters that a terminal may obey" not in f.text] == []


@pytest.mark.clause("BPK-18", "BPK-19", "BPK-20", "BPK-21", "REC-12")
@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_it_says_of_a_broken_file_what_the_reader_and_burn_say(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "case.bpk"
    path.write_bytes(contents(case))
    for source, key, record in (
        (path, "file", "record_file"),
        (contents(case), "bytes", "record_bytes"),
    ):
        verdict = agrees(source)
        told = [f for f in verdict.findings if f.stage == "open"]
        recorded = case["result"][key]
        if "err" in recorded:
            assert (told[0].text, told[0].burn) == (recorded["err"], Answer.REFUSES)
        else:
            assert told == []
        if "panic" in case["result"][record]:
            assert next(f.burn for f in verdict.findings if f.stage != "none") is Answer.PANICS


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize("case", SPELLINGS, ids=range(len(SPELLINGS)))
def test_it_agrees_with_the_reader_on_metadata_in_any_spelling(case: dict[str, Any]) -> None:
    verdict = agrees(contents(case))

    assert any(f.stage == "open" for f in verdict.findings) == ("error" in case)


def test_everything_is_told_in_one_pass_with_its_place() -> None:
    tensors = {
        "short": descriptor(shape=[3]),
        "backwards": descriptor(offsets=(8, 4)),
        "far": descriptor("U8", [4], [4096, 4100]),
        "\x1b[2J": descriptor("U8", [1], [3, 4]),
    }
    data = pack({"tensors": tensors, "stranger": 1}, bytes(300))
    found = agrees(data).findings

    told = [(f.at, f.stage, f.burn.value, f.text) for f in found]
    places = {name: data.index(cbor2.dumps(name)) for name in tensors}
    start = 256
    assert told[:3] == [
        (
            places["backwards"],
            "open",
            "refuses",
            "Validation error: Tensor 'backwards' has corrupted offset data: end 260 < start 264",
        ),
        (
            places["short"],
            "open",
            "refuses",
            "Validation error: tensor 'short' declares 8 bytes but its shape [3] and dtype F32 need 12",
        ),
        (
            len(data),
            "open",
            "refuses",
            "Validation error: File truncated: expected at least 4356 bytes, got 556 bytes",
        ),
    ]
    assert (
        places["\x1b[2J"],
        "none",
        "accepts",
        "'\\u{1b}[2J' holds characters that a terminal may obey",
    ) in told
    assert (
        start + 3,
        "none",
        "accepts",
        "tensor '\\u{1b}[2J' does not begin at a multiple of 256",
    ) in told
    assert (start + 8, "none", "accepts", "292 bytes after the last tensor") in told
    assert any("another form than Burn writes" in text for _, _, _, text in told)


@pytest.mark.clause("BPK-19")
def test_a_name_twice_loads_something_else_and_the_second_place_is_told() -> None:
    w = cbor2.dumps("w") + cbor2.dumps(descriptor())
    data = raw(b"\xa1\x67tensors\xa2" + w + w, bytes(8))
    (finding, *_) = agrees(data).findings

    assert finding.burn is Answer.LOADS_OTHER
    assert finding.at == data.rindex(b"\x61w")
    assert finding.text == "a second tensor of the name 'w': the last one wins"
    texts = b"\xa3\x67tensors\xa0\x68metadata\xa2\x61a\x61b\x61a\x61c\x67scalars\xa2"
    scalar = b"\x61s\xa1\x63Int\x01"
    found = agrees(raw(texts + scalar + scalar)).findings
    assert [f.text for f in found[:2]] == [
        "a second text of the name 'a': the last one wins",
        "a second scalar of the name 's': the last one wins",
    ]


@pytest.mark.clause("BPK-21")
def test_overlaps_gaps_and_padding_are_told_where_they_are() -> None:
    tensors = {
        "a": descriptor("U8", [8], [0, 8]),
        "b": descriptor("U8", [8], [4, 12]),
        "c": descriptor("U8", [1], [256, 257]),
        "d": descriptor("U8", [1], [1024, 1025]),
    }
    data = bytearray(pack({"tensors": tensors}, bytes(1025)))
    data[255] = data[256 + 100] = 1
    found = [(f.at, f.text) for f in agrees(bytes(data)).findings]

    assert found == [
        (255, "the padding after the metadata is not zero"),
        (260, "tensor 'b' does not begin at a multiple of 256"),
        (260, "tensor 'b' shares bytes with 'a'"),
        (356, "the padding after tensor 'b' is not zero"),
        (256 + 257, "767 bytes before tensor 'd' that belong to none"),
    ]


@pytest.mark.clause("BPK-18")
def test_a_header_is_wrong_in_several_ways_at_once() -> None:
    late = b"NRUB\x09\x00" + (2**31).to_bytes(4, "little") + bytes(300)

    assert [(f.at, f.text.split(" exceeds")[0]) for f in agrees(late).findings] == [
        (4, "Unsupported version"),
        (6, "Validation error: Metadata size 2147483648"),
    ]
    old = bytearray(burnpack_bytes([]))
    old[4] = 0
    assert [(f.at, f.burn, f.stage) for f in agrees(bytes(old)).findings] == [(4, Answer.ACCEPTS, "none")]


@pytest.mark.clause("BPK-22")
def test_what_is_past_the_limits_opens_and_makes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TENSOR_SIZE", 7)
    (finding,) = verify(burnpack_bytes([("w", TensorData(DType.U8, [8], bytes(8)), 1)])).findings

    assert (finding.stage, finding.burn, finding.tensor) == ("record", Answer.REFUSES, "w")
    assert "size 8 exceeds maximum allowed size of 7 bytes" in finding.text


def test_a_file_past_the_limits_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MAX_FILE_SIZE", 7)
    (tmp_path / "m.bpk").write_bytes(burnpack_bytes([]))

    assert verify(tmp_path / "m").findings[0].text.startswith("Validation error: File size 256 bytes exceeds")
    assert verify(burnpack_bytes([])).findings == ()


@pytest.mark.clause("BPK-20")
def test_what_only_this_reader_refuses_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refimpl.burnpack.metadata.MAX_USER_ENTRIES", 0)
    (finding,) = agrees(burnpack_bytes([], {"a": "b"})).findings

    assert (finding.stage, finding.burn) == ("open", Answer.ACCEPTS)


@pytest.mark.clause("BPK-21")
def test_a_native_bool_that_is_neither_0_nor_1_is_odd_and_loads_as_it_is() -> None:
    data = pack({"tensors": {"w": descriptor({"Bool": "Native"}, [3], [0, 3])}}, b"\x01\x00\xfe")
    (finding,) = agrees(data).findings

    assert (finding.at, finding.burn) == (258, Answer.ACCEPTS)
    assert finding.text == "tensor 'w' holds a bool of 254, which is kept as it is"
    assert bytes(open_burnpack(data)["w"].data.bytes) == b"\x01\x00\xfe"


def test_more_findings_than_anyone_reads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    verdict = verify(pack({"tensors": {str(i): descriptor(shape=[9]) for i in range(5)}}, bytes(8)))

    assert len(verdict.findings) == 2
    assert verdict.left_out >= 3


def test_trailing_metadata_and_a_container_without_padding_are_odd() -> None:
    written = cbor2.dumps({"tensors": {}})
    assert [f.text for f in agrees(raw(written + b"xyz")).findings] == [
        "3 bytes after the metadata item, which nobody reads"
    ]
    assert agrees(b"NRUB\1\0" + len(written).to_bytes(4, "little") + written).findings == ()


@pytest.mark.clause("BPK-7")
def test_a_block_that_burn_panics_at_is_refused_here() -> None:
    scheme = {
        "value": "Q8S",
        "store": "Native",
        "mode": "Symmetric",
        "block": {"size": {"storage": [1, 1, 1, 1, 4], "len": 6}, "dtype": "F32"},
    }
    (finding,) = agrees(one(dtype={"QFloat": scheme})).findings

    assert (finding.stage, finding.burn, finding.clause) == ("open", Answer.PANICS, "BPK-7")
