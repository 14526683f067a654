from __future__ import annotations

import pytest

from refimpl.conformance.location import line_of_byte, line_of_field

TEXT = b"""{
 "a": [1,
  {"b": {
   "c": "]}",
   "d": 2}}
 ],
 "e": 3
}"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("", 1),
        ("a", 2),
        ("a[0]", 2),
        ("a[1]", 3),
        ("a[1].b.d", 5),
        ("e", 7),
        ("a[...].b", 2),
        ("a[9].x", 2),
        ("nothing.more", 1),
        ("e.f", 7),
    ],
)
def test_a_field_is_found_or_its_nearest_ancestor(field: str, line: int) -> None:
    assert line_of_field(TEXT, field) == line


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": ', b"[1,"])
def test_a_broken_text_has_a_line_too(text: bytes) -> None:
    assert line_of_field(text, "a[0].b") == 1


def test_a_byte_is_on_a_line() -> None:
    assert line_of_byte(TEXT, "malformed (byte 12)") == 3
    assert line_of_byte(TEXT, "truncated") == 8
