"""A regular expression as Rust's `regex` crate means it, searched for by RE2."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidPatternError
from ..rust_text import debug_str


class Pattern:
    """One pattern; equal to another of the same source."""

    __slots__ = ("_engine", "source")

    source: str
    _engine: Any

    def __init__(self, source: str) -> None:
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            self._engine = re2.compile(source.encode(), options)
        except re2.error as error:
            raise InvalidPatternError(
                f"Invalid regex pattern: regex parse error:\n    {source}\nerror: {error}", clause="GRP-9"
            ) from None
        self.source = source

    def is_match(self, text: str) -> bool:
        """Whether the pattern is found anywhere in `text`."""
        return self._engine.search(text.encode()) is not None

    def __eq__(self, other: object) -> bool:
        return self.source == other.source if isinstance(other, Pattern) else NotImplemented

    def __repr__(self) -> str:
        return f"Regex({debug_str(self.source)})"

    def __hash__(self) -> int:
        return hash(self.source)
