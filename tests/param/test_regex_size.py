"""The size of a pattern's program: what Rust's `regex` 1.13.2 was found to need, and how it is bounded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from refimpl.param.pattern import SIZE_LIMIT
from refimpl.param.rust_regex.char_set import CharSet
from refimpl.param.rust_regex.compiled import Compiled, Shared
from refimpl.param.rust_regex.parser import parse
from refimpl.param.rust_regex.simplified import simplified
from refimpl.param.rust_regex.size import at_most, fits
from refimpl.param.rust_regex.utf8 import nodes, sequences

#: The smallest `size_limit` with which the crate takes the pattern.
NEEDED = {
    "a*b": 312,
    "^a+$": 264,
    "(a)(?P<n>b)?c{2,5}d": 816,
    r"\d+": 5364,
    r"\w": 50044,
    r"\W+": 46732,
    r"\s*\S": 2788,
    r"\D{3}": 38304,
    r"\pL{4}\PL": 214356,
    ".*é(?s:.)": 2212,
    "(?i:k)+": 420,
    r"\p{cased}?x": 10620,
    r"layers\.\d+\.(weight|bias)": 6216,
    r"(?:\d\bx|\d\by)*": 5404,
    "(?:zapper|z|zap)[é-ü]": 876,
    r"(?:\w|[a&&b]|b\b){3,}": 150592,
    r"[\x{80}-\x{10FFFE}]x": 1272,
    r"[\x{D7FF}-\x{E000}]x": 480,
    r"[^\x{D7FF}\x{E000}]": 1416,
    r"\p{Greek}{20}": 45120,
    r"\w{9}$": 449516,
    r"^\w{9}": 449564,
    r"(?:(\w)\d){9}": 496280,
    "(?:a|b|c|é)x*": 400,
    "[a&&b]*": 384,
    "(?:[a&&b]|a)*": 488,
    "(?:)*x*": 384,
}


@pytest.mark.clause("GRP-8")
@pytest.mark.parametrize(("pattern", "needed"), NEEDED.items())
def test_the_size_of_a_program_is_rusts_and_lies_within_the_quick_bound(pattern: str, needed: int) -> None:
    tree = parse(pattern)
    least, found, most = (
        max(Compiled(simplified(tree), is_reverse, shared).bytes for is_reverse in (False, True))
        for shared in (Shared.ALL, Shared.AS_FOUND, Shared.NONE)
    )

    assert found == needed
    assert least <= found <= most <= at_most(tree)
    assert fits(tree, needed)
    assert not fits(tree, needed - 1)


@pytest.mark.clause("GRP-8")
def test_of_three_thousand_words_rust_makes_no_program() -> None:
    words = ["".join(random.Random(n).choices("abcdefgh", k=100)) for n in range(3000)]

    assert fits(parse("|".join(words)), SIZE_LIMIT)
    assert not fits(parse("|".join(words[1:])), SIZE_LIMIT)
    assert not fits(parse(f"(?:{'|'.join(words)})x"), SIZE_LIMIT)


_EDGES = (0x7F, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x10FFFF)


@pytest.mark.parametrize("edge", _EDGES)
@pytest.mark.parametrize(("below", "above"), [(0, 0), (1, 1), (70, 1), (3, 130), (0x7F, 0x1001)])
def test_the_bytes_of_a_set_are_those_of_its_characters_in_order(edge: int, below: int, above: int) -> None:
    last = min(edge + above, 0x10FFFF)
    numbers = [number for number in range(edge - below, last + 1) if not 0xD800 <= number <= 0xDFFF]
    chars = CharSet(((numbers[0], numbers[-1]),))

    written = [
        bytes(text).decode()
        for ranges in sequences(chars)
        for text in product(*(range(low, high + 1) for low, high in ranges))
    ]

    assert written == list(map(chr, numbers))


def test_the_tree_of_a_set_holds_its_sequences() -> None:
    made = nodes(CharSet(((0x41, 0x1234), (0x2000, 0x10FFFE))))

    def below(node: int | None) -> Iterator[tuple[tuple[int, int], ...]]:
        if node is None:
            yield ()
        else:
            for low, high, to in made[node]:
                yield from (((low, high), *rest) for rest in below(to))

    assert tuple(below(len(made) - 1)) == sequences(CharSet(((0x41, 0x1234), (0x2000, 0x10FFFE))))
    assert all(to is None or to < number for number, node in enumerate(made) for _, _, to in node)


@pytest.mark.clause("GRP-9")
def test_parts_that_stand_deep_in_each_other_are_counted_without_a_deep_stack() -> None:
    for deep in ("(" * 240 + r"\d{900}" + ")" * 240, "(?:b|" * 120 + r"\d{900}c" + ")" * 120):
        assert fits(parse(deep), SIZE_LIMIT)
