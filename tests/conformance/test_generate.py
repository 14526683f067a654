from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from refimpl.conformance import generate as generator
from refimpl.conformance.case_file import cases_folder, load_cases
from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.generate import COUNTS, generate, main, truth_of
from refimpl.conformance.tree import draw_tree, leaves_of


@pytest.mark.parametrize("theme", list(COUNTS))
def test_the_committed_cases_are_drawn_again_by_their_seeds(theme: str) -> None:
    committed = {case.id: case for case in load_cases(prefix=theme)}
    drawn = {case.id: case for case in generate(theme)}

    assert set(committed) == set(drawn)
    assert [i for i in drawn if drawn[i].steps != committed[i].steps] == []
    assert [i for i in drawn if drawn[i].clauses != committed[i].clauses] == []


def test_generated_cases_are_distinct_and_name_clauses_that_exist() -> None:
    cases = [case for theme in COUNTS for case in generate(theme)]
    shapes = {json.dumps(case.steps, sort_keys=True) for case in cases}

    assert len(shapes) == len(cases) >= 200
    assert {clause for case in cases for clause in case.clauses} <= set(load_clauses())


def test_a_case_is_as_binding_as_the_least_binding_of_its_clauses() -> None:
    assert truth_of(["PLC-3", "PLC-10"]) == "pinned"
    assert truth_of(["PLC-3", "PLC-2"]) == "contract"


def test_the_leaves_of_a_tree_are_its_parameters_in_order_with_their_paths() -> None:
    tree = {
        "struct": "S",
        "fields": [
            ["z", {"some": {"float": {"id": 1}}}],
            ["skipped", {"skip": {"const": {"int": 1}}}],
            ["e", {"enum": "E", "variant": "V", "payload": {"vec": [{"flag": {"id": 2}}, {"none": True}]}}],
        ],
    }

    assert leaves_of(tree, "") == [(1, "z"), (2, "e.V.0")]


@pytest.mark.parametrize("seed", range(20))
def test_a_list_of_a_tree_has_one_type(seed: int) -> None:
    def lists(node: object) -> list[list[dict[str, object]]]:
        if isinstance(node, dict):
            own = [node[kind] for kind in ("vec", "array") if kind in node]
            return own + [one for value in node.values() for one in lists(value)]
        return [one for value in node for one in lists(value)] if isinstance(node, list) else []

    for found in lists(draw_tree(Random(seed), nodes=9).root):
        optional = {bool({"some", "none"} & set(one)) for one in found}
        assert len(optional) <= 1


def test_only_missing_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "cases_folder", lambda: tmp_path)
    main(["dev.tree"])
    main(["dev.tree"])

    assert capsys.readouterr().out.split("\n")[:2] == [f"{COUNTS['dev.tree']} written", "0 written"]
    assert len(load_cases(tmp_path)) == COUNTS["dev.tree"]
    assert cases_folder() != tmp_path
