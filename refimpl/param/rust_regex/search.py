"""A tree as a program of RE2, and the text as that program needs it.

RE2 answers whether a regular expression is found, in linear time. It is given only what it means exactly
as Rust does: explicit ranges of characters, groups, choices and repetitions. Where a pattern asks for word
boundaries, which RE2 knows of ASCII only, the answers are written into the text: before each character and
at the end stands a mark of its two neighbours. Marks are surrogates, which no text has otherwise.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Final

from .char_set import CharSet
from .places import NEIGHBOURS, holds, like, longest_run, places
from .tree import Capture, Chars, Choice, Look, Node, Place, Repeat, Sequence

#: RE2 counts repetitions up to this, those within others multiplied.
_MOST_REPEATS: Final = 1000
#: What stands between two neighbours.
_MARKS: Final = {pair: chr(0xD800 + n) for n, pair in enumerate(product(NEIGHBOURS, repeat=2))}
_SURROGATES: Final = CharSet(((0xD800, 0xDFFF),))
_NOTHING: Final = r"[^\x{0}-\x{10FFFF}]"
_ANY_MARK: Final = r"[\x{D800}-\x{DFFF}]*"
_MOST_MARKS: Final = 1000
#: What may stand before what is looked for. RE2 matches it too, from the start of the text: a search would
#: go backwards from the end of what it has found to where that begins, which nobody asks.
_ANYWHERE: Final = r"\C*?"

#: The places that RE2 knows itself.
_PLAIN: Final = {
    Place.START: r"\A",
    Place.END: r"\z",
    Place.LINE_START: "(?m:^)",
    Place.LINE_END: "(?m:$)",
}


class TooManyPlaces(Exception):  # noqa: N818 - caught where it is known what to say
    """The pattern asks for more places at one position than it is worth to mark."""


class Program:
    """What RE2 matches at the start of a text, and how a text is made ready for it."""

    __slots__ = ("_copies", "source")

    def __init__(self, tree: Node) -> None:
        marked = any(place not in _PLAIN for place in places(tree))
        self._copies = longest_run(tree) if marked else 0
        if self._copies > _MOST_MARKS:
            raise TooManyPlaces
        self.source = (_ANYWHERE + _Emitter(marked).emit(tree)[0]).encode()

    def text(self, text: str) -> bytes:
        """`text` as RE2 takes it.

        Raises:
            UnicodeEncodeError: `text` holds a surrogate.
        """
        plain = text.encode()
        if not self._copies:
            return plain
        chars = ["", *text, ""]
        marked = [_MARKS[like(a), like(b)] * self._copies + b for a, b in pairwise(chars)]
        return "".join(marked).encode("utf-8", "surrogatepass")


class _Emitter:
    """Writes nodes for RE2, each with the most that its counted repetitions multiply to."""

    def __init__(self, marked: bool) -> None:
        self._marked = marked

    def emit(self, node: Node) -> tuple[str, int]:
        match node:
            case Chars(chars):
                return (_ANY_MARK if self._marked else "") + _ranges(chars - _SURROGATES), 1
            case Look(place):
                return self._look(place), 1
            case Sequence(items):
                parts = [self.emit(item) for item in items]
                return "".join(text for text, _ in parts), max((n for _, n in parts), default=1)
            case Choice(items):
                parts = [self.emit(item) for item in items]
                return f"(?:{'|'.join(text for text, _ in parts)})", max(n for _, n in parts)
            case Capture(item):
                return self.emit(item)
            case Repeat(_, _, 0):
                return "", 1
            case Repeat(item, least, most):
                return _repeated(self.emit(item), least, most)

    def _look(self, place: Place) -> str:
        if not self._marked:
            return _PLAIN[place]
        marks = [ord(mark) for pair, mark in _MARKS.items() if holds(place, *pair)]
        return _ranges(CharSet.of(zip(marks, marks, strict=True)))


def _ranges(chars: CharSet) -> str:
    if not chars.ranges:
        return _NOTHING
    return "[" + "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in chars.ranges) + "]"


def _repeated(item: tuple[str, int], least: int, most: int | None) -> tuple[str, int]:
    """`item` repeated, and as seldom as can be: that is found soonest, and found is all that is asked."""
    text, inner = f"(?:{item[0]})", item[1]
    if (least, most) == (1, None):
        return f"{text}+?", inner  # not twice: such repetitions may stand in each other 250 deep
    must, must_count = _times(text, inner, least, "{%d}")
    if most is None:
        return f"(?:{must}{text}*?)", max(must_count, inner)
    may, may_count = _times(text, inner, most - least, "{0,%d}?")
    return f"(?:{must}{may})", max(must_count, may_count)


def _times(text: str, inner: int, count: int, form: str) -> tuple[str, int]:
    """`text` repeated `count` times, in pieces of what RE2 counts to."""
    most = _MOST_REPEATS // inner
    pieces, rest = divmod(count, most)
    made = (text + form % most) * pieces + (text + form % rest if rest else "")
    return made, inner * min(count, most)
