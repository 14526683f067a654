"""How deep the parts of a pattern stand in each other, and which of them is too deep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .syntax import PatternSyntaxError, Span

#: How deep groups, repetitions, sequences, choices and brackets may stand in each other.
NEST_LIMIT: Final = 250


@dataclass(slots=True)
class Nest:
    """A part that counts for a level, and those that stand in it directly."""

    span: Span
    inner: tuple[Nest, ...] = ()
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self.depth = 1 + max((each.depth for each in self.inner), default=0)

    @property
    def is_too_deep(self) -> bool:
        """Whether something in it stands deeper than the limit."""
        return self.depth > NEST_LIMIT


def check_nesting(whole: Nest | None) -> None:
    """Refuse the first part, from left to right, that stands too deep.

    Raises:
        PatternSyntaxError: there is one.
    """
    if whole is None or not whole.is_too_deep:
        return
    nest = whole
    for levels in range(NEST_LIMIT, 0, -1):
        nest = next(each for each in nest.inner if each.depth >= levels)
    raise PatternSyntaxError(
        f"exceed the maximum number of nested parentheses/brackets ({NEST_LIMIT})", nest.span
    )
