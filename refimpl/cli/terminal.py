"""Writing to people: no control characters of strangers, no colour off a terminal, JSON alone when asked."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


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


def console(*, stderr: bool = False) -> Console:
    """A console that treats text as text: no markup, no highlighting, no wrapping off a terminal.

    A closed pipe is an error like any other, which `main` turns into silence; rich would leave with code 1.
    """
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    width = None if terminal else 110
    return PlainConsole(
        file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=not terminal
    )


def write_json(value: Any) -> None:
    """One JSON value on standard output, and nothing else."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
