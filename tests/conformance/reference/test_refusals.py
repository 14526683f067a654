from __future__ import annotations

from typing import Any

import pytest

from refimpl.conformance.reference import ReferenceSubject

LINEAR = {"do": "module.build", "fixture": "zoo/linear", "args": {}, "as": "m"}
RUNNING = {"do": "module.build", "fixture": "zoo/running", "args": {}, "as": "m"}
TENSOR = {"do": "tensor.create", "kind": "float", "device": "d0", "as": "x"}
BYTES = {"do": "bytes.make", "hex": "0011", "as": "b"}
PACK = {
    "do": "pack.write",
    "entries": [{"name": "w"}],
    "scalars": {"s": {"Float": 0.5}, "t": {"Bool": True}},
    "as": "b",
}


def tree(node: Any) -> dict[str, Any]:
    return {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": node}, "as": "m"}


def zoo(name: str, **args: Any) -> dict[str, Any]:
    return {"do": "module.build", "fixture": f"zoo/{name}", "args": args, "as": "m"}


def last(*steps: dict[str, Any]) -> dict[str, Any]:
    return ReferenceSubject().case("refusals", steps)[-1]


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([{}], "`do` must be a string"),
        ([{"do": "nothing.here"}], "`nothing.here` is no step"),
        ([{"do": "module.nothing", "on": "m"}], "is no step"),
        ([{"do": "module.drop", "on": "m"}], "nothing is called 'm'"),
        ([{"do": "module.devices", "on": "m"}], "no ModuleTrait is called 'm'"),
        ([LINEAR, {"do": "module.freeze_group", "on": "m"}], "lacks a group"),
        ([LINEAR, {"do": "module.freeze_group", "on": "m", "group": {"nope": 1}}], "'nope' is no group"),
        ([LINEAR, {"do": "module.freeze_group", "on": "m", "group": 3}], "3 is no group"),
        ([LINEAR, {"do": "module.set_require_grad", "on": "m", "value": 1}], "must be true or false"),
        ([LINEAR, {"do": "module.collect_devices", "on": "m", "devices": "d0"}], "must be a list"),
        ([LINEAR, {"do": "module.to_device", "on": "m", "device": "x0"}], "'x0' names no device"),
        ([LINEAR, {"do": "module.to_device", "on": "m", "device": "d999"}], "'d999' names no device"),
        ([LINEAR, {"observe": "nothing", "on": "m"}], "`nothing` is no observation"),
        ([TENSOR, {"observe": "debug", "on": "x"}], "has no debug text"),
        ([LINEAR, {"do": "param.val", "on": "m", "path": "w"}], "no parameter at 'w'"),
        ([LINEAR, {"do": "param.train", "on": "m", "path": "w"}], "no parameter at 'w'"),
        ([LINEAR, {"do": "param.nothing", "on": "m", "path": "weight"}], "is no step of a parameter"),
        (
            [
                LINEAR,
                TENSOR,
                {"do": "param.replace", "on": "m", "path": "bias", "how": "magic", "tensor": "x"},
            ],
            "'magic' is no constructor",
        ),
        ([LINEAR, {"do": "running.value", "on": "m", "path": "weight"}], "no running state at 'weight'"),
        ([LINEAR, {"do": "running.value", "on": "m", "path": "weight.deeper"}], "no running state"),
        ([RUNNING, {"do": "running.nothing", "on": "m", "path": "mean"}], "is no step"),
        (
            [
                RUNNING,
                {"do": "tensor.create", "kind": "int", "device": "d0", "as": "x"},
                {"do": "running.update", "on": "m", "path": "mean", "tensor": "x"},
            ],
            "takes float tensors",
        ),
        ([TENSOR, {"do": "tensor.op", "on": "x", "op": "nothing"}], "is no tensor operation"),
        ([TENSOR, {"do": "tensor.op", "on": "x", "op": "add"}], "lacks an operand"),
        ([{"do": "tensor.nothing"}], "`tensor.nothing` is no step"),
        ([TENSOR | {"kind": "text"}], "'text' is no kind of tensor"),
        ([TENSOR | {"dtype": "f8"}], "'f8' names no dtype"),
        ([TENSOR | {"dtype": {"QFloat": {"value": "Q9"}}}], "is no quantised dtype"),
        ([TENSOR | {"values": [1], "shape": [2]}], "1 values do not fill the shape [2]"),
        ([TENSOR | {"values": ["many"]}], "'many' must be a number"),
        ([TENSOR | {"values": [[1]]}], "must be a number"),
        ([TENSOR | {"shape": [-1]}], "must be an unsigned integer"),
        ([TENSOR | {"shape": ["one"]}], "must be an integer"),
        ([TENSOR | {"shape": [1.5]}], "must be an integer"),
        ([{"do": "device.ops", "on": "d0", "ops": ["leap"]}], "nothing that a device does"),
        ([{"do": "device.nothing"}], "is no step"),
        ([{"do": "param_id.nothing"}], "is no step"),
        ([{"do": "param_id.format", "id": 1 << 64}], "is no parameter id"),
        ([{"do": "group.nothing"}], "is no step"),
        ([BYTES, {"do": "bytes.edit", "on": "b", "edits": [["put", 1, "0000"]]}], "past the end"),
        ([BYTES, {"do": "bytes.edit", "on": "b", "edits": [["repeat", 1, 9, 2]]}], "past the end"),
        ([BYTES, {"do": "bytes.edit", "on": "b", "edits": [["paint"]]}], "is no edit"),
        ([{"do": "bytes.nothing"}], "is no step"),
        (
            [PACK, {"do": "pack.open", "bytes": "b", "as": "p"}, {"do": "pack.nothing", "on": "p"}],
            "is no step",
        ),
        ([PACK | {"do": "pack.write_nothing"}], "is no step"),
        ([PACK | {"scalars": {"s": {"Text": "a"}}}], "is no scalar"),
        ([PACK | {"scalars": {"s": 1}}], "1 is no scalar"),
        (
            [
                PACK,
                {"do": "pack.open", "bytes": "b", "as": "p"},
                {"do": "pack.scalar", "on": "p", "name": "q", "type": "f64"},
            ],
            "no scalar 'q'",
        ),
        (
            [
                PACK,
                {"do": "pack.open", "bytes": "b", "as": "p"},
                {"do": "pack.scalar", "on": "p", "name": "s", "type": "u7"},
            ],
            "'u7' is no type",
        ),
        ([{"do": "file.nothing", "file": "f"}], "is no step"),
        ([{"do": "record.nothing"}], "is no step"),
        (
            [
                LINEAR,
                {"do": "module.record", "on": "m", "as": "r"},
                {"do": "record.read", "on": "r", "path": "w"},
            ],
            "no entry 'w'",
        ),
        (
            [
                LINEAR,
                {"do": "module.record", "on": "m", "as": "r"},
                {"do": "record.options", "on": "r", "dtype_policy": "Best"},
            ],
            "'Best' is no dtype policy",
        ),
        ([{"do": "placement.nothing"}], "is no step"),
        (
            [
                {
                    "do": "placement.by_memory",
                    "devices": ["d0"],
                    "capacities": [],
                    "input": 0,
                    "hidden": [],
                    "output": {"WithInput": 0},
                }
            ],
            "differ in length",
        ),
        (
            [
                {
                    "do": "placement.by_memory",
                    "devices": [],
                    "capacities": [],
                    "input": 0,
                    "hidden": [],
                    "output": {"Behind": 0},
                }
            ],
            "`output` is",
        ),
        (
            [
                {"do": "placement.even", "devices": ["d0"], "hidden": 0, "as": "p"},
                LINEAR,
                {"do": "distributed.new", "model": "m", "placement": "p", "as": "d"},
            ],
            "no layered model",
        ),
        ([LINEAR, {"do": "distributed.forward", "on": "m", "input": "x"}], "no distributed model"),
        ([zoo("nothing")], "no fixture 'zoo/nothing'"),
        ([zoo("pick", variant="Five")], "no variant 'Five'"),
        ([zoo("generic", of="all")], "knows no 'all'"),
        (
            [
                {"do": "placement.even", "devices": ["d0"], "hidden": 0, "as": "p"},
                zoo("layered", placement="p", order="random"),
            ],
            "'random' is no order",
        ),
        (
            [zoo("custom", content=[["paint"]]), {"observe": "display", "on": "m"}],
            "no call on a display content",
        ),
        ([tree({"house": 1})], "'house' is no node"),
        ([tree({"vec": [], "tuple": []})], "is no node"),
        ([tree({"tuple": []})], "2 to 10 nodes"),
        ([tree({"array": [{"none": True}] * 5})], "at most 4 nodes"),
        ([tree({"same": "k"})], "no parameter before has the label 'k'"),
        ([tree({"float": {"how": "magic"}})], "'magic' is no way to make a parameter"),
        ([tree({"const": {"text": "a"}})], "'text' is no constant"),
        (
            [
                tree({"float": {"shape": [2]}}),
                {"do": "param.map", "on": "m", "path": "", "expr": [["paint"]]},
            ],
            "is no expression",
        ),
    ],
)
def test_a_bad_step_is_a_fault_of_the_case(steps: list[dict[str, Any]], text: str) -> None:
    outcome = last(*steps)

    assert outcome["error"]["kind"] == "Protocol"
    assert text in outcome["error"]["text"]


def test_what_rust_cannot_write_is_a_fault_of_the_case() -> None:
    outcome = last(LINEAR, {"do": "param.with_value", "on": "m", "path": "weight", "value": True})

    assert outcome["error"]["kind"] == "Protocol"
    assert outcome["error"]["text"].startswith("ArgumentTypeError: ")


def test_a_step_that_fails_leaves_nothing_of_what_it_took() -> None:
    outcome = last(
        zoo("net"), {"do": "module.try_load_file", "on": "m", "file": "none"}, {"observe": "state", "on": "m"}
    )

    assert outcome["error"]["text"] == "no ModuleTrait is called 'm'"


def test_the_display_of_a_tuple_struct_is_not_supported() -> None:
    outcome = last(zoo("tuple_struct"), {"observe": "display", "on": "m"})

    assert outcome["unsupported"]["capability"] == "tuple_struct"


def test_a_distributed_model_has_no_display() -> None:
    outcome = last(
        {"do": "placement.even", "devices": ["d0"], "hidden": 1, "as": "p"},
        zoo("layered", placement="p"),
        {"do": "distributed.new", "model": "m", "placement": "p", "as": "d"},
        {"observe": "display", "on": "d"},
    )

    assert outcome["error"]["text"] == "the module has no display"


def test_what_the_file_system_refuses_is_an_io_error() -> None:
    assert last({"do": "file.remove", "file": "none"})["error"]["kind"] == "Io"


def test_a_fault_of_the_reference_itself_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("refimpl.conformance.reference.subject.observe", broken)

    with pytest.raises(RuntimeError, match="broken"):
        last({"observe": "log"})
