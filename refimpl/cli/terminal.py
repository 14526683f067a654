"""Writing to people: no markup, no colour off a terminal, JSON alone when asked."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import ResourceError
from .main import drop_output

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A console that treats text as text: no markup, no highlighting, no wrapping off a terminal.

    A closed pipe is an error like any other, which `main` turns into silence; rich would leave with code 1.
    """
    from rich.console import Console

    class PlainConsole(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            with nullcontext() if stderr else _naming():
                super().print(*objects, **options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):  # what its encoding does not have is written as an escape
        stream.reconfigure(errors="backslashreplace")
    terminal = stream.isatty()
    width = None if terminal else 110
    return PlainConsole(
        file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=not terminal
    )


def write_json(value: Any) -> None:
    """One JSON value on standard output, and nothing else.

    Strings keep every character; what a terminal may obey, or the stream cannot write, is escaped.
    """
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    with _naming():
        sys.stdout.write("".join(c if _is_inert(c, unicode) else _json_escape(c) for c in text) + "\n")


@contextmanager
def _naming() -> Iterator[None]:
    """An error of writing to standard output says that it is one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise ResourceError(f"cannot write to standard output: {error.strerror}") from error


def _is_inert(character: str, unicode: bool) -> bool:
    return character == "\n" or (character.isprintable() and (unicode or character.isascii()))


def _json_escape(character: str) -> str:
    """As JSON writes any character in ASCII: one or two UTF-16 units."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
