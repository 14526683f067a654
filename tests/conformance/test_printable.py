from __future__ import annotations

import pytest

from refimpl.conformance.printable import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b é ☃", "a b é ☃"),
        ("a\nb", "a\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00\x07\r\t\x7f\x9b", "\\x00\\x07\\x0d\\x09\\x7f\\x9b"),
        ("\u202eabc\u200b", "\\u{202e}abc\\u{200b}"),
        ("\u2028\ud800", "\\u{2028}\\u{d800}"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert plain(text) == shown
