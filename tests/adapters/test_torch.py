"""PyTorch as a subject. Skipped where it is not installed."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import pytest
import safetensors

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.expectations import read_expectations
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import run
from refimpl.conformance.safetensors_files import TREES, given, reading, told, writing
from refimpl.conformance.subject import InProcess

pytest.importorskip(
    "torch", reason="PyTorch is not installed: `make bench` installs it", exc_type=ImportError
)

from tests.adapters.by_hand import DTYPES, file_of
from tests.adapters.torch_subject import TorchSubject

W = ["w", {"float": {"id": 1}}]
N = ["n", {"int": {"id": 2}}]


def answers(*steps: dict[str, Any], fields: list[Any]) -> list[Any]:
    tree = {"struct": "S", "fields": fields}
    build = {
        "do": "module.build",
        "fixture": "dynamic/1",
        "args": {"tree": tree, "device": "d0+autodiff"},
        "as": "m",
    }
    return TorchSubject().case("c", [build, *({**step, "on": "m"} for step in steps)])[1:]


def test_its_own_parameters_come_before_those_of_its_children() -> None:
    [events] = answers({"observe": "events"}, fields=[["child", {"struct": "C", "fields": [N]}], W])

    assert [event[1] for event in events["ok"] if event[0] == "enter"] == ["w", "child", "n"]


def test_a_frozen_module_has_no_leaf() -> None:
    before, _, after = answers(
        {"observe": "state"}, {"do": "module.freeze"}, {"observe": "state"}, fields=[W]
    )

    assert before["ok"][0]["grad"] == "leaf"
    assert after["ok"][0]["grad"] == "untracked"


def test_a_module_with_an_integer_parameter_is_not_unfrozen_as_a_whole() -> None:
    [unfrozen] = answers({"do": "module.unfreeze"}, fields=[W, N])

    assert unfrozen["panic"]["kind"] == "Gradient"


def test_a_clone_keeps_the_ids() -> None:
    _, ids = answers({"do": "module.clone", "as": "c"}, {"do": "module.param_ids"}, fields=[W, N])

    assert ids == {"ok": ["1", "2"]}


def test_what_it_has_no_word_for_is_unsupported() -> None:
    [valid] = answers({"do": "module.valid"}, fields=[W])

    assert valid["unsupported"]["capability"] == "module.valid"


def test_a_device_without_gradients_is_inference_mode() -> None:
    tree = {"struct": "S", "fields": [W]}
    build = {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree, "device": "d0"}, "as": "m"}
    *_, before, _, after = TorchSubject().case(
        "c",
        [
            build,
            {"observe": "state", "on": "m"},
            {"do": "module.freeze", "on": "m"},
            {"observe": "state", "on": "m"},
        ],
    )

    assert (before["ok"][0]["grad"], before["ok"][0]["active"]) == ("plain", True)
    assert (after["ok"][0]["grad"], after["ok"][0]["active"]) == ("plain", False)


def test_a_group_freezes_by_name() -> None:
    _, after = answers(
        {"do": "module.freeze_group", "group": {"predicate": "n"}},
        {"observe": "state"},
        fields=[W, ["inner", {"struct": "C", "fields": [W]}]],
    )

    assert [(one["path"], one["grad"]) for one in after["ok"]] == [("w", "leaf"), ("inner.w", "untracked")]


def test_a_running_state_is_a_buffer_after_the_parameters() -> None:
    running = ["mean", {"running": {"id": 3, "shape": [4]}}]
    state, count = answers({"observe": "state"}, {"do": "module.num_params"}, fields=[running, W])

    assert [(one["path"], one["grad"]) for one in state["ok"]] == [("w", "leaf"), ("mean", "untracked")]
    assert count["ok"] == 2


def loaded(*options: dict[str, Any], names: tuple[str, str], shapes: tuple[int, int] = (2, 2)) -> list[Any]:
    """What becomes of a module with one field that is given the record of another."""
    steps: list[dict[str, Any]] = []
    for handle, name, number, shape in zip("st", names, (1, 9), shapes, strict=True):
        tree = {"struct": "S", "fields": [[name, {"float": {"id": number, "shape": [shape]}}]]}
        steps.append({"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree}, "as": handle})
    steps += [{"do": "module.record", "on": "s", "as": "r"}]
    steps += [{"do": "record.options", "on": "r", **one} for one in options]
    steps += [{"do": "module.try_load_record", "on": "t", "record": "r"}, {"observe": "state", "on": "t"}]
    return TorchSubject().case("c", steps)[-2:]


def test_a_state_dict_brings_its_tensors_with_their_ids() -> None:
    taken, state = loaded(names=("w", "w"))

    assert taken == {"ok": {}}
    # The formula of id 1: u = 7, 10, so (u - 8) / 4 is -0.25, 0.5.
    assert (state["ok"][0]["id"], state["ok"][0]["value"]["hex"]) == ("1", "000080be0000003f")


def test_values_that_are_copied_leave_the_ids() -> None:
    _, state = loaded({"dtype_policy": "CastToModule"}, names=("w", "w"))

    assert (state["ok"][0]["id"], state["ok"][0]["value"]["hex"]) == ("9", "000080be0000003f")


@pytest.mark.parametrize(
    ("partial", "unused", "fits"),
    [(False, False, False), (True, False, False), (False, True, False), (True, True, True)],
)
def test_what_stands_in_one_of_the_state_dicts_alone_is_refused(
    partial: bool, unused: bool, fits: bool
) -> None:
    taken, _ = loaded({"allow_partial": partial, "allow_unused": unused}, names=("w", "v"))

    assert taken == {"ok": {}} if fits else taken["error"]["kind"] == "RecordValidation"


def test_another_shape_is_refused_whatever_is_allowed() -> None:
    taken, _ = loaded({"allow_partial": True, "allow_unused": True}, names=("w", "w"), shapes=(2, 3))

    assert "size mismatch for w" in taken["error"]["text"]


def quantised(values: list[float], **scheme: Any) -> dict[str, Any]:
    *_, parts = TorchSubject().case(
        "c",
        [
            {"do": "tensor.create", "kind": "float", "values": values, "device": "d0", "as": "t"},
            {"do": "quant.quantize", "on": "t", "scheme": {"store": "Native"} | scheme, "as": "q"},
            {"do": "quant.parts", "on": "q"},
        ],
    )
    found: dict[str, Any] = parts["ok"]
    return found


def test_codes_of_8_bits_are_the_quotients_rounded_to_even() -> None:
    # The scale is 2 * 127 / 254 = 1, whose bytes are 0000803f; 0.5 and 1.5 lie half way.
    found = quantised([127, -127, 0.5, 1.5], value="Q8S")

    assert (found["codes"], found["scales"]) == ("7f810002", ["0000803f"])


def test_each_block_has_a_scale() -> None:
    # 2 * 7 / 14 = 1 and 2 * 14 / 14 = 2.
    found = quantised([7, -3, 14, -6], value="Q4S", block={"size": [2], "dtype": "F32"})

    assert (found["codes"], found["grid"]) == ("07fd07fd", [2])
    assert found["scales"] == ["0000803f", "00000040"]


def test_a_scale_of_half_precision_is_rounded_up() -> None:
    # 2 * 1 / 254 = 0.00787401..; the half-precision numbers there are 2^-17 apart: 1032 * 2^-17 is below
    # (0.00787353..), 1033 * 2^-17 = 0.00788116.. is taken.
    found = quantised([1, -1], value="Q8S", tensor="F16")

    assert struct.unpack("<f", bytes.fromhex(found["scales"][0])) == (1033 * 2**-17,)


def test_floating_point_codes_of_8_bits_are_those_of_pytorch() -> None:
    # The scale is 1: 448 is 0x7e in E4M3, 1 is 0x38, -0.0 is 0x80.
    found = quantised([448, 1, "-0.0"], value="E4M3")  # type: ignore[list-item]

    assert (found["codes"], found["scales"]) == ("7e3880", ["0000803f"])


def test_floating_point_codes_of_4_bits_go_to_the_even_code_half_way() -> None:
    # The scale is 1: 6, -3 and 0.5 are the codes 7, 5 with a sign, 1; 2.5 lies between 4 (2) and 5 (3).
    found = quantised([6, -3, 0.5, 2.5], value="E2M1")

    assert found["codes"] == "070d0104"


@pytest.mark.parametrize(
    ("hexed", "shape", "scheme", "codes", "values"),
    [
        # 0x38 is 1 in E4M3 and 0xb8 is -1; the scale is 2.
        ("38b800000040", [2], {"value": "E4M3", "store": "Native"}, "38b8", "00000040000000c0"),
        # 1, -2 and 3 in four bits each, the first in the lowest: 0x3e1; the scale is 1.
        ("e10300000000803f", [3], {"value": "Q4S"}, "01fe03", "0000803f000000c000004040"),
        # Two rows of one code of two in a byte: 6 and -6; the scale is 1.
        ("070f0000803f", [2, 1], {"value": "E2M1", "store": {"PackedNative": 0}}, "070f", "0000c0400000c0c0"),
    ],
)
def test_stored_bytes_are_read_and_written_again(
    hexed: str, shape: list[int], scheme: dict[str, Any], codes: str, values: str
) -> None:
    read, parts, floats = TorchSubject().case(
        "c",
        [
            {"do": "quant.from_bytes", "hex": hexed, "shape": shape, "scheme": scheme, "as": "q"},
            {"do": "quant.parts", "on": "q"},
            {"do": "quant.dequantize", "on": "q"},
        ],
    )

    assert read["ok"]["value"]["hex"] == hexed
    assert parts["ok"]["codes"] == codes
    assert floats["ok"]["value"]["hex"] == values


@pytest.mark.parametrize("name", TREES)
def test_a_safetensors_file_holds_what_the_request_says(name: str) -> None:
    written = bytes.fromhex(TorchSubject().case("c", writing(name))[-1]["ok"]["hex"])
    held = {
        path: {"dtype": DTYPES[one["dtype"]], "shape": one["shape"], "hex": bytes(one["data"]).hex()}
        for path, one in safetensors.deserialize(written)
    }

    assert held == {one["path"]: one["value"] for one in given(name)}


@pytest.mark.parametrize("name", TREES)
def test_a_safetensors_file_of_others_is_loaded(name: str) -> None:
    state = TorchSubject().case("c", reading(name, file_of(given(name)).hex()))[-1]

    assert told(state["ok"]) == given(name)


def test_a_safetensors_file_that_is_none_is_refused() -> None:
    *_, taken, _ = TorchSubject().case("c", reading("bools", "00"))

    assert taken["panic"]["kind"] == "Load"


def test_every_difference_is_explained() -> None:
    subject = InProcess(TorchSubject())
    version = subject.greeting.impl.version
    known = read_expectations(spec_folder() / "expectations" / "torch.toml", version)
    cases = [case for case in load_cases(None) if case.expect]
    seen: list[Event] = list(known.judge(run(subject, cases, known.skip)))
    verdicts = Counter(event.verdict for event in seen if isinstance(event, Result))

    assert set(verdicts) == {"pass", "xfail", "unsupported"}
    assert [event for event in seen if not isinstance(event, Result)] == []
    assert verdicts["pass"] >= 1_700
