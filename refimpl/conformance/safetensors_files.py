"""Modules whose values a request gives, written to a safetensors file and read into other modules.

Such a file holds names, dtypes, shapes and bytes: no ids, no flags and nothing of devices. What a reader has
to say of it stands in the request that built the module, whoever wrote the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .case import Step

CAPABILITY = "safetensors"


def _given(kind: str, dtype: str, shape: list[int], values: str) -> Step:
    return {kind: {"dtype": dtype, "shape": shape, "hex": values}}


def _struct(**fields: Step) -> Step:
    return {"struct": "Model", "fields": [[name, node] for name, node in fields.items()]}


#: By dtype 1, minus zero, infinity, a NaN with a payload, the least subnormal number and the greatest number.
_FLOATS = {
    "f64": "000000000000f03f0000000000000080000000000000f07f010000000000f87f0100000000000000ffffffffffffef7f",
    "f32": "0000803f000000800000807f0100c07f01000000ffff7f7f",
    "f16": "003c0080007c017e0100ff7b",
    "bf16": "803f0080807fc17f01007f7f",
}
#: By dtype the least and the greatest number, and 1.
_INTEGERS = {
    "i64": "0000000000000080ffffffffffffff7f0100000000000000",
    "i32": "00000080ffffff7f01000000",
    "i16": "0080ff7f0100",
    "i8": "807f01",
    "u64": "0000000000000000ffffffffffffffff0100000000000000",
    "u32": "00000000ffffffff01000000",
    "u8": "00ff01",
}
_LINEAR = _struct(
    weight=_given("float", "f32", [2, 1], "0000803f00000040"), bias=_given("float", "f32", [1], "00004040")
)
#: The fields of a struct stand in no order of names, so that a reader that goes by place is seen.
TREES: Mapping[str, Step] = {
    "floats": _struct(**{name: _given("float", name, [2, 3], values) for name, values in _FLOATS.items()}),
    "integers": _struct(**{name: _given("int", name, [3], values) for name, values in _INTEGERS.items()}),
    "bools": _struct(mask=_given("bool", "bool", [2, 2], "01000001")),
    "shapes": _struct(
        one=_given("float", "f32", [1], "00000041"),
        empty=_given("float", "f32", [0, 3], ""),
        deep=_given("float", "f32", [1, 2, 1, 1], "0000a0400000c040"),
    ),
    "nested": _struct(
        z=_given("float", "f32", [1], "0000e040"),
        layers={"vec": [_LINEAR, _struct(inner=_LINEAR, gone={"none": True})]},
        a={"tuple": [_given("int", "i64", [1], "0700000000000000"), {"some": _LINEAR}]},
    ),
    "names": _struct(
        _=_given("float", "f32", [1], "00001041"),
        é=_given("float", "f32", [1], "00002041"),
        weight_orig0=_given("float", "f32", [1], "00003041"),
    ),
}


def writing(name: str) -> tuple[Step, ...]:
    """The steps that end with the bytes of the file; the second of them tells the state."""
    return (
        _built(TREES[name]),
        {"observe": "state", "on": "m"},
        {"do": "module.save_file", "on": "m", "file": "m.safetensors", "format": "safetensors"},
        {"do": "file.read", "file": "m.safetensors", "as": "b"},
    )


def reading(name: str, written: str) -> tuple[Step, ...]:
    """The steps that load a file into a module with other values and end with its state.

    Args:
        name: Which of `TREES`.
        written: The bytes of the file as hexadecimal digits.
    """
    return (
        {"do": "bytes.make", "hex": written, "as": "b"},
        {"do": "file.write", "file": "m.safetensors", "bytes": "b"},
        _built(_emptied(TREES[name])),
        {"do": "module.load_file", "on": "m", "file": "m.safetensors", "format": "safetensors"},
        {"observe": "state", "on": "m"},
    )


def given(name: str) -> list[Step]:
    """What the request says of each parameter, in the order of the paths."""
    return sorted(_parameters(TREES[name], ""), key=_path)


def told(state: list[Step]) -> list[Step]:
    """The same of a state that was observed; in which order modules are walked is for the cases to ask."""
    return sorted(({key: one[key] for key in ("path", "kind", "value")} for one in state), key=_path)


def _path(one: Step) -> str:
    return str(one["path"])


def _built(tree: Step) -> Step:
    args = {"tree": tree, "device": "d0+autodiff"}
    return {"do": "module.build", "fixture": "dynamic/1", "args": args, "as": "m"}


def _emptied(node: Any) -> Any:
    """The tree without its values: the formula of the protocol makes others."""
    if isinstance(node, dict):
        return {key: _emptied(part) for key, part in node.items() if key != "hex"}
    return [_emptied(part) for part in node] if isinstance(node, list) else node


def _parameters(node: Step, path: str) -> Iterator[Step]:
    ((key, inner), *_) = node.items()
    match key:
        case "struct":
            for name, field in node["fields"]:
                yield from _parameters(field, f"{path}.{name}")
        case "vec" | "tuple":
            for index, part in enumerate(inner):
                yield from _parameters(part, f"{path}.{index}")
        case "some":
            yield from _parameters(inner, path)
        case "float" | "int" | "bool":
            yield {"path": path.removeprefix("."), "kind": key, "value": inner}
