"""A place in a pattern, and how it moves; in verbose mode it steps over blanks and comments."""

from __future__ import annotations

from typing import Final

from .syntax import Span

#: Unicode's White_Space, which Rust's verbose mode skips.
WHITE_SPACE: Final = frozenset(
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


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
        while self.verbose and not self.ended:
            if self.char in WHITE_SPACE:
                self.at += 1
            elif self.char == "#":
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                break

    def peek(self) -> str:
        """The character after this one."""
        return self.pattern[self.at + 1 : self.at + 2]

    def peek_space(self) -> str:
        """The next character that verbose mode keeps; of a comment only the `#` is passed, as in Rust."""
        if not self.verbose:
            return self.peek()
        in_comment = False
        for char in self.pattern[self.at + 1 :]:
            if char in WHITE_SPACE:
                continue
            if in_comment or char != "#":
                return char
            in_comment = True
        return self.peek()
