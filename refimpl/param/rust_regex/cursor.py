"""A place in a pattern, and how it moves; in verbose mode it steps over blanks and comments."""

from __future__ import annotations

import re
from typing import Final

from .syntax import Span

#: Unicode's White_Space, which Rust's verbose mode skips.
WHITE_SPACE: Final = frozenset(
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_BLANK: Final = f"[{''.join(sorted(WHITE_SPACE))}]"
_SKIPPED: Final = re.compile(rf"(?:{_BLANK}|#[^\n]*\n?)+")
#: Of a comment only the `#` is passed, as in Rust.
_PASSED: Final = re.compile(rf"{_BLANK}*#?{_BLANK}*")


class Cursor:
    """Reads `pattern` from left to right. `char` is empty at the end."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.verbose = False

    @property
    def char(self) -> str:
        """The character at the cursor."""
        return self.pattern[self.at : self.at + 1]

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.pattern)

    @property
    def here(self) -> Span:
        """The span of no characters at the cursor."""
        return self.at, self.at

    @property
    def this(self) -> Span:
        """The span of the character at the cursor."""
        return self.at, self.at + 1

    def bump(self) -> bool:
        """Step over one character; whether one is left then."""
        if not self.ended:
            self.at += 1
        return not self.ended

    def bump_and_space(self) -> bool:
        """Step over one character and what verbose mode skips; whether one is left then."""
        if not self.bump():
            return False
        self.space()
        return not self.ended

    def bump_if(self, prefix: str) -> bool:
        """Step over `prefix` if it stands at the cursor; whether it did."""
        if not self.pattern.startswith(prefix, self.at):
            return False
        self.at += len(prefix)
        return True

    def space(self) -> None:
        """Step over blanks and comments, in verbose mode."""
        if self.verbose and (skipped := _SKIPPED.match(self.pattern, self.at)):
            self.at = skipped.end()

    def peek(self) -> str:
        """The character after this one."""
        return self.pattern[self.at + 1 : self.at + 2]

    def peek_space(self) -> str:
        """The character after this one and what verbose mode passes there."""
        passed = _PASSED.match(self.pattern, self.at + 1) if self.verbose else None
        return self.pattern[passed.end() : passed.end() + 1] if passed else self.peek()
