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

_DIVIDER: Final = "~" * 79


class PatternSyntaxError(Exception):
    """What is wrong, and the spans that show it."""

    def __init__(self, reason: str, *spans: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.spans = spans

    def text(self, pattern: str) -> str:
        """The message with the pattern and carets under the spans, as Rust prints it.

        Of several lines each has its number, and a span from one line into another is told in words.
        """
        lines = pattern.split("\n")
        width = len(str(len(lines)))
        marks = [""] * len(lines)
        across = ""
        for start, end in sorted(self.spans):
            (first, low), (last, high) = _place(pattern, start), _place(pattern, end)
            if first == last:
                marks[first] += " " * (low - len(marks[first])) + "^" * max(high - low, 1)
            else:
                across += f"on line {first + 1} (column {low + 1}) through line {last + 1} (column {high})\n"
        shown = ""
        for number, (line, mark) in enumerate(zip(lines, marks, strict=True), 1):
            if number == len(lines) > 1 and not line:
                break  # the end of the last line is not one more
            if number < len(lines):
                line = line.removesuffix("\r")
            before = f"{number:{width}}: " if len(lines) > 1 else "    "
            shown += f"{before}{line}\n"
            shown += f"{' ' * len(before)}{mark}\n" if mark else ""
        if len(lines) > 1:
            shown = f"{_DIVIDER}\n{shown}{_DIVIDER}\n{across}"
        return f"regex parse error:\n{shown}error: {self.reason}"


def _place(pattern: str, at: int) -> tuple[int, int]:
    """The line of a position, and the column in it."""
    return pattern.count("\n", 0, at), at - (pattern.rfind("\n", 0, at) + 1)
