"""A regular expression as Rust's `regex` crate means it, looked for by RE2."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidArgumentError, InvalidPatternError
from ..immutable import Value
from ..rust_text import debug_str

if TYPE_CHECKING:
    from .rust_regex.search import Program

#: How many bytes Rust's compiled program may take.
SIZE_LIMIT: Final = 10485760
#: A bound for RE2, far above what a pattern within Rust's limit needs.
_RE2_MEMORY: Final = 1 << 28


class Pattern(Value):
    """One pattern; equal to another of the same source.

    Raises:
        InvalidPatternError: Rust refuses the pattern.

    Burn: regex::Regex
    Clauses: GRP-8, GRP-9.
    """

    __slots__ = ("_engine", "_program", "source")

    source: str
    _program: Program
    _engine: Any

    def __init__(self, source: str) -> None:
        program, engine = _compiled(source)
        for name, fact in zip(Pattern.__slots__, (engine, program, source), strict=True):
            object.__setattr__(self, name, fact)

    def is_match(self, text: str) -> bool:
        """Whether the pattern is found anywhere in `text`."""
        try:
            ready = self._program.text(text)
        except UnicodeEncodeError:
            raise InvalidArgumentError(
                f"a path is Unicode text, got a surrogate in {text!r}", clause="GRP-8"
            ) from None
        return self._engine.match(ready) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.source,)  # the compiled program stays here

    def __eq__(self, other: object) -> bool:
        return self.source == other.source if isinstance(other, Pattern) else NotImplemented

    def __repr__(self) -> str:
        return f"Regex({debug_str(self.source)})"

    def __hash__(self) -> int:
        return hash(self.source)


@lru_cache(maxsize=256)
def _compiled(source: str) -> tuple[Program, Any]:
    # With the first pattern, not with the first group: these load tables of Unicode's classes.
    import re2

    from .rust_regex.parser import parse
    from .rust_regex.search import Program, TooManyPlaces
    from .rust_regex.size import fits
    from .rust_regex.syntax import PatternSyntaxError

    try:
        source.encode()
        tree = parse(source)
        if not fits(tree, SIZE_LIMIT):
            raise _refused(f"Compiled regex exceeds size limit of {SIZE_LIMIT} bytes.")
        program = Program(tree)
    except UnicodeEncodeError:
        raise _refused("a pattern is Unicode text, and this one holds a surrogate") from None
    except PatternSyntaxError as fault:
        raise _refused(fault.text(source)) from None
    except TooManyPlaces:
        raise _refused(
            f"{source!r} asks for more boundaries at one position than are looked for here; Rust accepts it"
        ) from None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _RE2_MEMORY
    try:
        return program, re2.compile(program.source, options)
    except re2.error as error:
        raise _refused(f"{source!r} is too large for RE2, though Rust accepts it ({error})") from None


def _refused(reason: str) -> InvalidPatternError:
    return InvalidPatternError(
        f"Invalid regex pattern: {reason}",
        clause="GRP-9",
        hint="the syntax is that of Rust's regex 1.13, not of Python's re",
    )
