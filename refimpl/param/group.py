"""A way to say which parameters: by id, by path, and what is left out."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, InvalidArgumentError
from ..immutable import Value, value_of
from .matcher import All, Exact, Explicit, Include, Json, Matcher, Regex, from_serde, fuse, to_serde
from .param_id import ParamId
from .pattern import Pattern
from .traversal import ParamIdLister

if TYPE_CHECKING:
    from .flag import Flag
    from .param import Param
    from .traversal import ModuleNode


class ParamGroup(Value):
    """One matcher, and perhaps one of what is excluded: a parameter is in when the first says so alone.

    >>> encoder = ParamGroup.from_predicate("encoder").exclude(ParamGroup.from_regex("bias$"))
    >>> encoder.matches(ParamId.new(), "encoder.weight"), encoder.matches(ParamId.new(), "encoder.bias")
    (True, False)

    Burn: burn_core::module::ParamGroup
    Clauses: GRP-1, GRP-2, GRP-3, GRP-4, GRP-14, GRP-15.
    """

    __slots__ = ("_excludes", "_matcher")

    _matcher: Matcher
    _excludes: Matcher | None

    def __init__(self) -> None:
        raise ArgumentTypeError(
            "a ParamGroup is not made by calling the class",
            clause="GRP-4",
            hint="call ParamGroup.all(), .from_path(p), .from_predicate(s), .from_regex(r) or .from_ids(ids)",
        )

    @classmethod
    def _make(cls, matcher: Matcher, excludes: Matcher | None = None) -> ParamGroup:
        return value_of(cls, {"_matcher": matcher, "_excludes": excludes})

    @classmethod
    def all(cls) -> ParamGroup:
        """Every parameter."""
        return cls._make(All())

    @classmethod
    def from_ids(cls, ids: Iterable[ParamId]) -> ParamGroup:
        """The parameters with these ids: none for no ids.

        Clauses: GRP-4, GRP-5.
        """
        return cls._make(Explicit(tuple(map(_checked_id, _several(ids, "ids")))))

    @classmethod
    def ids_from_module(cls, module: ModuleNode) -> ParamGroup:
        """The parameters and flags of `module`, by the ids they have now, in traversal order.

        A record loaded afterwards brings ids of its own, which this group does not know (PAR-8).

        Clauses: GRP-4.
        """
        collector = _IdCollector()
        module.visit(collector)
        return cls._make(Explicit(tuple(collector.ids)))

    @classmethod
    def from_path(cls, path: str) -> ParamGroup:
        """The parameter at exactly this path, such as `encoder.layers.0.weight`."""
        return cls.from_paths([path])

    @classmethod
    def from_paths(cls, paths: Iterable[str]) -> ParamGroup:
        """The parameters at exactly any of these paths: none for no paths.

        Clauses: GRP-3, GRP-5, GRP-7.
        """
        return cls._make(Exact(_texts(paths)))

    @classmethod
    def from_predicate(cls, text: str) -> ParamGroup:
        """The parameters whose path contains `text`, anywhere: `layers.1` is in `layers.10` too.

        Clauses: GRP-6, GRP-7.
        """
        return cls.from_predicates([text])

    @classmethod
    def from_predicates(cls, texts: Iterable[str]) -> ParamGroup:
        """The parameters whose path contains all of `texts`: every one with a path for no texts.

        Clauses: GRP-3, GRP-5, GRP-6.
        """
        return cls._make(Include(_texts(texts)))

    @classmethod
    def from_any_predicates(cls, texts: Iterable[str]) -> ParamGroup:
        """The parameters whose path contains any of `texts`: every one with a path for no texts (GRP-5).

        Clauses: GRP-4, GRP-5, GRP-12.
        """
        return cls._any([Include((text,)) for text in _texts(texts)])

    @classmethod
    def from_regex(cls, pattern: str) -> ParamGroup:
        """The parameters in whose path `pattern` is found, anywhere; the syntax is that of Rust's `regex`.

        Raises:
            InvalidPatternError: Rust refuses `pattern`, or it cannot be searched for exactly here.

        Clauses: GRP-8, GRP-9.
        """
        return cls.from_regexes([pattern])

    @classmethod
    def from_regexes(cls, patterns: Iterable[str]) -> ParamGroup:
        """The parameters in whose path all of `patterns` are found: every one with a path for none.

        Raises:
            InvalidPatternError: as `from_regex`, for the first that is refused.

        Clauses: GRP-3, GRP-5, GRP-8, GRP-9.
        """
        return cls._make(Regex(tuple(map(Pattern, _texts(patterns)))))

    @classmethod
    def from_any_regexes(cls, patterns: Iterable[str]) -> ParamGroup:
        """The parameters in whose path any of `patterns` is found: every one with a path for none (GRP-5).

        Raises:
            InvalidPatternError: as `from_regex`, for the first that is refused.

        Clauses: GRP-4, GRP-5, GRP-9, GRP-12.
        """
        return cls._any([Regex((Pattern(text),)) for text in _texts(patterns)])

    @classmethod
    def _any(cls, matchers: list[Include] | list[Regex]) -> ParamGroup:
        """Any of `matchers`, the last one first (GRP-12); of none, what all of nothing matches (GRP-5)."""
        if not matchers:
            return cls._make(Include(()))
        *others, made = matchers
        matcher: Matcher = made
        for other in others:
            matcher = fuse(matcher, other)
        return cls._make(matcher)

    def matches(self, id: ParamId, path: str | None) -> bool:
        """Whether the parameter `id` at `path` is in the group; without a path only ids and `all` match.

        Clauses: GRP-1, GRP-2, GRP-16.
        """
        _checked_id(id)
        if path is not None and not isinstance(path, str):
            raise ArgumentTypeError(f"a parameter path is text or None, got {path!r}", clause="GRP-2")
        return self._matcher.matches(id, path) and not (
            self._excludes is not None and self._excludes.matches(id, path)
        )

    def fuse(self, other: ParamGroup) -> ParamGroup:
        """What either group's matcher matches. What either excludes is forgotten, as in Burn.

        To keep it, fuse first and exclude last.

        Clauses: GRP-10, GRP-12.
        """
        return self._make(fuse(self._matcher, checked_group(other)._matcher))

    def exclude(self, group: ParamGroup) -> ParamGroup:
        """This group without what the other's matcher matches; what the other excludes is ignored.

        Repeated calls exclude what any of them names.

        Clauses: GRP-11, GRP-12.
        """
        before, other = self._excludes, checked_group(group)._matcher
        return self._make(self._matcher, other if before is None else fuse(before, other))

    def to_serde(self) -> dict[str, Json]:
        """What Burn's serde writes: ready for `json.dumps`.

        Clauses: GRP-13, PAR-7.
        """
        excludes = None if self._excludes is None else to_serde(self._excludes)
        return {"matcher": to_serde(self._matcher), "excludes": excludes}

    @classmethod
    def from_serde(cls, form: Json) -> ParamGroup:
        """The group that `form` writes; `excludes` may be missing.

        Raises:
            InvalidArgumentError: `form` writes none.
            InvalidPatternError: a pattern in it is refused.

        Clauses: GRP-13.
        """
        if not isinstance(form, dict) or "matcher" not in form:
            raise InvalidArgumentError(
                f"{reprlib.repr(form)} writes no parameter group",
                clause="GRP-13",
                hint='one is {"matcher": ..., "excludes": null}',
            )
        excludes = form.get("excludes")
        return cls._make(from_serde(form["matcher"]), None if excludes is None else from_serde(excludes))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParamGroup):
            return NotImplemented
        return self._matcher == other._matcher and self._excludes == other._excludes

    def __hash__(self) -> int:
        return hash((self._matcher, self._excludes))

    def __repr__(self) -> str:
        excludes = "None" if self._excludes is None else f"Some({self._excludes!r})"
        return f"ParamGroup {{ matcher: {self._matcher!r}, excludes: {excludes} }}"


class _IdCollector(ParamIdLister):
    def visit_flag(self, flag: Param[Flag]) -> None:
        self.ids.append(flag.id)


def checked_group(group: ParamGroup) -> ParamGroup:
    """`group`, if it is one.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not isinstance(group, ParamGroup):
        raise ArgumentTypeError(
            f"a parameter group is a ParamGroup, got {group!r}",
            clause="GRP-1",
            hint='for example ParamGroup.from_predicate("encoder")',
        )
    return group


def _several(values: Iterable[Any], what: str) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise ArgumentTypeError(
            f"{what} are several, one after the other, got {values!r}",
            clause="GRP-4",
            hint="put it into a list",
        ) from None


def _checked_id(id: ParamId) -> ParamId:
    if not isinstance(id, ParamId):
        raise ArgumentTypeError(
            f"a parameter id is a ParamId, got {id!r}", clause="PAR-1", hint="ParamId.from_int(n)"
        )
    return id


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    """`texts` as a tuple; one text alone is refused, since it would be read letter by letter."""
    if isinstance(texts, str):
        raise ArgumentTypeError(
            f"a list of texts is needed, got the text {texts!r}",
            clause="GRP-4",
            hint="`from_path`, `from_predicate` and `from_regex` take one text",
        )
    made = _several(texts, "texts")
    for text in made:
        if not isinstance(text, str):
            raise ArgumentTypeError(f"a path, predicate or pattern is text, got {text!r}", clause="GRP-4")
    return made
