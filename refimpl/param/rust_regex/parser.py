"""Reading a pattern of Rust's `regex` into a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..rust_regex import unicode_data
from .char_set import CharSet
from .character_class import SetRules, read_class
from .cursor import WHITE_SPACE, Cursor
from .escape import Assertion, Escape, Literal, PerlClass, UnicodeClass, read_escape
from .flags import Flags, read_flags
from .nesting import Nest, check_nesting
from .syntax import COUNT_UNCLOSED, GROUP_UNCLOSED, INVALID_UTF8, MISSING, PatternSyntaxError, Span
from .tree import Capture, Chars, Choice, Look, Node, Place, Sequence, repeat

_U32_MAX: Final = (1 << 32) - 1
_ANY: Final = CharSet(((0, 0x10FFFF),))


@dataclass(slots=True)
class _Item:
    """A node, where it stands, how parts nest in it, and whether it is only a switch of flags."""

    node: Node
    span: Span
    nest: Nest | None = None
    is_flags: bool = False

    def __post_init__(self) -> None:
        if self.nest is not None and self.nest.is_too_deep:
            self.node = Sequence(())  # it will be refused; nothing is to go down into it before


@dataclass(slots=True)
class _Group:
    """A parenthesis not closed yet: its branches, the items of the last one, and how reading went before.

    The pattern as a whole is one without a parenthesis.
    """

    span: Span = (0, 0)
    captures: bool = False
    flags_before: Flags = field(default_factory=Flags)
    #: Where the first branch begins, and where the last one does.
    start: int = 0
    branch_start: int = 0
    branches: list[_Item] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)

    def end_branch(self, at: int) -> None:
        """What was read since the last `|` is a branch, which ends here."""
        span = self.branch_start, at
        nodes = Sequence(tuple(item.node for item in self.items))
        several = _Item(nodes, span, Nest(span, _nests(self.items)) if self.items else None)
        self.branches.append(self.items[0] if len(self.items) == 1 else several)
        self.items, self.branch_start = [], at + 1

    def whole(self, at: int) -> _Item:
        """The branches read, the last of which ends here."""
        self.end_branch(at)
        if len(self.branches) == 1:
            return self.branches[0]
        span = self.start, at
        nodes = Choice(tuple(branch.node for branch in self.branches))
        return _Item(nodes, span, Nest(span, _nests(self.branches)))


def _nests(items: list[_Item]) -> tuple[Nest, ...]:
    return tuple(item.nest for item in items if item.nest is not None)


def parse(pattern: str) -> Node:
    """The tree of `pattern`.

    Raises:
        PatternSyntaxError: Rust refuses the pattern.
    """
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.cursor = Cursor(pattern)
        self.rules = SetRules()
        self.names: dict[str, Span] = {}
        self.open = [_Group()]

    def parse(self) -> Node:
        cursor = self.cursor
        while True:
            cursor.space()
            if cursor.ended:
                break
            char = cursor.char
            items = self.open[-1].items
            if char == "(":
                self._open_group()
            elif char == ")":
                self._close_group()
            elif char == "|":
                self.open[-1].end_branch(cursor.at)
                cursor.bump()
            elif char == "[":
                chars, nest = read_class(cursor, self.rules)
                items.append(_Item(self._chars(chars), nest.span, nest))
            elif char in ("?", "*", "+"):
                self._repeat(items)
            elif char == "{":
                self._repeat_counted(items)
            elif char == "\\":
                escape = read_escape(cursor)
                items.append(_Item(self._escaped(escape), escape.span))
            else:
                items.append(_Item(self._plain(char), cursor.this))
                cursor.bump()
        if len(self.open) > 1:
            raise PatternSyntaxError(GROUP_UNCLOSED, self.open[-1].span)
        whole = self.open[0].whole(cursor.at)
        check_nesting(whole.nest)
        if self.rules.fault is not None:
            raise self.rules.fault
        return whole.node

    def _set_flags(self, flags: Flags) -> None:
        self.rules.flags = flags
        self.cursor.verbose = flags.ignore_whitespace

    def _plain(self, char: str) -> Node:
        """The node of a character without a backslash."""
        flags = self.rules.flags
        if char == ".":
            return self._dot()
        if char == "^":
            lines = Place.CRLF_START if flags.crlf else Place.LINE_START
            return Look(lines if flags.multi_line else Place.START)
        if char == "$":
            lines = Place.CRLF_END if flags.crlf else Place.LINE_END
            return Look(lines if flags.multi_line else Place.END)
        return self._literal(Literal(char, self.cursor.this))

    def _dot(self) -> Node:
        flags = self.rules.flags
        if not flags.unicode:
            return Chars(self.rules.refuse(INVALID_UTF8, self.cursor.this))
        if flags.dot_matches_new_line:
            return Chars(_ANY)
        ends = CharSet.of([(10, 10), (13, 13)] if flags.crlf else [(10, 10)])
        return Chars(ends.complement())

    def _chars(self, chars: CharSet) -> Node:
        return Chars(chars, of_bytes=not self.rules.flags.unicode)

    def _literal(self, literal: Literal) -> Node:
        char = ord(literal.char)
        if not self.rules.flags.unicode and literal.is_byte and char > 127:
            return Chars(self.rules.refuse(INVALID_UTF8, literal.span))
        return self._chars(self.rules.fold(CharSet(((char, char),))))

    def _escaped(self, escape: Escape) -> Node:
        match escape:
            case Literal():
                return self._literal(escape)
            case PerlClass():
                return self._chars(self.rules.perl(escape))
            case UnicodeClass():
                return Chars(self.rules.unicode(escape))
            case Assertion(place):
                is_word = "WORD" in place.name
                return Look(
                    place if self.rules.flags.unicode or not is_word else Place[f"ASCII_{place.name}"]
                )

    def _open_group(self) -> None:
        cursor = self.cursor
        span = cursor.this
        before = self.rules.flags
        cursor.bump()
        cursor.space()
        inner = cursor.here
        if any(map(cursor.bump_if, ("?=", "?!", "?<=", "?<!"))):
            raise PatternSyntaxError(
                "look-around, including look-ahead and look-behind, is not supported", (span[0], cursor.at)
            )
        if cursor.bump_if("?P<") or cursor.bump_if("?<"):
            self._capture_name()
            self.open.append(_Group(span, True, before, cursor.at, cursor.at))
        elif cursor.bump_if("?"):
            if cursor.ended:
                raise PatternSyntaxError(GROUP_UNCLOSED, span)
            flags, any_flag = read_flags(cursor, before)
            ends = cursor.char == ")"
            cursor.bump()
            if not ends:
                self.open.append(_Group(span, False, before, cursor.at, cursor.at))
            elif any_flag:
                self.open[-1].items.append(_Item(Sequence(()), (span[0], cursor.at), is_flags=True))
            else:
                raise PatternSyntaxError(MISSING, inner)
            self._set_flags(flags)
        else:
            self.open.append(_Group(span, True, before, cursor.at, cursor.at))

    def _close_group(self) -> None:
        if len(self.open) == 1:
            raise PatternSyntaxError("unopened group", self.cursor.this)
        group = self.open.pop()
        whole = group.whole(self.cursor.at)
        self.cursor.bump()
        span = group.span[0], self.cursor.at
        self._set_flags(group.flags_before)
        node = Capture(whole.node) if group.captures else whole.node
        self.open[-1].items.append(_Item(node, span, Nest(span, _nests([whole]))))

    def _capture_name(self) -> None:
        cursor = self.cursor
        start = cursor.at
        while not cursor.ended and cursor.char != ">":
            if not _names_capture(cursor.char, cursor.at == start):
                raise PatternSyntaxError("invalid capture group character", cursor.this)
            cursor.bump()
        if cursor.ended:
            raise PatternSyntaxError("unclosed capture group name", cursor.here)
        span = start, cursor.at
        name = cursor.pattern[start : cursor.at]
        cursor.bump()
        if not name:
            raise PatternSyntaxError("empty capture group name", span)
        if name in self.names:
            raise PatternSyntaxError("duplicate capture group name", span, self.names[name])
        self.names[name] = span

    def _repeat(self, items: list[_Item]) -> None:
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}[self.cursor.char]
        item = self._repeated(items)
        if self.cursor.bump() and self.cursor.char == "?":
            self.cursor.bump()
        items.append(self._repeat_of(item, least, most))

    def _repeat_of(self, item: _Item, least: int, most: int | None) -> _Item:
        """`item` repeated, from where it begins to the cursor."""
        span = item.span[0], self.cursor.at
        return _Item(repeat(item.node, least, most), span, Nest(span, _nests([item])))

    def _repeated(self, items: list[_Item]) -> _Item:
        """The item that the operator at the cursor repeats."""
        if not items or items[-1].is_flags:
            raise PatternSyntaxError(MISSING, self.cursor.here)
        return items.pop()

    def _repeat_counted(self, items: list[_Item]) -> None:
        cursor = self.cursor
        start = cursor.at
        item = self._repeated(items)
        cursor.bump_and_space()
        counts = [self._count()]
        is_open = False
        if cursor.char == "," and cursor.bump_and_space():
            is_open = cursor.char == "}"
            if not is_open:
                counts.append(self._count())
        elif cursor.ended:
            raise PatternSyntaxError(COUNT_UNCLOSED, (start, cursor.at))
        bounds = list(map(_number, counts))
        if cursor.char != "}":
            raise PatternSyntaxError(COUNT_UNCLOSED, (start, cursor.at))
        if cursor.bump_and_space() and cursor.char == "?":
            cursor.bump()
        least, most = bounds[0], None if is_open else bounds[-1]
        if most is not None and least > most:
            reason = "invalid repetition count range, the start must be <= the end"
            raise PatternSyntaxError(reason, (start, cursor.at))
        items.append(self._repeat_of(item, least, most))

    def _count(self) -> tuple[str, Span]:
        """The digits at the cursor, blanks around them, and where they stand."""
        cursor = self.cursor
        while cursor.char and cursor.char in WHITE_SPACE:
            cursor.bump()
        first = cursor.at
        digits = ""
        while cursor.char and cursor.char in "0123456789":
            digits += cursor.char
            cursor.bump_and_space()
        span = first, cursor.at
        while cursor.char and cursor.char in WHITE_SPACE:
            cursor.bump_and_space()
        return digits, span


def _number(count: tuple[str, Span]) -> int:
    digits, span = count
    if not digits:
        raise PatternSyntaxError("repetition quantifier expects a valid decimal", span)
    number = float(digits)  # of any length, where `int` takes 4300 digits; exact up to the limit
    if number > _U32_MAX:
        raise PatternSyntaxError("decimal literal invalid", span)
    return int(number)


def _names_capture(char: str, first: bool) -> bool:
    if char == "_" or _is(char, "alphabetic"):
        return True
    return not first and (char in (".", "[", "]") or _is(char, "n"))


def _is(char: str, name: str) -> bool:
    chars = unicode_data.named(name)
    return chars is not None and ord(char) in chars
