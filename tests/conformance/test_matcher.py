from __future__ import annotations

from typing import Any

import msgspec
import pytest

from refimpl.conformance.case import Match
from refimpl.conformance.floats import is_nan, ulp_distance
from refimpl.conformance.matcher import compare
from refimpl.conformance.outcome import Outcome

PLAIN = Match()


def outcome(**fields: Any) -> Outcome:
    return msgspec.convert(fields, Outcome)


def tensor(hex_digits: str, dtype: str = "f32") -> dict[str, Any]:
    return {
        "dtype": dtype,
        "shape": [len(hex_digits) * 4 // {"f32": 32, "f16": 16}[dtype]],
        "hex": hex_digits,
    }


def differ(expected: Any, got: Any, match: Match = PLAIN) -> str | None:
    found = compare(outcome(ok=expected), outcome(ok=got), match, text=False)
    return None if found is None else str(found)


@pytest.mark.parametrize(
    "value", [None, 1, "x", [1, [2]], {"a": {"b": [None]}}, tensor("0000803f"), {"len": 0, "hex": ""}]
)
def test_a_value_equals_itself(value: Any) -> None:
    assert differ(value, value) is None


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (1, 2, "$.ok: expected 1, got 2"),
        (1, True, "$.ok: expected 1, got true"),
        (None, 0, "$.ok: expected null, got 0"),
        ([1, 2, 3], [1, 5, 3], "$.ok[1]: expected 2, got 5"),
        ([1, 2], [1], "$.ok[1]: expected 2, got the end of 1"),
        ([1], [1, 2], "$.ok[1]: expected the end of 1, got 2"),
        ({"a": 1, "b": 2}, {"a": 1}, "$.ok.b: expected 2, got nothing"),
        ({"a": 1}, {"a": 1, "b": 2}, "$.ok.b: expected nothing, got 2"),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, '$.ok.a[0].b: expected "x", got "y"'),
        ("a\nb\nc", "a\nX\nc", '$.ok, line 2: expected "b", got "X"'),
        ("a\nb", "a\nb\nc", "$.ok: expected 2 lines, got 3 lines"),
        ([1], {"a": 1}, '$.ok: expected [1], got {"a": 1}'),
        (0, -0.0, "$.ok: expected 0, got -0.0"),
        (-0.0, 0.0, "$.ok: expected -0.0, got 0.0"),
    ],
)
def test_the_difference_is_the_first_place_that_differs(expected: Any, got: Any, words: str) -> None:
    assert differ(expected, got) == words


def test_a_long_value_is_shown_shortened() -> None:
    assert "characters)" in (differ([["x" * 1000]], 1) or "")


def test_tensors_differ_at_an_element_a_shape_or_a_dtype() -> None:
    assert differ(tensor("0000803f00000040"), tensor("0000803f00004040")) == (
        "$.ok[element 1]: expected 00000040 (f32), got 00004040"
    )
    assert differ(tensor("0000803f"), tensor("0000803f", "f16")) == '$.ok.dtype: expected "f32", got "f16"'
    assert (differ(tensor("0000803f"), tensor("0000803f00000040")) or "").startswith("$.ok.shape[0]")
    assert (differ(tensor("0000803f"), tensor("0000803f") | {"hex": "00"}) or "").startswith("$.ok.hex")


def test_a_number_is_the_same_with_and_without_a_point() -> None:
    assert differ([1, 2.0, 0], [1.0, 2, 0.0]) is None


@pytest.mark.parametrize("dtype", ["f32", "i32"])
@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"path": "b"}, "$.ok.path"),
        ({"id": 2}, "$.ok.id"),
        ({"x": 1}, "$.ok.x"),
        ({"path": None}, "$.ok.path"),
    ],
)
def test_what_stands_beside_the_elements_counts_too(dtype: str, change: dict[str, Any], where: str) -> None:
    entry = {"path": "a", "id": 1, "dtype": dtype, "shape": [1], "hex": "0000803f"}

    assert (differ(entry, entry | change) or "").startswith(f"{where}: ")


def test_what_lacks_beside_the_elements_counts_too() -> None:
    entry = tensor("0000803f")

    assert differ({"path": "a", **entry}, entry) == '$.ok.path: expected "a", got nothing'
    assert differ({"path": "a", **entry}, entry, Match(ignore=("path",))) is None


@pytest.mark.parametrize("digits", ["0000803g", "0000 03f", "+000803f", "é000803f", 5, None])
@pytest.mark.parametrize("match", [PLAIN, Match(ulp=2)])
def test_what_is_no_hexadecimal_number_differs(digits: Any, match: Match) -> None:
    entry = tensor("0000803f")

    assert (differ(entry, entry | {"hex": digits}, match) or "").startswith(
        '$.ok.hex: expected "0000803f", got'
    )


@pytest.mark.parametrize(
    ("dtype", "first", "second"), [("f32", "0000c07f", "0100c0ff"), ("f16", "007e", "01fe")]
)
def test_a_nan_is_like_any_other_unless_bits_are_asked(dtype: str, first: str, second: str) -> None:
    assert differ(tensor(first, dtype), tensor(second, dtype)) is None
    assert differ(tensor(first, dtype), tensor(second, dtype), Match(bits=True)) is not None


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("0000803f", "0100803f", 1),
        ("00000000", "00000080", 0),
        ("01000000", "01000080", 2),
        ("0000803f", "0000807f", float("inf")),
        ("0000c07f", "0000c07f", float("inf")),
        ("0000803f", "000080bf", 2 * 0x3F800000),
    ],
)
def test_ulps_are_counted_across_zero_and_never_to_infinity(first: str, second: str, distance: float) -> None:
    assert ulp_distance("f32", first, second) == distance


def test_ulps_are_allowed_where_the_step_says() -> None:
    assert differ(tensor("0000803f"), tensor("0200803f"), Match(ulp=2)) is None
    assert differ(tensor("0000803f"), tensor("0300803f"), Match(ulp=2)) is not None


def test_infinity_is_no_nan() -> None:
    assert not is_nan("f64", 0x7FF0000000000000)
    assert is_nan("bf16", 0x7F81)


def test_unordered_lists_are_compared_as_sets_with_repetition() -> None:
    assert differ([3, 1, 1], [1, 3, 1], Match(unordered=True)) is None
    assert differ([3, 1, 1], [1, 3, 3], Match(unordered=True)) is not None


def test_ignored_keys_may_differ_or_be_missing() -> None:
    match = Match(ignore=("id",))

    assert differ({"id": 1, "x": [{"id": 3}]}, {"id": 2, "x": [{}]}, match) is None


def test_the_kind_of_a_panic_counts_and_its_text_only_where_it_is_promised() -> None:
    first = outcome(panic={"kind": "Placement", "text": "a"})
    second = outcome(panic={"kind": "Placement", "text": "b"})
    third = outcome(panic={"kind": "Other", "text": "a"})

    assert compare(first, second, PLAIN, text=False) is None
    assert str(compare(first, second, PLAIN, text=True)) == '$.panic.text: expected "a", got "b"'
    assert compare(first, second, Match(text=True), text=False) is not None
    assert compare(first, second, Match(text=False), text=True) is None
    assert compare(first, third, PLAIN, text=False) is not None


def test_an_error_is_no_panic_and_no_value() -> None:
    error = outcome(error={"kind": "RecordIo"})

    assert compare(error, outcome(panic={"kind": "Load"}), PLAIN, text=False) is not None
    assert compare(error, outcome(ok=None), PLAIN, text=False) is not None
    assert compare(outcome(ok=1), error, PLAIN, text=False) is not None


def test_unsupported_is_like_unsupported() -> None:
    first, second = (outcome(unsupported={"capability": word}) for word in "ab")

    assert compare(first, second, PLAIN, text=False) is None


def test_one_of_several_outcomes_is_enough() -> None:
    expected = outcome(one_of=[{"ok": 1}, {"error": {"kind": "Io"}}])

    assert compare(expected, outcome(ok=1), PLAIN, text=False) is None
    assert compare(expected, outcome(error={"kind": "Io"}), PLAIN, text=False) is None
    assert str(compare(expected, outcome(ok=2), PLAIN, text=False)) == "$.ok: expected 1, got 2"
