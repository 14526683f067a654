from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refimpl.conformance.case_file import cases_folder, format_case, load_cases, read_case
from refimpl.conformance.location import repeated_key
from refimpl.conformance.protocol import PROFILE
from refimpl.conformance.versions import BURN
from refimpl.errors import CaseError

from .folder import case_of, write_case


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"truth": "maybe"}, "truth", "Invalid enum value 'maybe'"),
        ({"clauses": []}, "clauses", "at least one clause"),
        ({"why": " "}, "why", "which fault"),
        ({"steps": []}, "steps", "at least one step"),
        ({"steps": [1]}, r"steps\[0\]|steps\[\.\.\.\]", "Expected `object`"),
        ({"steps": [{"do": "a", "match": {"ulps": 1}}]}, r"steps\[0\]\.match", "ulps"),
        ({"cost": 1000}, "cost", "1000"),
        ({"requires": ["records", "burn"]}, r"requires\[1\]", "no subject can claim 'burn'"),
        ({"requires": ["d0"]}, r"requires\[0\]", "no subject can claim 'd0'"),
        ({"since": "0.23.0-pre..1"}, "since", "no version"),
        ({"axes": {"n": []}}, r"axes\.n", "at least one value"),
        ({"axes": {"a": [0] * 101, "b": [0] * 100}}, "axes", "more than 10000"),
        ({"axes": {"n": [1, 2]}}, "expect", "an object"),
        ({"axes": {"n": [1, 2]}, "expect": {"n=1": [{"ok": 1}]}}, "expect", "each variant"),
        ({"expect": {"": [{"ok": 1}]}}, "expect", "without axes"),
        ({"expect": [{"ok": 1}, {"ok": 2}]}, "expect", "one outcome for each of the 1 steps"),
        ({"expect": [{"ok": 1, "error": {"kind": "Io"}}]}, r"expect\[\.\.\.\]|expect.*", "exactly one of"),
        ({"expect": [{"panic": {"kind": "Io"}}]}, r"expect\[\.\.\.\]|expect.*", "enum value 'Io'"),
        ({"expect": [{"error": {"kind": "Load"}}]}, r"expect\[\.\.\.\]|expect.*", "enum value 'Load'"),
        ({"id": "plc.two"}, "id", "stands in the file of 'plc.one'"),
    ],
)
def test_a_broken_case_names_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], field: str, words: str
) -> None:
    path = write_case(tmp_path, case_of(), json.dumps(case_of() | change, indent=1))

    with pytest.raises(CaseError, match=rf"one\.json, line \d+, field `{field}`.*{words}"):
        read_case(path, tmp_path)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, text: str) -> None:
    with pytest.raises(CaseError, match=r"one\.json: is empty"):
        read_case(write_case(tmp_path, case_of(), text), tmp_path)


def test_the_line_is_that_of_the_field(tmp_path: Path) -> None:
    path = write_case(tmp_path, case_of(), json.dumps(case_of(level="perhaps"), indent=1))
    lines = path.read_text().split("\n")

    with pytest.raises(CaseError) as caught:
        read_case(path, tmp_path)

    line = next(number for number, text in enumerate(lines, 1) if '"level"' in text)
    assert f"line {line}, field `level`" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ('{"id": 1,\n "id": 2}', 2, "id"),
        ('{"a": "{\\"a\\":",\n\n "b": [{"c": 1}, {"c": 2, "d": {"c": 3}, "\\u0063" : 4}]}', 3, "c"),
    ],
)
def test_a_key_that_stands_twice_in_one_object_is_found(text: str, line: int, name: str) -> None:
    assert repeated_key(text.encode()) == (line, name)


def test_a_key_in_two_objects_is_no_repetition() -> None:
    assert repeated_key(b'{"a": {"a": [{"a": 1}, {"a": "\\"a\\": {"}]}, "b": "a"}') is None


@pytest.mark.parametrize(
    ("text", "words"), [("[]", "Expected `object`"), (json.dumps(case_of(surprise=1)), "surprise")]
)
def test_a_fault_of_the_whole_names_no_field(tmp_path: Path, text: str, words: str) -> None:
    path = write_case(tmp_path, case_of(), text)

    with pytest.raises(CaseError, match=rf"one\.json, line 1: .*{words}"):
        read_case(path, tmp_path)


def test_a_case_with_a_key_twice_names_its_second_line(tmp_path: Path) -> None:
    text = json.dumps(case_of(), indent=1)
    path = write_case(tmp_path, case_of(), text[:-2] + ',\n "why": "Another."\n}')

    with pytest.raises(CaseError, match=rf"line {text.count(chr(10)) + 1}, field `why`: stands twice"):
        read_case(path, tmp_path)


@pytest.mark.parametrize("text", ["", "{", '{"id": "plc.one",\n "clauses": }', "[" * 100_000, '"\xff"'])
def test_a_file_that_is_no_json_is_a_case_error(tmp_path: Path, text: str) -> None:
    path = write_case(tmp_path, case_of(), text)

    with pytest.raises(CaseError, match=r"one\.json"):
        read_case(path, tmp_path)


def test_cases_are_chosen_by_id_or_its_beginning(tmp_path: Path) -> None:
    for name in ("plc.even", "plc.even.more", "plc.evenly", "dev.one"):
        write_case(tmp_path, case_of(name))

    assert [case.id for case in load_cases(tmp_path, "plc.even")] == ["plc.even", "plc.even.more"]
    assert len(load_cases(tmp_path)) == 4


@pytest.mark.parametrize(
    ("bounds", "burn"),
    [
        ({}, ["0.22.0", "0.23.0-pre.1", "0.23.0-pre.2", "0.23.0"]),
        ({"since": "0.23.0-pre.1"}, ["0.23.0-pre.1", "0.23.0-pre.2", "0.23.0"]),
        ({"until": "0.23.0-pre.2"}, ["0.22.0", "0.23.0-pre.1"]),
        ({"since": "0.23.0-pre.1", "until": "0.23.0"}, ["0.23.0-pre.1", "0.23.0-pre.2"]),
    ],
)
def test_a_case_is_asked_of_the_versions_of_burn_for_which_it_holds(
    tmp_path: Path, bounds: dict[str, str], burn: list[str]
) -> None:
    write_case(tmp_path, case_of(**bounds))

    asked = [one for one in ("0.22.0", BURN, "0.23.0-pre.2", "0.23.0") if load_cases(tmp_path, burn=one)]
    assert asked == burn


def test_without_a_word_the_cases_are_those_of_the_profile(tmp_path: Path) -> None:
    write_case(tmp_path, case_of("plc.old", until=BURN))
    write_case(tmp_path, case_of("plc.now", since=BURN))

    assert [case.id for case in load_cases(tmp_path)] == ["plc.now"]
    assert f"burn-{BURN}" == PROFILE


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"since": "soon"}, "line [0-9]+, field `since`: 'soon' is no version"),
        ({"since": ""}, "field `since`: '' is no version"),
        ({"until": "soon"}, "field `until`: 'soon' is no version"),
        (
            {"since": "0.24", "until": "0.24"},
            "field `until`: no version of Burn is from 0.24 on and before 0.24",
        ),
    ],
)
def test_versions_that_no_burn_has_are_a_fault_of_the_case(
    tmp_path: Path, bounds: dict[str, str], words: str
) -> None:
    path = write_case(tmp_path, case_of(**bounds))

    with pytest.raises(CaseError, match=words):
        read_case(path, tmp_path)


def test_a_case_is_written_one_step_a_line_and_read_back(tmp_path: Path) -> None:
    fields = {
        "axes": {"n": [1, 2]},
        "expect": {"n=1": [{"ok": 1}], "n=2": [{"panic": {"kind": "Other", "text": "é"}}]},
    }
    case = read_case(write_case(tmp_path, case_of(requires=["quant"], cost=2, text=True, **fields)), tmp_path)
    text = format_case(case)
    again = read_case(write_case(tmp_path, case_of(), text), tmp_path)

    assert '    {"do": "echo", "value": 1}\n' in text
    assert "é" in text
    assert again == case


def test_every_case_of_ours_is_written_as_we_write_cases() -> None:
    root = cases_folder()
    wrong = [
        case.id
        for case in load_cases()
        if (root / case.chapter / f"{case.id.partition('.')[2]}.json").read_text("utf-8") != format_case(case)
    ]

    assert wrong == []
