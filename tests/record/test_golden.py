"""Loading under every combination of options, as real Burn did it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refimpl.errors import PanicError, RecordError, RecordIoError
from refimpl.param.group import ParamGroup
from refimpl.param.param_id import ParamId
from refimpl.record.policy import DTypePolicy
from refimpl.record.record import ModuleRecord
from refimpl.rust_text import debug_str
from tests.burnpack.containers import descriptor, pack
from tests.golden.recorded import CPU, Labels, dump, float_param, load, without_device_text

from .situations import F32, OnlyBias, nest, shaped, situation, tiny, wide

RECORDS = load("records.json.gz")
MISC: dict[str, Any] = RECORDS["misc"]


def name_of(case: dict[str, Any]) -> str:
    options = [key for key in ("allow_partial", "allow_unused", "validate") if case[key]]
    return "-".join((case["case"], case["policy"], *options))


def outcome(target: Any, record: ModuleRecord) -> Any:
    labels = Labels()
    try:
        loaded = target.try_load_record(record)
    except RecordError as error:
        return {
            "err_display": str(error),
            "err_debug": f"{error.variant}({debug_str(error.detail)})",
            "variant": error.variant,
        }
    except PanicError as error:
        return {"panic": str(error)}
    return {"ok": dump(loaded, labels)}


@pytest.mark.clause("REC-1", "REC-15", "REC-16", "REC-17", "REC-19", "REC-20", "REC-21", "REC-22", "REC-24")
@pytest.mark.report("BL-36")
@pytest.mark.parametrize("case", RECORDS["cases"], ids=name_of)
@pytest.mark.parametrize("through_bytes", [False, True])
def test_a_record_is_loaded_or_refused_as_recorded(case: dict[str, Any], through_bytes: bool) -> None:
    target, record = situation(case["case"])
    assert dump(target) == without_device_text(case["target_before"])
    if through_bytes:
        record = ModuleRecord.from_bytes(record.into_bytes())
    record = (
        record.with_dtype_policy(DTypePolicy(case["policy"]))
        .allow_partial(case["allow_partial"])
        .allow_unused(case["allow_unused"])
        .validate(case["validate"])
    )
    expected = case["result"]
    if "ok" in expected:
        expected = {"ok": without_device_text(expected["ok"])}

    assert outcome(target, record) == expected


@pytest.mark.clause("REC-1")
def test_a_record_shows_its_size_and_options_as_burn_does() -> None:
    record = tiny(10).into_record()
    configured = record.cast_to_module_dtype().allow_partial(True).allow_unused(True).validate(False)

    assert repr(record) == MISC["record_debug"]
    assert repr(configured) == MISC["record_debug_configured"]
    assert [len(record), record.is_empty()] == MISC["record_len"]


@pytest.mark.clause("REC-25")
@pytest.mark.parametrize(
    ("key", "target", "record"),
    [
        ("load_record_panic_missing", wide, tiny(10).into_record()),
        ("load_record_panic_shape", lambda: tiny(20), shaped(10, (2, 2), 3).into_record()),
        (
            "load_record_panic_unused",
            lambda: OnlyBias(bias=float_param(21, [0.0] * 2, (2,), F32, CPU)),
            tiny(10).into_record(),
        ),
    ],
)
def test_the_form_that_panics_says_what_burn_says(key: str, target: Any, record: ModuleRecord) -> None:
    with pytest.raises(PanicError) as caught:
        target().load_record(record)

    assert str(caught.value) == MISC[key]


@pytest.mark.clause("REC-24", "REC-26")
@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("load_missing_file", lambda: ModuleRecord.load("out/does_not_exist.bpk")),
        ("load_missing_file_no_ext", lambda: ModuleRecord.load("out/does_not_exist")),
        ("from_bytes_empty", lambda: ModuleRecord.from_bytes(b"")),
        ("from_bytes_garbage", lambda: ModuleRecord.from_bytes(bytes([7] * 64))),
    ],
)
def test_what_cannot_be_read_is_said_in_burns_words(key: str, read: Any) -> None:
    with pytest.raises(RecordIoError) as caught:
        read()

    assert str(caught.value) == MISC[key]["display"]
    assert f"{caught.value.variant}({debug_str(caught.value.detail)})" == MISC[key]["debug"]


@pytest.mark.clause("REC-6", "REC-9")
@pytest.mark.parametrize(
    ("key", "group"),
    [
        ("group_predicate_first", ParamGroup.from_predicate("first")),
        ("group_ids_21_30", ParamGroup.from_ids([ParamId.from_int(21), ParamId.from_int(30)])),
        ("all_names_sorted", ParamGroup.all()),
    ],
)
def test_a_group_records_its_own_parameters(key: str, group: ParamGroup) -> None:
    record = nest().into_record_group(group)

    assert sorted(entry.path for entry in record.entries) == MISC[key]


@pytest.mark.clause("REC-3")
def test_a_parameter_that_is_the_module_has_the_empty_path() -> None:
    param = float_param(5, [1.0, 2.0, 3.0, 4.0], (2, 2), F32, CPU)
    record = ModuleRecord.collect(param)
    other = float_param(6, [0.0] * 4, (2, 2), F32, CPU)
    loaded = ModuleRecord.from_bytes(record.into_bytes()).apply(other)

    assert [entry.path for entry in record.entries] == MISC["root_param_names"]
    assert dump(loaded) == without_device_text(MISC["root_param_loaded"])


@pytest.mark.clause("REC-11")
@pytest.mark.report("BL-01")
def test_an_entry_without_an_id_gets_a_fresh_one() -> None:
    tensors = {
        "weight": descriptor("F32", [2, 2], [0, 16]),
        "bias": descriptor("F32", [2], [16, 24], param_id=77),
    }
    data = pack(
        {"tensors": tensors},
        bytes.fromhex("0000803f00000040000040400000804000 00803f00000040".replace(" ", "")),
    )
    loaded = tiny(20).load_record(ModuleRecord.from_bytes(data))
    again = tiny(20).load_record(ModuleRecord.from_bytes(data))

    assert json.loads(json.dumps(dump(loaded, Labels()))) == without_device_text(MISC["no_param_id_loaded"])
    assert loaded.weight.id != again.weight.id
