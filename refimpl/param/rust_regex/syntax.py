"""Why Rust refuses a pattern, and where in it."""

from __future__ import annotations

from typing import Final, TypeAlias

#: From one position of the pattern to before another, in characters.
Span: TypeAlias = tuple[int, int]

CLASS_UNCLOSED: Final = "unclosed character class"
COUNT_UNCLOSED: Final = "unclosed counted repetition"
ESCAPE_EOF: Final = "incomplete escape sequence, reached end of pattern prematurely"
GROUP_UNCLOSED: Final = "unclosed group"
INVALID_UTF8: Final = "pattern can match invalid UTF-8"
MISSING: Final = "repetition operator missing expression"
UNICODE_NOT_ALLOWED: Final = "Unicode not allowed here"


class PatternSyntaxError(Exception):
    """What is wrong, and the spans that show it."""

    def __init__(self, reason: str, *spans: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.spans = spans

    def text(self, pattern: str) -> str:
        """The message with the pattern and carets under the spans, as Rust prints it for one line."""
        shown = "\n".join(f"    {line}" for line in pattern.split("\n"))
        carets = ""
        if self.spans and "\n" not in pattern:
            for start, end in sorted(self.spans):
                carets += " " * (start - len(carets)) + "^" * max(end - start, 1)
            carets = f"    {carets}\n"
        return f"regex parse error:\n{shown}\n{carets}error: {self.reason}"
