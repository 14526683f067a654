"""What stands in brackets: sets of characters, and operations on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from . import unicode_data
from .char_set import ASCII_CLASSES, EMPTY, CharSet, fold_ascii
from .escape import Assertion, Literal, PerlClass, UnicodeClass, read_escape
from .flags import Flags
from .nesting import Nest
from .syntax import CLASS_UNCLOSED, INVALID_UTF8, UNICODE_NOT_ALLOWED, PatternSyntaxError, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .cursor import Cursor

_ASCII_CLASS: Final = re.compile(rf"\[:(?P<not>\^?)(?P<name>{'|'.join(ASCII_CLASSES)}):\]")
_OPERATIONS: Final[dict[str, Callable[[CharSet, CharSet], CharSet]]] = {
    "&&": lambda left, right: left & right,
    "--": lambda left, right: left - right,
    "~~": lambda left, right: left ^ right,
}


class SetRules:
    """How sets are made under `flags`: folded, negated, and refused where bytes past ASCII could match.

    Rust finds these faults after it has read the whole pattern: the first is kept in `fault`, and what is
    wrong in the syntax comes before it.
    """

    def __init__(self) -> None:
        self.flags = Flags()
        self.fault: PatternSyntaxError | None = None

    def refuse(self, reason: str, span: Span) -> CharSet:
        """Keep a fault; an empty set to go on with."""
        self.fault = self.fault or PatternSyntaxError(reason, span)
        return EMPTY

    def fold(self, chars: CharSet) -> CharSet:
        """`chars` with their other cases, where case does not count."""
        if not self.flags.case_insensitive:
            return chars
        return unicode_data.fold(chars) if self.flags.unicode else fold_ascii(chars)

    def finished(self, chars: CharSet, negated: bool, span: Span) -> CharSet:
        """`chars` or, negated, all others: without Unicode these are bytes, and some are past ASCII."""
        if not negated:
            return chars
        return chars.negated() if self.flags.unicode else self.refuse(INVALID_UTF8, span)

    def perl(self, escape: PerlClass) -> CharSet:
        r"""`\d`, `\s` or `\w`: of Unicode, or of ASCII."""
        if self.flags.unicode:
            chars = unicode_data.named(escape.name) or EMPTY
        else:
            chars = ASCII_CLASSES[{"D": "digit", "S": "space", "W": "word"}[escape.name]]
        return self.finished(chars, escape.negated, escape.span)

    def unicode(self, escape: UnicodeClass) -> CharSet:
        r"""`\p{...}`: a category, a script, or any property of which Rust has tables."""
        if not self.flags.unicode:
            return self.refuse(UNICODE_NOT_ALLOWED, escape.span)
        name = unicode_data.normalized(escape.name)
        if escape.value is not None:
            key = f"{name}={unicode_data.normalized(escape.value)}"
            found = unicode_data.named(key)
            missing = "Unicode property value not found"
            if not unicode_data.has_values(name):
                missing = "Unicode property not found"
        else:
            found, missing = unicode_data.named(name), "Unicode property not found"
        if found is None:
            return self.refuse(missing, escape.span)
        return self.finished(self.fold(found), escape.negated, escape.span)

    def literal(self, literal: Literal) -> int:
        """The character of a set, refused where it would have to be a byte past ASCII."""
        char = ord(literal.char)
        if not self.flags.unicode and char > 127:
            self.refuse(INVALID_UTF8 if literal.is_byte else UNICODE_NOT_ALLOWED, literal.span)
        return char


class _Set(NamedTuple):
    """A set, where it stands, and how deep brackets nest in it."""

    chars: CharSet
    span: Span
    nest: Nest | None = None


@dataclass(slots=True)
class _Part:
    """Sets side by side, from a position on."""

    start: int
    sets: list[_Set] = field(default_factory=list)

    def add(self, chars: CharSet, span: Span, nest: Nest | None = None) -> None:
        self.sets.append(_Set(chars, span, nest))

    def whole(self) -> _Set:
        """The union: one level more where it joins several."""
        if len(self.sets) == 1:
            return self.sets[0]
        if not self.sets:
            return _Set(EMPTY, (self.start, self.start))
        union = CharSet.of(each for one in self.sets for each in one.chars.ranges)
        span = self.sets[0].span[0], self.sets[-1].span[1]
        return _Set(union, span, Nest(span, _nests(self.sets)))


def _nests(sets: Iterable[_Set]) -> tuple[Nest, ...]:
    return tuple(one.nest for one in sets if one.nest is not None)


@dataclass(slots=True)
class _Open:
    """A bracket not closed yet: what stood before it, and whether it is negated."""

    before: _Part
    negated: bool
    span: Span


@dataclass(slots=True)
class _Operator:
    """An operator whose right side is being read."""

    name: str
    left: _Set


_Stack: TypeAlias = list[_Open | _Operator]


def read_class(cursor: Cursor, rules: SetRules) -> tuple[CharSet, Nest]:
    """The set whose bracket stands at the cursor, and how deep its brackets nest."""
    stack: _Stack = []
    part = _Part(cursor.at)
    while True:
        cursor.space()
        char = cursor.char
        if char == "[":
            if not stack or not _is_ascii_class(cursor, rules, part):
                opened, part = _open(cursor, part)
                stack.append(opened)
        elif char == "]":
            inside = _operated(stack, part.whole(), rules)
            closed = stack.pop()
            assert isinstance(closed, _Open)  # `_operated` leaves the bracket on top
            cursor.bump()
            span = closed.span[0], cursor.at
            chars = rules.finished(rules.fold(inside.chars), closed.negated, span)
            nest = Nest(span, _nests([inside]))
            if not stack:
                return chars, nest
            part = closed.before
            part.add(chars, span, nest)
        elif char in ("&", "-", "~") and cursor.peek() == char:
            cursor.bump_if(char * 2)
            stack.append(_Operator(char * 2, _operated(stack, part.whole(), rules)))
            part = _Part(cursor.at)
        else:
            part.add(*_item(cursor, rules, stack))


def _operated(stack: _Stack, right: _Set, rules: SetRules) -> _Set:
    """`right`, or what the operator before it makes of both sides."""
    operator = stack[-1] if stack else None
    if not isinstance(operator, _Operator):
        return right
    stack.pop()
    left = operator.left
    made = _OPERATIONS[operator.name](rules.fold(left.chars), rules.fold(right.chars))
    span = left.span[0], right.span[1]
    return _Set(made, span, Nest(span, _nests([left, right])))


def _open(cursor: Cursor, before: _Part) -> tuple[_Open, _Part]:
    """The bracket at the cursor with its `^`, and what is in it from the start: hyphens, or a bracket."""
    start = cursor.at
    if not cursor.bump_and_space():
        raise PatternSyntaxError(CLASS_UNCLOSED, (start, cursor.at))
    negated = cursor.char == "^"
    if negated and not cursor.bump_and_space():
        raise PatternSyntaxError(CLASS_UNCLOSED, (start, cursor.at))
    part = _Part(cursor.at)
    while cursor.char == "-":
        part.add(CharSet(((45, 45),)), cursor.this)
        if not cursor.bump_and_space():
            raise PatternSyntaxError(CLASS_UNCLOSED, (start, start))
    if not part.sets and cursor.char == "]":
        part.add(CharSet(((93, 93),)), cursor.this)
        if not cursor.bump_and_space():
            raise PatternSyntaxError(CLASS_UNCLOSED, (start, cursor.at))
    return _Open(before, negated, (start, cursor.at)), part


def _is_ascii_class(cursor: Cursor, rules: SetRules, part: _Part) -> bool:
    """Whether `[:name:]` stands at the cursor: then it is added. Else the bracket opens an ordinary set."""
    found = _ASCII_CLASS.match(cursor.pattern, cursor.at)
    if found is None:
        return False
    cursor.at = found.end()
    chars = rules.fold(ASCII_CLASSES[found["name"]])
    part.add(rules.finished(chars, bool(found["not"]), found.span()), found.span())
    return True


def _item(cursor: Cursor, rules: SetRules, stack: _Stack) -> tuple[CharSet, Span]:
    """A character, a range or an escaped class; at the end of the pattern the bracket was not closed."""
    first = _primitive(cursor)
    cursor.space()
    if cursor.ended:
        raise _unclosed(stack)
    if cursor.char != "-" or cursor.peek_space() in ("]", "-"):
        match first:
            case Literal():
                char = rules.literal(first)
                return CharSet(((char, char),)), first.span
            case PerlClass():
                return rules.perl(first), first.span
            case UnicodeClass():
                return rules.unicode(first), first.span
            case Assertion():
                raise PatternSyntaxError("invalid escape sequence found in character class", first.span)
    if not cursor.bump_and_space():
        raise _unclosed(stack)
    last = _primitive(cursor)
    if not isinstance(first, Literal) or not isinstance(last, Literal):
        span = last.span if isinstance(first, Literal) else first.span
        raise PatternSyntaxError("invalid range boundary, must be a literal", span)
    span = first.span[0], last.span[1]
    if first.char > last.char:
        raise PatternSyntaxError("invalid character class range, the start must be <= the end", span)
    return CharSet(((rules.literal(first), rules.literal(last)),)), span


def _primitive(cursor: Cursor) -> Literal | PerlClass | UnicodeClass | Assertion:
    if cursor.char == "\\":
        return read_escape(cursor)
    literal = Literal(cursor.char, cursor.this)
    cursor.bump()
    return literal


def _unclosed(stack: _Stack) -> PatternSyntaxError:
    innermost = next(each for each in reversed(stack) if isinstance(each, _Open))
    return PatternSyntaxError(CLASS_UNCLOSED, innermost.span)
