"""What a parameter group asks of a parameter: its id, its path, or one of several questions."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ..errors import InvalidArgumentError
from ..rust_text import debug_list, debug_str
from .param_id import ParamId
from .pattern import Pattern

#: How deep lists of matchers are read; serde's JSON reader gives up there too.
_MAX_DEPTH: Final = 128

#: What `json.loads` gives and `json.dumps` takes.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True, repr=False)
class All:
    """Every parameter, with or without a path."""

    def matches(self, id: ParamId, path: str | None) -> bool:  # noqa: ARG002
        """True."""
        return True

    def __repr__(self) -> str:
        return "All"


@dataclass(frozen=True, slots=True, repr=False)
class Explicit:
    """The parameters of a list of ids, whatever their path."""

    ids: tuple[ParamId, ...]
    _known: frozenset[ParamId] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(self.ids))

    def matches(self, id: ParamId, path: str | None) -> bool:  # noqa: ARG002
        """Whether `id` is in the list."""
        return id in self._known

    def __repr__(self) -> str:
        return f"Explicit({debug_list(self.ids)})"


@dataclass(frozen=True, slots=True, repr=False)
class Exact:
    """Paths that equal any of the texts: none of no texts (GRP-3, GRP-5)."""

    texts: tuple[str, ...]
    _known: frozenset[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(self.texts))

    def matches(self, id: ParamId, path: str | None) -> bool:  # noqa: ARG002
        """Whether `path` is one of the texts."""
        return path in self._known

    def __repr__(self) -> str:
        return f"Path(Exact({_debug(self.texts)}))"


@dataclass(frozen=True, slots=True, repr=False)
class Include:
    """Paths that contain all of the texts: every path for no texts (GRP-3, GRP-5, GRP-6)."""

    texts: tuple[str, ...]

    def matches(self, id: ParamId, path: str | None) -> bool:  # noqa: ARG002
        """Whether each text is somewhere in `path`; segments and case are as written."""
        return path is not None and all(text in path for text in self.texts)

    def __repr__(self) -> str:
        return f"Path(Include({_debug(self.texts)}))"


@dataclass(frozen=True, slots=True, repr=False)
class Regex:
    """Paths in which all of the patterns are found: every path for no patterns (GRP-3, GRP-5)."""

    patterns: tuple[Pattern, ...]

    def matches(self, id: ParamId, path: str | None) -> bool:  # noqa: ARG002
        """Whether each pattern is found somewhere in `path`."""
        return path is not None and all(pattern.is_match(path) for pattern in self.patterns)

    def __repr__(self) -> str:
        return f"Path(Regex({debug_list(self.patterns)}))"


@dataclass(frozen=True, slots=True, repr=False)
class Combined:
    """What any of several matchers matches."""

    matchers: tuple[Matcher, ...]

    def matches(self, id: ParamId, path: str | None) -> bool:
        """Whether any member matches."""
        return any(matcher.matches(id, path) for matcher in self.matchers)

    def __repr__(self) -> str:
        return f"Combined({debug_list(self.matchers)})"


Matcher: TypeAlias = All | Explicit | Exact | Include | Regex | Combined


def fuse(left: Matcher, right: Matcher) -> Matcher:
    """Either of two matchers, as one.

    All absorbs; two combined ones join their lists; of one combined and one single the single comes
    last, on whichever side it stood; two singles make a list.

    Clauses: GRP-12.
    """
    match left, right:
        case (All(), _) | (_, All()):
            return All()
        case Combined(), Combined():
            return Combined(left.matchers + right.matchers)
        case Combined(), _:
            return Combined((*left.matchers, right))
        case _, Combined():
            return Combined((*right.matchers, left))
        case _:
            return Combined((left, right))


def to_serde(matcher: Matcher) -> Json:
    """`matcher` as Burn serialises it (GRP-13)."""
    match matcher:
        case All():
            return "All"
        case Explicit(ids=ids):
            return {"Explicit": [{"value": int(each)} for each in ids]}
        case Exact(texts):
            return {"Path": {"Exact": list(texts)}}
        case Include(texts):
            return {"Path": {"Include": list(texts)}}
        case Regex(patterns):
            return {"Path": {"Regex": [pattern.source for pattern in patterns]}}
        case Combined(matchers):
            return {"Combined": [to_serde(member) for member in matchers]}


def from_serde(form: Json, depth: int = 0) -> Matcher:
    """The matcher that `form` writes.

    Raises:
        InvalidArgumentError: `form` writes none.
        InvalidPatternError: a pattern in it is refused.
    """
    match form:
        case "All":
            return All()
        case {"Explicit": [*ids], **rest} if not rest:
            return Explicit(tuple(map(_id_from_serde, ids)))
        case {"Path": {"Exact": [*texts], **inner}, **rest} if not rest and not inner:
            return Exact(_texts(texts))
        case {"Path": {"Include": [*texts], **inner}, **rest} if not rest and not inner:
            return Include(_texts(texts))
        case {"Path": {"Regex": [*texts], **inner}, **rest} if not rest and not inner:
            return Regex(tuple(map(Pattern, _texts(texts))))
        case {"Combined": [*members], **rest} if not rest and depth < _MAX_DEPTH:
            return Combined(tuple(from_serde(member, depth + 1) for member in members))
    raise InvalidArgumentError(
        f"{reprlib.repr(form)} writes no matcher of a parameter group",
        clause="GRP-13",
        hint='one is "All" or an object of one key: Explicit, Path or Combined',
    )


def _id_from_serde(form: Json) -> ParamId:
    match form:
        case {"value": int(value)} | [int(value)]:  # keys that Burn does not know are passed over (PAR-7)
            return ParamId.from_int(value)
    raise InvalidArgumentError(
        f"{reprlib.repr(form)} writes no parameter id", clause="PAR-7", hint='one is {"value": 1}'
    )


def _texts(texts: list[Json]) -> tuple[str, ...]:
    for text in texts:
        if not isinstance(text, str):
            raise InvalidArgumentError(f"a path or pattern is text, got {text!r}", clause="GRP-13")
    return tuple(str(text) for text in texts)


def _debug(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(debug_str, texts))}]"
