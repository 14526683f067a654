"""Groups as sets of parameters: the algebra holds, except where Burn's differs on purpose or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl import ParamGroup, ParamId

PATHS = ("enc.w", "enc.bias", "dec.w", "dec.bias", "head.w.lora.a", "w")
PARAMS = [(ParamId.from_int(number), path) for number, path in enumerate(PATHS)]
Found = frozenset[int]


def found(group: ParamGroup) -> Found:
    return frozenset(index for index, param in enumerate(PARAMS) if group.matches(*param))


def where(test: Callable[[str], bool]) -> Found:
    return frozenset(index for index, path in enumerate(PATHS) if test(path))


words = st.sampled_from(["enc", "dec", "w", "bias", "lora", "", "x"])
lists = st.lists(words, max_size=3)
simple = st.one_of(
    st.just((ParamGroup.all(), frozenset(range(len(PATHS))))),
    st.lists(st.integers(0, 7), max_size=3).map(
        lambda ids: (
            ParamGroup.from_ids(map(ParamId.from_int, ids)),
            frozenset(ids) & frozenset(range(len(PATHS))),
        )
    ),
    st.lists(st.sampled_from(PATHS), max_size=3).map(
        lambda paths: (ParamGroup.from_paths(paths), where(lambda path: path in paths))
    ),
    lists.map(
        lambda texts: (
            ParamGroup.from_predicates(texts),
            where(lambda path: all(text in path for text in texts)),
        )
    ),
    # BL-49: any of nothing is everything
    lists.map(
        lambda texts: (
            ParamGroup.from_any_predicates(texts),
            where(lambda path: not texts or any(text in path for text in texts)),
        )
    ),
    lists.map(
        lambda texts: (
            ParamGroup.from_any_regexes([f"{text}$" for text in texts]),
            where(lambda path: not texts or any(path.endswith(text) for text in texts)),
        )
    ),
)


@pytest.mark.clause("GRP-3", "GRP-4", "GRP-5")
@given(simple)
def test_a_group_is_the_set_its_words_say(case: tuple[ParamGroup, Found]) -> None:
    group, expected = case

    assert found(group) == expected


@pytest.mark.clause("GRP-10", "GRP-11", "GRP-12")
@pytest.mark.report("BL-49")
@given(st.lists(st.tuples(st.sampled_from(["fuse", "exclude"]), simple), max_size=5), simple)
def test_fuse_is_the_union_of_matchers_and_exclude_the_difference(
    steps: list[tuple[str, tuple[ParamGroup, Found]]], start: tuple[ParamGroup, Found]
) -> None:
    group, matched = start
    excluded: Found = frozenset()
    for step, (other, others) in steps:
        if step == "fuse":  # BL-49: what was excluded before is forgotten
            group, matched, excluded = group.fuse(other), matched | others, frozenset()
        else:
            group, excluded = group.exclude(other), excluded | others

    assert found(group) == matched - excluded


@pytest.mark.clause("GRP-11")
@pytest.mark.report("BL-49")
@given(simple, simple, simple)
def test_what_the_excluded_group_excludes_is_ignored(
    a: tuple[ParamGroup, Found], b: tuple[ParamGroup, Found], c: tuple[ParamGroup, Found]
) -> None:
    assert found(a[0].exclude(b[0].exclude(c[0]))) == a[1] - b[1]


@pytest.mark.clause("GRP-13")
@given(simple, simple)
def test_a_group_written_and_read_is_the_same(
    a: tuple[ParamGroup, Found], b: tuple[ParamGroup, Found]
) -> None:
    group = a[0].exclude(b[0])

    assert ParamGroup.from_serde(group.to_serde()) == group
