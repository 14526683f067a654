"""Ids of parameters: the number, its text, and what else reads as one."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from refimpl import ParamId
from refimpl.errors import ArgumentTypeError, InvalidArgumentError, PanicError, ParamIdError

#: Recorded from real Burn.
TEXTS = {
    0: "0000000000000",
    1: "0400000000000",
    2: "0800000000000",
    123456: "83h0200000000",
    0x0102030405060708: "103gc1840c102",
    2**64 - 1: "vvvvvvvvvvvvu",
}


@pytest.mark.clause("PAR-1")
def test_new_ids_are_64_bits_and_differ() -> None:
    made = {ParamId.new() for _ in range(1000)}

    assert len(made) == 1000
    assert max(made) > ParamId.from_int(2**62)
    assert all(0 <= int(each) < 2**64 for each in made)


@pytest.mark.clause("PAR-1")
def test_equality_hash_and_order_are_the_numbers() -> None:
    low, high = ParamId.from_int(9), ParamId.from_int(10)

    assert low < high
    assert sorted([high, low]) == [low, high]
    assert {ParamId.from_int(9): "found"}[low] == "found"
    assert low.val() == int(low) == 9


@pytest.mark.clause("PAR-1")
@pytest.mark.parametrize("number", [-1, 2**64, 1.0, "1", True, None])
def test_a_number_that_is_no_u64_is_refused(number: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="2\\^64-1"):
        ParamId.from_int(number)


@pytest.mark.clause("PAR-1")
def test_the_class_is_not_called() -> None:
    with pytest.raises(ArgumentTypeError):
        ParamId(5)


@pytest.mark.clause("PAR-2", "PAR-3")
@pytest.mark.parametrize(("number", "text"), TEXTS.items())
def test_the_text_is_base32hex_of_the_little_endian_bytes(number: int, text: str) -> None:
    assert str(ParamId.from_int(number)) == text
    assert f"{ParamId.from_int(number)}" == text
    assert ParamId.parse(text) == ParamId.from_int(number)
    assert ParamId.parse(text.upper()) == ParamId.from_int(number)


@pytest.mark.clause("PAR-3")
@pytest.mark.parametrize(("text", "number"), [("", 0), ("00", 0), ("04", 1), ("5kmiqb9d5k", 0x2D2D2D2D2D2D)])
def test_fewer_bytes_are_extended_with_zeros(text: str, number: int) -> None:
    assert int(ParamId.parse(text)) == number


@pytest.mark.clause("PAR-3", "PAR-5")
@pytest.mark.parametrize(
    "text",
    [
        "vvvvvvvvvvvvv",  # a bit left over
        "0",
        "000",
        "000000",
        "00000000000000",
        "invalid_id",
        "w0",
        "0 ",
        "+4",
        "٠٤",
        "30b82c23-788d-4d63-ada258d5f13c",
        "{30b82c23788d4d63a743ada258d5f13c}",
        "urn:uuid:{30b82c23-788d-4d63-a743-ada258d5f13c}",
        "30b82c23-788d-4d63-a743-ada258d5f13g",
    ],
)
def test_other_text_is_no_id(text: str) -> None:
    with pytest.raises(ParamIdError, match=r"^Invalid id\."):
        ParamId.parse(text)


@pytest.mark.clause("PAR-4")
@pytest.mark.parametrize(
    ("text", "count"), [("0" * 15, 9), ("30b82c23788d4d63a743ada258d5f13c", 20), ("0" * 16, 10)]
)
def test_more_than_eight_bytes_panic(text: str, count: int) -> None:
    with pytest.raises(PanicError, match=f"^range end index {count} out of range for slice of length 8"):
        ParamId.parse(text)


@pytest.mark.clause("PAR-5", "PAR-6")
@pytest.mark.parametrize("form", ["{}", "{{{}}}", "urn:uuid:{}", "URN:UUID:{}"])
def test_a_uuid_is_hashed(form: str) -> None:
    uuid = form.format("30b82c23-788d-4d63-a743-ada258d5f13c")

    assert int(ParamId.parse(uuid)) == 3660534592299406267
    assert int(ParamId.parse(uuid.upper())) == 3660534592299406267


def test_what_is_no_text_is_not_parsed() -> None:
    with pytest.raises(ArgumentTypeError):
        ParamId.parse(5)  # type: ignore[arg-type]


@pytest.mark.clause("PAR-7")
def test_the_debug_text_is_burns() -> None:
    assert repr(ParamId.from_int(1)) == "ParamId { value: 1 }"


def test_a_copy_and_a_pickle_are_the_same_id() -> None:
    made = ParamId.new()

    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made
    back = pickle.loads(pickle.dumps(made))
    assert back == made
    assert type(back) is ParamId
