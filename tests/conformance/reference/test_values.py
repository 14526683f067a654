from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refimpl.conformance.reference import ReferenceSubject


def answers(*steps: dict[str, Any]) -> list[Any]:
    return [outcome["ok"] for outcome in ReferenceSubject().case("values", steps)]


def create(**data: Any) -> Any:
    (answer,) = answers({"do": "tensor.create", "device": "d0", "as": "x", **data})
    return answer


@pytest.mark.parametrize(
    ("kind", "dtype", "numpy", "expected"),
    [
        # u = (7 * 3 + 3 i) mod 17 = 4, 7, 10, 13
        ("float", "f32", "<f4", [-1.0, -0.25, 0.5, 1.25]),
        ("float", "f16", "<f2", [-1.0, -0.25, 0.5, 1.25]),
        ("int", "i8", "i1", [-4, -1, 2, 5]),
        ("int", "u64", "<u8", [4, 7, 10, 13]),
        ("bool", "bool", "?", [False, True, False, True]),
    ],
)
def test_the_formula_gives_the_same_numbers_everywhere(
    kind: str, dtype: str, numpy: str, expected: list[Any]
) -> None:
    value = create(kind=kind, dtype=dtype, shape=[4], seed=3)["value"]

    assert np.frombuffer(bytes.fromhex(value["hex"]), numpy).tolist() == expected


def test_values_past_what_json_writes_are_strings() -> None:
    value = create(kind="float", dtype="f64", values=["nan", "inf", "-inf", "-0.0"])["value"]

    assert value["hex"][16:] == "000000000000f07f000000000000f0ff0000000000000080"


@pytest.mark.parametrize("dtype", ["i64", "u64"])
def test_integers_of_64_bits_are_read_exactly(dtype: str) -> None:
    value = create(kind="int", dtype=dtype, values=["9223372036854775807"])["value"]

    assert value["hex"] == "ffffffffffffff7f"


def test_bytes_are_taken_as_they_are() -> None:
    assert create(kind="int", dtype="i16", shape=[1], hex="0102")["value"]["hex"] == "0102"


def test_large_data_is_told_by_its_sum() -> None:
    value = create(kind="int", dtype="u8", shape=[65537], seed=0)["value"]

    assert sorted(value) == ["dtype", "nbytes", "sha256", "shape"]


def test_large_bytes_are_told_by_their_sum() -> None:
    (answer,) = answers({"do": "bytes.make", "hex": "00" * 4097, "as": "b"})

    assert sorted(answer) == ["len", "sha256"]


def test_off_the_executing_device_no_value_is_told() -> None:
    (answer,) = answers({"do": "tensor.create", "kind": "float", "device": "d1", "as": "x"})

    assert answer["device"] == "d1"
    assert answer["value"] is None


def test_an_id_that_the_case_wrote_prints_as_its_number_and_a_random_one_by_appearance() -> None:
    big = "18446744073709551615"
    tree = {"vec": [{"float": {"id": big}}, {"float": {}}, {"float": {"id": 7}}, {"float": {}}]}
    build = {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree}, "as": "m"}

    assert answers(build, {"do": "module.param_ids", "on": "m"})[1] == [big, "new#0", "7", "new#1"]


def test_texts_name_devices_and_random_ids_as_the_case_does() -> None:
    build = {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": {"float": {}}}, "as": "m"}
    debug = answers(build, {"observe": "debug", "on": "m"})[1]
    placement = {"do": "placement.make", "input": "d0+autodiff", "hidden": [], "output": "d12", "as": "p"}

    assert debug == "Param: <new#0> - ParamMapper { load: false, save: false }"
    assert answers(placement, {"observe": "debug", "on": "p"})[1] == (
        "LayerPlacement { input: <d0+autodiff>, hidden: [], output: <d12> }"
    )


def test_nothing_is_kept_from_one_case_to_the_next() -> None:
    subject = ReferenceSubject()
    subject.case("first", [{"do": "file.mkdir", "file": "here"}, {"do": "bytes.make", "hex": "", "as": "b"}])
    subject.reset()

    listed, gone = subject.case("second", [{"do": "file.list"}, {"observe": "bytes", "on": "b"}])

    assert listed == {"ok": []}
    assert gone["error"]["kind"] == "Protocol"


def test_the_greeting_says_what_the_reference_can_do() -> None:
    greeting = ReferenceSubject().hello()

    assert greeting["protocol"] == 1
    assert greeting["caps"]["fixtures"] == ["zoo/1", "dynamic/1"]
    assert "bool_u32" not in greeting["caps"]["dtypes"]
