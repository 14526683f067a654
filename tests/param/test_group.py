"""Parameter groups: every answer recorded from real Burn, and the rules one by one."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl import BoolTensor, Device, Flag, IntTensor, Module, Param, ParamGroup, ParamId, Tensor
from refimpl.errors import ArgumentTypeError, InvalidArgumentError, InvalidPatternError
from tests.golden.recorded import load

ANSWERS = load("groups.json.gz")
ID = ParamId.from_int(1)


@pytest.mark.clause("GRP-1", "GRP-2", "GRP-3", "GRP-5", "GRP-8", "GRP-10", "GRP-11", "PAR-7")
@pytest.mark.parametrize("case", ANSWERS["cases"], ids=[case["expr"] for case in ANSWERS["cases"]])
def test_a_recorded_group_matches_what_burns_does(case: dict[str, Any]) -> None:
    group = ParamGroup.from_serde(case["serde"])
    probes = [(ParamId.from_int(probe["id"]), probe["path"]) for probe in ANSWERS["probes"]]

    assert [group.matches(*probe) for probe in probes] == case["matches"]


@pytest.mark.clause("GRP-12", "GRP-13", "GRP-14")
@pytest.mark.parametrize("case", ANSWERS["cases"], ids=[case["expr"] for case in ANSWERS["cases"]])
def test_a_recorded_group_is_written_as_burn_writes_it(case: dict[str, Any]) -> None:
    group = ParamGroup.from_serde(case["serde"])

    assert group.to_serde() == case["serde"]
    assert repr(group) == case["debug"]


@pytest.mark.clause("GRP-9")
@pytest.mark.report("BL-26")
@pytest.mark.parametrize(
    "case", ANSWERS["invalid_regex"], ids=[c["pattern"] for c in ANSWERS["invalid_regex"]]
)
def test_a_pattern_is_refused_where_burn_refuses_it_and_with_its_text(case: dict[str, Any]) -> None:
    if case["from_regex"] == "ok":
        ParamGroup.from_regex(case["pattern"])
        return
    for make in (
        lambda: ParamGroup.from_regex(case["pattern"]),
        lambda: ParamGroup.from_any_regexes(["ok", case["pattern"]]),
    ):
        with pytest.raises(InvalidPatternError) as caught:
            make()
        assert caught.value.message == case["from_regex"]["message"]


@pytest.mark.clause("GRP-4", "GRP-12")
@pytest.mark.parametrize(
    ("group", "matcher"),
    [
        (ParamGroup.all(), "All"),
        (ParamGroup.from_ids([ID]), "Explicit([ParamId { value: 1 }])"),
        (ParamGroup.from_path("a"), 'Path(Exact(["a"]))'),
        (ParamGroup.from_paths(["a", "b"]), 'Path(Exact(["a", "b"]))'),
        (ParamGroup.from_predicate("a"), 'Path(Include(["a"]))'),
        (ParamGroup.from_predicates(["a", "b"]), 'Path(Include(["a", "b"]))'),
        (ParamGroup.from_regex("a"), 'Path(Regex([Regex("a")]))'),
        (ParamGroup.from_regexes(["a", "b"]), 'Path(Regex([Regex("a"), Regex("b")]))'),
        (ParamGroup.from_any_predicates(["a"]), 'Path(Include(["a"]))'),
        (
            ParamGroup.from_any_predicates(["a", "b", "c"]),
            'Combined([Path(Include(["c"])), Path(Include(["a"])), Path(Include(["b"]))])',
        ),
        (
            ParamGroup.from_any_regexes(["a", "b"]),
            'Combined([Path(Regex([Regex("b")])), Path(Regex([Regex("a")]))])',
        ),
        (ParamGroup.from_any_regexes([]), "Path(Include([]))"),
    ],
)
def test_a_constructor_makes_the_matcher_that_burns_does(group: ParamGroup, matcher: str) -> None:
    assert repr(group) == f"ParamGroup {{ matcher: {matcher}, excludes: None }}"


@pytest.mark.clause("GRP-5")
@pytest.mark.report("BL-49")
def test_empty_lists_match_nothing_for_paths_and_ids_and_everything_with_a_path_otherwise() -> None:
    for group in (ParamGroup.from_paths([]), ParamGroup.from_ids([])):
        assert not group.matches(ID, "w")
        assert not group.matches(ID, None)
    for group in (
        ParamGroup.from_predicates([]),
        ParamGroup.from_regexes([]),
        ParamGroup.from_any_predicates([]),
        ParamGroup.from_any_regexes([]),
    ):
        assert group.matches(ID, "w")
        assert group.matches(ID, "")
        assert not group.matches(ID, None)


@pytest.mark.clause("GRP-10", "GRP-11")
@pytest.mark.report("BL-49")
def test_fusing_forgets_exclusions_and_excluding_ignores_those_of_the_excluded() -> None:
    encoder = ParamGroup.from_predicate("enc").exclude(ParamGroup.from_path("enc.bias"))

    assert not encoder.matches(ID, "enc.bias")
    assert encoder.fuse(ParamGroup.from_path("dec.w")).matches(ID, "enc.bias")
    assert ParamGroup.from_path("dec.w").fuse(encoder).matches(ID, "enc.bias")
    assert not ParamGroup.all().exclude(encoder).matches(ID, "enc.bias")


@pytest.mark.clause("GRP-6", "GRP-7")
@pytest.mark.report("BL-26")
def test_a_predicate_is_a_substring_and_a_path_is_the_whole() -> None:
    predicate, path = ParamGroup.from_predicate("layers.1"), ParamGroup.from_path("layers.1.weight")

    assert predicate.matches(ID, "layers.1.weight")
    assert predicate.matches(ID, "layers.10.weight")
    assert path.matches(ID, "layers.1.weight")
    assert not path.matches(ID, "layers.10.weight")
    assert not predicate.matches(ID, None)
    assert ParamGroup.from_predicate("").matches(ID, "")
    assert ParamGroup.from_predicate("weight").matches(ID, "weight.lora.a")
    assert not ParamGroup.from_path("weight").matches(ID, "weight.lora.a")


@pytest.mark.clause("GRP-3", "GRP-5")
@pytest.mark.report("BL-26")
def test_predicates_are_all_of_them_or_any_of_them() -> None:
    path = "enc.bias"

    assert not ParamGroup.from_predicates(["enc", "w"]).matches(ID, path)
    assert ParamGroup.from_any_predicates(["enc", "w"]).matches(ID, path)
    assert not ParamGroup.from_regexes(["^enc", "w$"]).matches(ID, path)
    assert ParamGroup.from_any_regexes(["^enc", "w$"]).matches(ID, path)


@pytest.mark.clause("GRP-15")
def test_groups_are_values() -> None:
    group = ParamGroup.from_regex("a").exclude(ParamGroup.from_ids([ID]))
    again = ParamGroup.from_regex("a").exclude(ParamGroup.from_ids([ID]))

    assert group == again
    assert hash(group) == hash(again)
    assert group != ParamGroup.from_regex("a")
    assert group != "a"
    with pytest.raises(AttributeError):
        group._matcher = None  # type: ignore[assignment]


@pytest.mark.clause("GRP-4")
def test_arguments_of_other_types_are_refused() -> None:
    makers: tuple[Any, ...] = (
        lambda: ParamGroup(),
        lambda: ParamGroup.from_ids([1]),
        lambda: ParamGroup.from_paths("weight"),
        lambda: ParamGroup.from_predicates([b"weight"]),
        lambda: ParamGroup.from_regexes("a"),
        lambda: ParamGroup.all().matches(1, "a"),
        lambda: ParamGroup.all().matches(ID, 5),
    )
    for make in makers:
        with pytest.raises(ArgumentTypeError):
            make()


@pytest.mark.clause("GRP-13")
def test_a_missing_excludes_is_none() -> None:
    assert ParamGroup.from_serde({"matcher": "All"}) == ParamGroup.all()


@pytest.mark.clause("GRP-13", "PAR-7")
@pytest.mark.parametrize(
    "form",
    [
        None,
        {},
        {"matcher": "Nothing"},
        {"matcher": {"Explicit": [5]}},
        {"matcher": {"Explicit": [{"value": -1}]}},
        {"matcher": {"Explicit": [], "Path": {}}},
        {"matcher": {"Path": {"Exact": [5]}}},
        {"matcher": {"Path": {"Exact": ["a"], "Include": ["b"]}}},
        {"matcher": {"Combined": ["Every"]}},
        {"matcher": "All", "excludes": 5},
    ],
)
def test_a_form_that_writes_no_group_is_refused(form: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        ParamGroup.from_serde(form)


@pytest.mark.clause("PAR-7")
@pytest.mark.parametrize("form", [{"value": 1, "more": 2}, [1]])
def test_an_id_is_read_from_what_serde_reads_too(form: Any) -> None:
    assert ParamGroup.from_serde({"matcher": {"Explicit": [form]}}).matches(ParamId.from_int(1), None)


@pytest.mark.clause("GRP-13")
def test_lists_of_matchers_are_read_to_a_bounded_depth() -> None:
    form: Any = "All"
    for _ in range(5000):
        form = {"Combined": [form]}

    with pytest.raises(InvalidArgumentError):
        ParamGroup.from_serde({"matcher": form})


@pytest.mark.clause("GRP-13")
def test_a_bad_pattern_in_a_form_is_a_bad_pattern() -> None:
    with pytest.raises(InvalidPatternError):
        ParamGroup.from_serde({"matcher": {"Path": {"Regex": ["("]}}})


@pytest.mark.clause("GRP-4", "GRP-15")
def test_ids_from_module_lists_parameters_and_flags_in_traversal_order() -> None:
    device = Device("sim", 0)
    weight = Param.from_data([[1.0]], device)
    index = Param.initialized(ParamId.from_int(2), IntTensor.from_data([1], device))
    mask = Param.initialized(ParamId.from_int(3), BoolTensor.from_data([True], device))
    flag = Param.from_bool(True)

    class Node(Module):
        weight: Param[Tensor]
        index: Param[IntTensor]
        mask: Param[BoolTensor]
        again: Param[Tensor]
        flag: Param[Flag]

    group = ParamGroup.ids_from_module(Node(weight=weight, index=index, mask=mask, again=weight, flag=flag))

    assert group == ParamGroup.from_ids([weight.id, index.id, mask.id, weight.id, flag.id])
    assert group.matches(flag.id, None)
    assert not group.matches(ParamId.from_int(99), None)


@pytest.mark.clause("GRP-12")
def test_a_single_matcher_fused_with_a_list_stands_last_on_either_side() -> None:
    several = ParamGroup.from_any_predicates(["a", "b"])
    listed = 'Path(Include(["b"])), Path(Include(["a"]))'
    single = ParamGroup.from_path("w")

    for fused in (single.fuse(several), several.fuse(single)):
        assert repr(fused) == (
            f'ParamGroup {{ matcher: Combined([{listed}, Path(Exact(["w"]))]), excludes: None }}'
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda: ParamGroup.from_ids(ParamId.new()),  # type: ignore[arg-type]
        lambda: ParamGroup.from_ids(None),  # type: ignore[arg-type]
        lambda: ParamGroup.from_paths(None),  # type: ignore[arg-type]
        lambda: ParamGroup.all().fuse("encoder"),  # type: ignore[arg-type]
        lambda: ParamGroup.all().exclude(None),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_group_and_no_list_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        call()
