"""What strangers say, made safe to show: a terminal, and whoever reads a report, obeys nothing in it."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """The text with every control character but the line break made visible."""
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
