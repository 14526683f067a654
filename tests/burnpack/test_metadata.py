"""Metadata read as ciborium and serde read it: exactly as much, and within bounds."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import cbor2
import pytest

from refimpl.burnpack import metadata as module
from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.burnpack.metadata import Descriptor, Metadata, decode_metadata, encode_metadata
from refimpl.burnpack.scalar import FloatScalar, IntScalar, UIntScalar
from refimpl.errors import BurnpackError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import descriptor, one, pack, raw, tree

W = "6177"
F32 = "656474797065" + "63463332"
SHAPE = "657368617065" + "8102"
OFFSETS = "6c646174615f6f666673657473" + "820008"


def hand(descriptor_hex: str, before: str = "", after: str = "") -> bytes:
    """A container of one tensor whose descriptor is these bytes."""
    count = 1 + bool(before) + bool(after)
    text = f"a{count}{before}6774656e736f7273a1{W}{descriptor_hex}{after}"
    return raw(bytes.fromhex(text), bytes(range(8)))


def refused(data: bytes) -> str:
    with pytest.raises(BurnpackError) as caught:
        open_burnpack(data)
    return str(caught.value)


def semantic(data: bytes) -> str:
    text = refused(data)
    assert text.startswith('Metadata deserialization error: Semantic(None, "')
    return text.removeprefix('Metadata deserialization error: Semantic(None, "').removesuffix('")')


EXPECTED = {"w": ("F32", (2,), None, bytes(range(8)))}


@pytest.mark.clause("BPK-4", "BPK-5", "BPK-6", "BPK-8", "BPK-11")
def test_the_metadata_of_burns_own_example_is_written_byte_for_byte() -> None:
    data = burnpack_bytes(
        [
            ("w", TensorData(DType.F32, [2, 2], bytes(16)), 42),
            ("a", TensorData(DType.F32, [1], bytes(4)), None),
        ],
        {"k": "v"},
        {
            "s": UIntScalar(42),
            "lr": 0.001,
            "h": 0.5,
            "neg": -3,
            "b": True,
            "f32": FloatScalar(0.10000000149011612),
        },
    )
    size = int.from_bytes(data[6:10], "little")

    assert (size, len(data)) == (0xC7, 516)
    assert data[10 : 10 + size].hex() == (
        "a36774656e736f7273a26161a36564747970656346333265736861706581016c646174615f6f66667365747382190100190104"
        "6177a46564747970656346333265736861706582020"
        "26c646174615f6f666673657473820010"
        "68706172616d5f6964182a"
        "686d65746164617461a1616b6176677363616c617273a6"
        "6162a164426f6f6cf563663332a165466c6f6174fa3dcccccd6168a165466c6f6174f93800"
        "626c72a165466c6f6174fb3f50624dd2f1a9fc636e6567a163496e74226173a16455496e74182a"
    )


@pytest.mark.clause("BPK-6")
def test_a_tensor_of_rank_0_has_an_empty_shape() -> None:
    data = burnpack_bytes([("z", TensorData(DType.F32, [], bytes(4)), None)])

    assert (
        data[10 : data.index(bytes(2), 10)]
        .hex()
        .startswith("a16774656e736f7273a1617aa3" + F32 + "65736861706580")
    )
    assert len(data) == 260


@pytest.mark.clause("BPK-5")
def test_names_are_in_the_order_of_their_utf8_bytes() -> None:
    names = ["z", "a", "", "é", "aa", "Z", "\U0001f600", "\uffff"]
    data = burnpack_bytes([(name, TensorData(DType.U8, [1], b"x"), None) for name in names])
    size = int.from_bytes(data[6:10], "little")

    assert list(cbor2.loads(data[10 : 10 + size])["tensors"]) == sorted(names, key=str.encode)


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a3" + F32 + SHAPE + OFFSETS, "as written"),
        ("a3" + OFFSETS + SHAPE + F32, "fields in another order"),
        ("bf" + F32 + SHAPE + OFFSETS + "ff", "an indefinite map"),
        ("b900 03".replace(" ", "") + F32 + SHAPE + OFFSETS, "a longer length than needed"),
        ("c1d9d9f7a3" + F32 + SHAPE + OFFSETS, "tags in front"),
        ("a3" + "c2656474797065" + "c063463332" + SHAPE + OFFSETS, "tags in front of key and value"),
        ("a3" + "456474797065" + "a143463332" + SHAPE + OFFSETS, "names as byte strings"),
        ("a3" + "656474797065" + "a163463332" + SHAPE + OFFSETS, "a unit variant as a map, payload left out"),
        ("a3" + F32 + "657368617065" + "9f02ff" + OFFSETS, "an indefinite array"),
        ("a3" + F32 + "657368617065" + "4102" + OFFSETS, "a shape of bytes"),
        ("a3" + F32 + "657368617065" + "811b0000000000000002" + OFFSETS, "an integer of eight bytes"),
        ("a3" + F32 + "657368617065" + "81c24400000002" + OFFSETS, "a bignum"),
        ("a3" + F32 + SHAPE + "6c646174615f6f666673657473420008", "offsets of bytes"),
        ("a4" + F32 + SHAPE + OFFSETS + "68706172616d5f6964f6", "a null id"),
        ("a4" + F32 + SHAPE + OFFSETS + "68706172616d5f6964f7", "an undefined id"),
        ("a4" + F32 + SHAPE + OFFSETS + "637a7a7a8301a0f4", "an unknown field"),
        ("a4" + F32 + SHAPE + OFFSETS + "637a7a7abf0102ff", "an unknown field with an indefinite map"),
    ],
)
def test_every_spelling_that_burn_reads_is_read(text: str, why: str) -> None:
    assert tree(open_burnpack(hand(text))) == EXPECTED, why


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a2" + SHAPE + OFFSETS, "missing field `dtype`"),
        ("a2" + F32 + OFFSETS, "missing field `shape`"),
        ("a2" + F32 + SHAPE, "missing field `data_offsets`"),
        ("a4" + F32 + SHAPE + OFFSETS + SHAPE, "duplicate field `shape`"),
        ("a301" + F32 + SHAPE + OFFSETS, "invalid type: integer `1`, expected str or bytes"),
        ("a37f6164ff" + F32, "invalid type: string, expected str or bytes"),
        ("83", "invalid type: sequence, expected map"),
        ("a3656474797065" + "01", "invalid type: integer `1`, expected enum"),
        ("a3656474797065" + "a0", "invalid type: map, expected enum"),
        ("a3" + F32 + "657368617065" + "812101", "unexpected negative integer"),
        ("a3" + F32 + "657368617065" + "81f94000", "invalid type: floating point `2.0`, expected integer"),
        ("a3" + F32 + "657368617065" + "81fb7e37e43c8800759c" + OFFSETS, None),
        ("a3" + F32 + "657368617065" + "81c3f6", "invalid type: null, expected bytes"),
        ("a3" + F32 + "657368617065" + "81c251" + "01" * 17, "bigint too large"),
        ("a3" + F32 + "657368617065" + "81c249" + "01" * 9, "integer too large"),
        ("a3" + F32 + "657368617065" + "f5", "invalid type: boolean `true`, expected array"),
        (
            "a3" + F32 + SHAPE + "6c646174615f6f6666736574738100",
            "invalid length 1, expected a tuple of size 2",
        ),
    ],
)
def test_what_serde_refuses_is_refused_in_its_words(text: str, message: str | None) -> None:
    found = semantic(hand(text))

    assert message is None or found == message


@pytest.mark.clause("BPK-19")
def test_a_third_offset_is_left_in_the_stream_and_read_as_the_next_key() -> None:
    three = "a4" + F32 + SHAPE + "6c646174615f6f66667365747383000808" + "68706172616d5f696407"
    key = "a4" + F32 + SHAPE + "6c646174615f6f666673657473830008" + "68706172616d5f6964" + "07"

    assert semantic(hand(three)) == "invalid type: integer `8`, expected str or bytes"
    assert tree(open_burnpack(hand(key))) == {"w": ("F32", (2,), 7, bytes(range(8)))}


@pytest.mark.clause("BPK-19")
def test_the_last_of_two_tensors_of_one_name_counts() -> None:
    first, second = cbor2.dumps(descriptor()), cbor2.dumps(descriptor(offsets=(8, 16)))
    data = bytes.fromhex("a16774656e736f7273a2") + b"\x61w" + first + b"\x61w" + second

    assert tree(open_burnpack(raw(data, bytes(range(16)))))["w"][3] == bytes(range(8, 16))


@pytest.mark.clause("BPK-19")
def test_bytes_after_the_one_item_are_ignored() -> None:
    metadata = cbor2.dumps({"tensors": {"w": descriptor()}}) + b"\xff\x00garbage"

    assert tree(open_burnpack(raw(metadata, bytes(range(8))))) == EXPECTED


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize(
    ("param_id", "outcome"),
    [
        (cbor2.CBORTag(1, 7), 7),
        (cbor2.CBORTag(2, b"\7"), 7),
        (cbor2.CBORTag(2, bytes(40) + b"\7"), 7),
        (cbor2.CBORTag(55799, 7), 7),
        (cbor2.CBORTag(35, "(a+)+$"), "invalid type: string, expected integer"),
        (cbor2.CBORTag(36, "From: a"), "invalid type: string, expected integer"),
        (cbor2.CBORTag(1, 7.5), "invalid type: floating point `7.5`, expected integer"),
        (2**64, "integer too large"),
        (cbor2.CBORTag(3, b"\7"), "unexpected negative integer"),
    ],
)
def test_a_tagged_param_id_is_the_number_below_and_never_another_object(param_id: Any, outcome: Any) -> None:
    data = one(param_id=param_id)

    if isinstance(outcome, int):
        assert open_burnpack(data)["w"].param_id == outcome
    else:
        assert semantic(data) == outcome


@pytest.mark.clause("BPK-7", "BPK-19")
def test_a_scheme_without_levels_reads_as_none() -> None:
    scheme = {"value": "Q8S", "store": "Native", "mode": "Symmetric"}
    found = open_burnpack(one(dtype={"QFloat": scheme}, shape=(4,)))["w"]

    assert repr(found.dtype) == (
        "QFloat(QuantScheme { value: Q8S, store: Native, mode: Symmetric, tensor: None, block: None })"
    )


def block(storage: Any = (2, 1, 1, 1, 1), length: Any = 1, **more: Any) -> dict[str, Any]:
    size = {"storage": storage if isinstance(storage, bytes) else list(storage), "len": length}
    return {"QFloat": {
        "value": "Q8S", "store": {"PackedU32": 0}, "mode": "Symmetric", "tensor": "F32",
        "block": {"size": size, "dtype": "F16"}, **more,
    }}  # fmt: skip


@pytest.mark.clause("BPK-7")
def test_a_block_is_read_with_the_extents_it_is_stored_with() -> None:
    scheme = open_burnpack(one(dtype=block((1, 32, 9, 9, 9), 2)))["w"].dtype.scheme

    assert scheme is not None
    assert scheme.per_block is not None
    assert scheme.per_block[0].dims == (1, 32)


@pytest.mark.clause("BPK-7")
def test_the_extents_of_a_block_may_come_as_bytes() -> None:
    scheme = open_burnpack(one(dtype=block(b"\2\1\1\1\1")))["w"].dtype.scheme

    assert scheme is not None
    assert scheme.per_block is not None
    assert scheme.per_block[0].dims == (2,)


@pytest.mark.clause("BPK-7")
@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (block((300, 1, 1, 1, 1)), "invalid value: integer `300`, expected u8"),
        (block(length=256), "invalid value: integer `256`, expected u8"),
        (block((1, 1)), "invalid length 2, expected an array of length 5"),
        (block(mode="Other"), "unknown variant `Other`, expected `Symmetric` or `Lookup`"),
        (
            block(tensor="F99"),
            "unknown variant `F99`, expected one of `F32`, `F16`, `BF16`, `UE8M0`, `UE4M3`",
        ),
        ({"QFloat": {}}, "missing field `value`"),
        ({"QFloat": {"value": "Q8S"}}, "missing field `store`"),
        ({"QFloat": {"value": "Q8S", "store": "Native"}}, "missing field `mode`"),
        (block(block={}), "missing field `size`"),
        (block(block={"size": {}}), "missing field `storage`"),
        (block(block={"size": {"storage": [1] * 5}}), "missing field `len`"),
        (block(block={"size": {"storage": [1] * 5, "len": 1}}), "missing field `dtype`"),
        ("Bool", "unknown variant `shape`, expected one of `Native`, `U8`, `U32`"),
        ({"Bool": "U64"}, "unknown variant `U64`, expected one of `Native`, `U8`, `U32`"),
    ],
)
def test_a_dtype_that_serde_refuses_is_refused_in_its_words(dtype: Any, message: str) -> None:
    assert semantic(one(dtype=dtype)) == message


@pytest.mark.clause("BPK-7")
def test_unknown_fields_of_a_scheme_are_skipped() -> None:
    dtype = block(extra=[1, {"a": 2}])
    dtype["QFloat"]["block"]["more"] = {}
    dtype["QFloat"]["block"]["size"]["most"] = []

    assert "w" in open_burnpack(one(dtype=dtype))


@pytest.mark.clause("BPK-7")
def test_a_block_of_more_axes_than_are_stored_is_refused_where_burn_panics_later() -> None:
    assert refused(one(dtype=block(length=6))) == "Validation error: a block size of 6 axes is stored in 5"


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"Int": -(2**63)}, IntScalar(-(2**63))),
        ({"UInt": 2**64 - 1}, UIntScalar(2**64 - 1)),
        ({"Int": 2**63}, "integer too large"),
        ({"Int": -(2**63) - 1}, "integer too large"),
        ({"UInt": -1}, "unexpected negative integer"),
        ({"Float": 1}, "invalid type: integer `1`, expected float"),
        ({"Text": 1}, "unknown variant `Text`, expected one of `Int`, `UInt`, `Float`, `Bool`"),
        (None, "invalid type: null, expected enum"),
    ],
)
def test_scalars_are_read_in_their_own_type_only(value: Any, outcome: Any) -> None:
    data = pack({"tensors": {}, "scalars": {"s": value}})

    if isinstance(outcome, str):
        assert semantic(data) == outcome
    else:
        assert open_burnpack(data).scalars == {"s": outcome}


@pytest.mark.clause("BPK-8")
def test_a_bool_scalar_may_be_written_in_two_bytes_and_is_nothing_else() -> None:
    head = bytes.fromhex("a26774656e736f7273a0677363616c617273a16173a164426f6f6c")

    assert open_burnpack(raw(head + b"\xc0\xf8\x15")).scalars["s"].value is True
    assert refused(raw(head + b"\xc0\x01")) == (
        'Metadata deserialization error: Semantic(Some(28), "expected bool")'
    )


@pytest.mark.clause("BPK-4")
@pytest.mark.parametrize("value", [None, [], 1, "a"])
def test_user_texts_are_a_map_when_they_are_there(value: Any) -> None:
    assert semantic(pack({"tensors": {}, "metadata": value})).endswith("expected map")


@pytest.mark.report("BL-41")
def test_a_user_key_may_be_called_as_a_field() -> None:
    data = burnpack_bytes([], {"tensors": "x", "metadata": "y"}, {"tensors": 1})

    assert dict(open_burnpack(data).metadata) == {"tensors": "x", "metadata": "y"}


@pytest.mark.clause("BPK-19")
@pytest.mark.report("BL-38")
@pytest.mark.parametrize("depth", [126, 127, 128, 129, 100_000])
@pytest.mark.parametrize("byte", [b"\x81", b"\xc1", b"\xa1\x00"])
def test_unknown_values_may_be_127_levels_deep(depth: int, byte: bytes) -> None:
    data = raw(bytes.fromhex("a26774656e736f7273a0656578747261") + byte * depth + b"\x00")

    if depth <= 127:
        assert len(open_burnpack(data)) == 0
    else:
        assert refused(data) == "Metadata deserialization error: RecursionLimitExceeded"


@pytest.mark.clause("BPK-19")
def test_an_empty_container_counts_as_a_level_too() -> None:
    start = bytes.fromhex("a26774656e736f7273a0656578747261")

    assert len(open_burnpack(raw(start + b"\x81" * 126 + b"\xa0"))) == 0
    assert "RecursionLimitExceeded" in refused(raw(start + b"\x81" * 127 + b"\xa0"))
    assert "RecursionLimitExceeded" in refused(raw(start + b"\x81" * 127 + b"\x80"))


@pytest.mark.report("BL-38")
@pytest.mark.parametrize("data", [b"\x81" * 100_000, b"\xc0" * 100_000, b"\xbf" * 1000])
def test_a_bomb_as_the_whole_metadata_is_refused_at_once(data: bytes) -> None:
    begun = time.process_time()

    assert refused(raw(data)).startswith("Metadata deserialization error: ")
    assert time.process_time() - begun < 1


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ff", 'Semantic(None, "invalid type: break, expected non-break")'),
        ("e0", 'Semantic(None, "invalid type: simple, expected known simple value")'),
        ("f820", 'Semantic(None, "invalid type: simple, expected known simple value")'),
        ("bf00ff", 'Semantic(None, "invalid type: break, expected non-break")'),
        ("1c", "Syntax(16)"),
        ("1f", "Syntax(16)"),
        ("61ff", "Syntax(16)"),
        ("7f4100ff", "Syntax(17)"),
        ("7f61ffff", "Syntax(17)"),
        ("c350" + "ff" * 16, 'Semantic(None, "integer too large")'),
        ("42", None),
        ("820119", None),
        ("1a0000", None),
        ("9f", None),
        ("5f41", None),
    ],
)
def test_what_is_skipped_is_still_checked_as_burn_does(value: str, text: str | None) -> None:
    found = refused(raw(bytes.fromhex("a26774656e736f7273a0656578747261" + value)))

    end = 'Io(Error { kind: UnexpectedEof, message: "failed to fill whole buffer" })'
    assert found == f"Metadata deserialization error: {text or end}"


HARMLESS = (
    "00 1818 20 3bffffffffffffffff 40 4100 5f41005f4100ffff 60 6161 7f6161ff 7f7f6161ffff 80 8100 9f00ff "
    "9f80a0ff a0 a10000 bf0000ff bf008000a0ff c000 c24107 c35001010101010101010101010101010101 f4 f5 f6 f7 "
    "f814 f90000 fa00000000 fb0000000000000000 d9d9f7c2f6 82c1008100"
)


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize("value", HARMLESS.split())
def test_every_kind_of_unknown_value_is_passed_over(value: str) -> None:
    start = bytes.fromhex("a3656578747261" + value + "6774656e736f7273a0" + "6161" + value)

    assert len(open_burnpack(raw(start))) == 0


def colliding(count: int) -> bytes:
    """A map whose integer keys all have one hash in Python."""
    keys = b"".join(b"\x1b" + ((2**61 - 1) * i % 2**64).to_bytes(8, "big") + b"\x00" for i in range(count))
    return b"\xba" + count.to_bytes(4, "big") + keys


@pytest.mark.clause("BPK-19")
@pytest.mark.parametrize(
    ("extra", "seconds"),
    [
        (colliding(20_000), 1.0),
        (colliding(200_000), 2.0),
        (b"\x9a" + (10_000_000).to_bytes(4, "big") + b"\xa0" * 10_000_000, 2.0),
        (b"\x9f" + b"\x81\x00" * 500_000 + b"\xff", 8.0),
        (b"\x9f" + b"\x61a" * 500_000 + b"\xff", 8.0),
    ],
    ids=["20,000 colliding keys", "200,000 colliding keys", "10 MB of empty maps", "pairs", "short texts"],
)
def test_hostile_unknown_values_take_neither_time_nor_memory(extra: bytes, seconds: float) -> None:
    data = cbor2.dumps({"tensors": {"w": descriptor()}})
    data = raw(b"\xa2" + data[1:] + b"\x65extra" + extra, bytes(range(8)))
    begun = time.process_time()
    found = open_burnpack(data)
    spent = time.process_time() - begun

    assert tree(found) == EXPECTED
    assert spent < seconds


@pytest.mark.clause("BPK-19")
def test_skipping_takes_no_memory_beyond_the_metadata() -> None:
    data = raw(b"\xa2\x67tensors\xa0\x65extra\x9a" + (10**7).to_bytes(4, "big") + b"\xa0" * 10**7)
    tracemalloc.start()
    try:
        open_burnpack(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < len(data) + 2**20


@pytest.mark.clause("BPK-20")
@pytest.mark.report("BL-03")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"shape": [4]},
            "Validation error: tensor 'w' declares 8 bytes but its shape [4] and dtype F32 need 16",
        ),
        (
            {"shape": [1]},
            "Validation error: tensor 'w' declares 8 bytes but its shape [1] and dtype F32 need 4",
        ),
        (
            {"shape": [2**33, 2**33]},
            "Validation error: tensor 'w' byte length calculation overflows u64 for shape "
            "[8589934592, 8589934592] and dtype F32",
        ),
        (
            {"shape": [2**63, 2**63, 0], "offsets": [0, 0]},
            "Validation error: tensor 'w' byte length calculation overflows u64 for shape "
            "[9223372036854775808, 9223372036854775808, 0] and dtype F32",
        ),
        ({"offsets": [8, 4]}, "Validation error: Tensor 'w' has corrupted offset data: end 260 < start 264"),
        (
            {"offsets": [2**64 - 4, 2**64 - 1]},
            "Validation error: Tensor 'w' has corrupted offset data: overflow",
        ),
    ],
)
def test_a_range_that_contradicts_its_shape_is_refused_at_open(fields: dict[str, Any], text: str) -> None:
    assert refused(one(bytes(16), **fields)) == text


@pytest.mark.report("BL-03")
@pytest.mark.parametrize("fields", [{"shape": [-1]}, {"shape": [1.0]}, {"dtype": "F99"}])
def test_a_descriptor_of_other_types_is_refused_at_open(fields: dict[str, Any]) -> None:
    assert refused(one(bytes(16), **fields)).startswith("Metadata deserialization error: ")


@pytest.mark.clause("BPK-20")
def test_the_first_tensor_in_name_order_is_told_of() -> None:
    data = pack({"tensors": {"b": descriptor(shape=[9]), "a": descriptor(shape=[7])}}, bytes(8))

    assert "tensor 'a'" in refused(data)


@pytest.mark.clause("BPK-12")
def test_a_leading_zero_makes_any_shape_legal() -> None:
    found = open_burnpack(one(shape=[0, 2**64 - 1, 2**64 - 1], offsets=[0, 0]))

    assert found["w"].shape == (0, 2**64 - 1, 2**64 - 1)


@pytest.mark.clause("BPK-20")
@pytest.mark.report("BL-41")
def test_more_than_100000_tensors_are_refused_with_their_number() -> None:
    def tensors(count: int) -> bytes:
        empty = cbor2.dumps(descriptor(shape=[0], offsets=[0, 0]))
        body = b"".join(cbor2.dumps(f"t{i:06}") + empty for i in range(count))
        return raw(b"\xa1\x67tensors\xba" + count.to_bytes(4, "big") + body)

    assert len(open_burnpack(tensors(100_000))) == 100_000
    assert refused(tensors(100_005)) == (
        "Validation error: File contains 100005 tensors, exceeding maximum of 100000 (potential DoS attack)"
    )


@pytest.mark.clause("BPK-20")
def test_small_metadata_cannot_unfold_to_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_USER_ENTRIES", 2)
    monkeypatch.setattr(module, "MAX_DIMENSIONS", 3)
    monkeypatch.setattr(module, "WIDE_TEXT_ALLOWANCE", 0)

    assert "more than 2 texts and scalars" in refused(
        pack({"tensors": {}, "metadata": dict.fromkeys("abc", "")})
    )
    assert "more than 3 axes" in refused(one(shape=[1, 1, 1, 2]))
    wide = pack({"tensors": {}, "metadata": {"a" * 300 + "\U0001f600": ""}})
    assert "unfold" in refused(wide)
    assert len(open_burnpack(pack({"tensors": {}, "metadata": {"a" * 300: ""}}))) == 0


@pytest.mark.clause("BPK-6")
def test_the_quick_way_and_the_general_way_read_the_same() -> None:
    tensors = {
        f"{'n' * (i % 40)}{i}": Descriptor(
            (DType.F32, DType.BOOL_NATIVE, DType.BF16, DType.FLEX32)[i % 4],
            (i % 3,),
            (start := i * 30_000_000),
            start + (i % 3) * (4, 1, 2, 4)[i % 4],
            (None, 3, 300, 2**40, 2**64 - 1)[i % 5],
        )
        for i in range(400)
    }
    encoded = encode_metadata(Metadata(tensors))
    spelled = cbor2.loads(encoded)
    for one_of_them in spelled["tensors"].values():
        one_of_them["unknown"] = 0

    assert decode_metadata(encoded).tensors == tensors
    assert decode_metadata(cbor2.dumps(spelled)).tensors == tensors
    assert decode_metadata(encoded).end == decode_metadata(cbor2.dumps(spelled)).end
