"""A tree as a program of RE2, and the text as that program needs it.

RE2 answers whether a regular expression is found, in linear time. It is given only what it means exactly
as Rust does: explicit ranges of characters, groups, choices and repetitions. Where a pattern asks for word
boundaries, which RE2 knows of ASCII only, the answers are written into the text: before each character and
at the end stands a mark of the places that hold there. Marks are surrogates, which no text has otherwise.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from .char_set import CharSet
from .places import holds, longest_run, places
from .tree import Capture, Chars, Choice, Look, Node, Place, Repeat, Sequence

#: RE2 counts repetitions up to this, those within others multiplied.
_MOST_REPEATS: Final = 1000
_MARKS: Final = 0xD800
_SURROGATES: Final = CharSet(((0xD800, 0xDFFF),))
_ANY_MARK: Final = r"[\x{D800}-\x{DFFF}]*"
#: As many kinds of place as bits of the 2048 surrogates.
_MOST_KINDS: Final = 11
_MOST_MARKS: Final = 1000

#: The places that RE2 knows itself.
_PLAIN: Final = {
    Place.START: r"\A",
    Place.END: r"\z",
    Place.LINE_START: "(?m:^)",
    Place.LINE_END: "(?m:$)",
}


class TooManyPlaces(Exception):  # noqa: N818 - caught where it is known what to say
    """The pattern asks for more places at once than marks can tell."""


class Program:
    """What RE2 searches for, and how a text is made ready for it."""

    __slots__ = ("_copies", "_kinds", "_marks", "source")

    def __init__(self, tree: Node) -> None:
        kinds, run = list(places(tree)), longest_run(tree)
        marked = any(place not in _PLAIN for place in kinds)
        if marked and (len(kinds) > _MOST_KINDS or run > _MOST_MARKS):
            raise TooManyPlaces
        self._kinds = kinds if marked else []
        self._copies = run
        self._marks: dict[tuple[str, str], str] = {}
        self.source = _Emitter(self._kinds).emit(tree)[0].encode()

    def text(self, text: str) -> bytes:
        """`text` as RE2 searches it.

        Raises:
            UnicodeEncodeError: `text` holds a surrogate.
        """
        if not self._kinds:
            return text.encode()
        text.encode()
        chars = ["", *text, ""]
        marked = [self._mark(*pair) + pair[1] for pair in pairwise(chars)]
        return "".join(marked).encode("utf-8", "surrogatepass")

    def _mark(self, before: str, after: str) -> str:
        """The mark of a position between two characters, as often as it may be asked for."""
        known = self._marks.get((before, after))
        if known is None:
            holding = sum(holds(place, before, after) << bit for bit, place in enumerate(self._kinds))
            known = self._marks[before, after] = chr(_MARKS + holding) * self._copies
        return known


class _Emitter:
    """Writes nodes for RE2, each with the most that its counted repetitions multiply to."""

    def __init__(self, kinds: list[Place]) -> None:
        self._kinds = kinds

    def emit(self, node: Node) -> tuple[str, int]:
        match node:
            case Chars(chars):
                return (_ANY_MARK if self._kinds else "") + _ranges(chars - _SURROGATES), 1
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
        if not self._kinds:
            return _PLAIN[place]
        bit = self._kinds.index(place)
        marks = CharSet.of(
            (_MARKS + held, _MARKS + held) for held in range(1 << len(self._kinds)) if held >> bit & 1
        )
        return _ranges(marks)


def _ranges(chars: CharSet) -> str:
    if not chars.ranges:
        return r"[^\x{0}-\x{10FFFF}]"
    return "[" + "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in chars.ranges) + "]"


def _repeated(item: tuple[str, int], least: int, most: int | None) -> tuple[str, int]:
    """`item` repeated, and as seldom as can be: that is found soonest, and found is all that is asked."""
    text, inner = f"(?:{item[0]})", item[1]
    must, must_count = _times(text, inner, least, "{%d}")
    if most is None:
        return f"(?:{must}{text}*?)", max(must_count, inner)
    may, may_count = _times(text, inner, most - least, "{0,%d}?")
    return f"(?:{must}{may})", max(must_count, may_count)


def _times(text: str, inner: int, count: int, form: str) -> tuple[str, int]:
    """`text` repeated `count` times, in pieces of what RE2 counts to."""
    if not count:
        return "", 1
    most = _MOST_REPEATS // inner
    pieces, rest = divmod(count, most)
    made = (text + form % most) * pieces + (text + form % rest if rest else "")
    return made, inner * min(count, most)
