from __future__ import annotations

from pathlib import Path

from refimpl.conformance.case_file import read_case
from refimpl.conformance.variants import variants

from .folder import case_of, write_case


def test_axes_fill_whole_texts_at_any_depth(tmp_path: Path) -> None:
    steps = [{"do": "echo", "value": {"n": ["$n", "n$n"], "m": "$m", "no": "$other"}}]
    axes = {"n": [0, [1, 2]], "m": ["x", None]}
    case = read_case(
        write_case(tmp_path, case_of(axes=axes, steps=steps, expect=[], provenance={"source": "none"})),
        tmp_path,
    )
    made = list(variants(case))

    assert [variant.name for variant in made] == ["n=0,m=x", "n=0,m=null", "n=#1,m=x", "n=#1,m=null"]
    assert made[2].steps == ({"do": "echo", "value": {"n": [[1, 2], "n$n"], "m": "x", "no": "$other"}},)
    assert made[0].label == "plc.one[n=0,m=x]"
    assert made[0].expect is None


def test_a_value_that_is_no_plain_word_is_named_by_its_place(tmp_path: Path) -> None:
    axes = {"g": ["a,b", "a=b", "x" * 30, True, 1.5]}
    case = read_case(
        write_case(tmp_path, case_of(axes=axes, expect=[], provenance={"source": "none"})), tmp_path
    )

    assert [variant.name for variant in variants(case)] == ["g=#0", "g=#1", "g=#2", "g=true", "g=1.5"]


def test_match_is_not_part_of_what_the_subject_is_asked(tmp_path: Path) -> None:
    steps = [{"do": "echo", "value": 1, "match": {"ulp": 2}}]
    (variant,) = variants(read_case(write_case(tmp_path, case_of(steps=steps)), tmp_path))

    assert variant.steps == ({"do": "echo", "value": 1},)
    assert variant.matches[0].ulp == 2
