"""Patterns as Rust's `regex` means them: what the crate answered, and what Python's `re` has otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl import ParamGroup, ParamId
from refimpl.errors import InvalidArgumentError, InvalidPatternError
from refimpl.param.pattern import Pattern
from tests.golden.recorded import load

RECORDED: dict[str, Any] = load("rust_regex.json.gz")
FOUND = [case for case in RECORDED["cases"] if "found" in case]
REFUSED = [case for case in RECORDED["cases"] if "refused" in case]


@pytest.mark.clause("GRP-8")
def test_every_pattern_that_rust_accepts_is_found_where_rust_finds_it() -> None:
    wrong = [
        (case["pattern"], text)
        for case in FOUND
        for text, found in zip(RECORDED["texts"], case["found"], strict=True)
        if Pattern(case["pattern"]).is_match(text) != (found == "1")
    ]

    assert len(FOUND) > 500
    assert wrong == []


@pytest.mark.clause("GRP-9")
def test_every_pattern_that_rust_refuses_is_refused_for_the_same_reason() -> None:
    wrong = []
    for case in REFUSED:
        with pytest.raises(InvalidPatternError) as caught:
            Pattern(case["pattern"])
        if (
            caught.value.message.splitlines()[-1]
            != f"Invalid regex pattern: {case['refused']}".splitlines()[-1]
        ):
            wrong.append((case["pattern"], caught.value.message))

    assert len(REFUSED) > 300
    assert wrong == []


@pytest.mark.clause("GRP-8")
@pytest.mark.report("BL-26")
@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("layers.1", "layers.10.weight", True),
        (r"^layers\.1\.", "layers.10.weight", False),
        (r"^layers\.1\.", "layers.1.weight", True),
        ("weight$", "weight\n", False),
        (r"a\z", "a\n", False),
        (r"a\z", "ba", True),
        (r"\d", "٣", True),
        (r"\w", "é", True),
        (r"\bé\b", "a é b", True),
        (r"a*+", "", True),
    ],
)
def test_where_python_would_answer_otherwise(pattern: str, text: str, found: bool) -> None:
    assert ParamGroup.from_regex(pattern).matches(ParamId.from_int(1), text) is found


@pytest.mark.clause("GRP-9")
@pytest.mark.report("BL-26")
@pytest.mark.parametrize("pattern", ["(?!a)b", r"(a)\1", r"a\Z", "(?P=n)", "(?>a)", "(?(1)a|b)", "(?#c)a"])
def test_what_only_python_has_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPatternError, match=r"^Invalid regex pattern: regex parse error"):
        ParamGroup.from_regex(pattern)


@pytest.mark.clause("GRP-9")
def test_a_pattern_that_compiles_too_large_is_refused() -> None:
    text = r"^Invalid regex pattern: Compiled regex exceeds size limit of 10485760 bytes\."

    for pattern in ("a{99999999}", r"\w{1000}", "(?:a{1000}){1000}"):
        with pytest.raises(InvalidPatternError, match=text):
            Pattern(pattern)
    assert Pattern("a{327673}").is_match("a") is False
    with pytest.raises(InvalidPatternError, match=text):
        Pattern("a{327674}")


@pytest.mark.clause("GRP-8")
def test_repetitions_past_what_re2_counts_to_are_exact() -> None:
    pattern = Pattern("^(?:a{30}){40}$")

    assert pattern.is_match("a" * 1200)
    assert not pattern.is_match("a" * 1199)
    assert not pattern.is_match("a" * 1201)


@pytest.mark.clause("GRP-9")
def test_nesting_past_what_rust_allows_is_refused_without_a_deep_stack() -> None:
    for pattern in ("(" * 5000 + "a" + ")" * 5000, "a" + "*" * 5000, "[" * 5000 + "a" + "]" * 5000):
        with pytest.raises(InvalidPatternError, match="nested parentheses/brackets"):
            Pattern(pattern)


@pytest.mark.clause("GRP-9")
def test_a_fault_in_several_lines_is_shown_with_their_numbers() -> None:
    rule = "~" * 79
    shown = {
        "a\r\nb(c\n": f"{rule}\n1: a\n2: b(c\n    ^\n{rule}\nerror: unclosed group",
        "[\n": f"{rule}\n1: [\n   ^\n{rule}\nerror: unclosed character class",
        "x{1,\n2": f"{rule}\n1: x{{1,\n2: 2\n{rule}\non line 1 (column 2) through line 2 (column 1)\n"
        "error: unclosed counted repetition",
    }

    for pattern, text in shown.items():
        with pytest.raises(InvalidPatternError) as caught:
            Pattern(pattern)
        assert caught.value.message == f"Invalid regex pattern: regex parse error:\n{text}"


def test_a_surrogate_is_no_text() -> None:
    with pytest.raises(InvalidPatternError, match="surrogate"):
        Pattern("\ud800")
    for pattern in ("a", r"\ba"):
        with pytest.raises(InvalidArgumentError, match="surrogate"):
            Pattern(pattern).is_match("\ud800")


@pytest.mark.clause("GRP-8")
def test_every_kind_of_boundary_in_one_pattern_is_told_apart() -> None:
    kinds = r"(?m)é\b\>\b{end-half}(?-u)\B\b{start-half}\b{end-half}(?R)$|\A\z^\<(?-R)^$\b\<\>(?u)\B"

    found = [Pattern(kinds).is_match(text) for text in ("é\r\n", "é\n", "é", "é-", "éa", "a\r\n", "")]

    assert found == [True, True, True, False, False, False, False]


@pytest.mark.clause("GRP-8")
def test_more_boundaries_at_one_position_than_are_marked_are_refused() -> None:
    assert Pattern(r"(?:\b|a){1000}").is_match("a")
    with pytest.raises(InvalidPatternError, match="more boundaries at one position"):
        Pattern(r"(?:\b|a){1001}")


@pytest.mark.clause("GRP-8")
def test_a_match_around_bytes_where_an_ascii_boundary_holds_is_found_where_rust_misses_it() -> None:
    for pattern, text in ((r"Σ|(?-u:\B)", "aΣb"), (r"\W|(?-u:\B)", "a—b"), (r"(?-u:\B)|é", "aéb")):
        assert Pattern(pattern).is_match(text)
        assert not Pattern(r"(?-u:\B)").is_match(text)


@pytest.mark.clause("GRP-9")
def test_a_large_part_that_never_matches_counts_where_rust_makes_no_program() -> None:
    with pytest.raises(InvalidPatternError, match="exceeds size limit"):
        Pattern("ab|[a&&b]{1000000}")


@pytest.mark.clause("GRP-8")
def test_the_size_of_a_repeated_part_is_what_rust_counts() -> None:
    """The counts at which the crate's own limit lies, asked of it."""
    fits = {"a*": 145632, "a+": 145632, "a|b": 145632, "ab|cd": 41609, "(?:a?|bc*)*d": 24730, "a{2,5}": 33607}

    for part, count in fits.items():
        Pattern(f"(?:{part}){{{count}}}")
        with pytest.raises(InvalidPatternError, match="exceeds size limit"):
            Pattern(f"(?:{part}){{{count + 1}}}")


def test_a_pattern_is_a_value() -> None:
    assert Pattern("a") == Pattern("a")
    assert hash(Pattern("a")) == hash(Pattern("a"))
    assert Pattern("a") != Pattern("b")
    assert Pattern("a") != "a"
    assert repr(Pattern('a"')) == 'Regex("a\\"")'
