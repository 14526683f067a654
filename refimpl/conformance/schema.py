"""The JSON Schemas in `spec/schema/`: `python -m refimpl.conformance.schema` writes them anew."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from .case import Case
from .clauses import spec_folder
from .outcome import Error, Missing, Panic
from .protocol import Greeting

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


def schemas() -> dict[str, dict[str, Any]]:
    """Each schema by the name of its file."""
    return {"case.json": _case(), "protocol.json": _protocol()}


def _case() -> dict[str, Any]:
    (whole,), defs = msgspec.json.schema_components([Case], ref_template=_REF)
    outcome = defs["Outcome"]
    outcome["oneOf"] = [{"required": [form]} for form in outcome["properties"]]
    outcome["additionalProperties"] = False
    return {"$schema": _DIALECT, "title": "A case of the conformance kit", **whole, "$defs": defs}


def _protocol() -> dict[str, Any]:
    _, defs = msgspec.json.schema_components([Greeting, Error, Panic, Missing], ref_template=_REF)
    number = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
    text = {"type": "string"}

    def message(**fields: Any) -> dict[str, Any]:
        return {"type": "object", "properties": fields, "required": list(fields)}

    def request(op: str, **fields: Any) -> dict[str, Any]:
        return message(id=number, op={"const": op}, **fields)

    def answer(content: dict[str, Any]) -> dict[str, Any]:
        return message(id=number, ok=content)

    def form(name: str, value: dict[str, Any]) -> dict[str, Any]:
        return message(**{name: value}) | {"additionalProperties": False}

    ref = {name: {"$ref": f"#/$defs/{name}"} for name in ("Greeting", "Error", "Panic", "Missing", "outcome")}
    defs["outcome"] = {
        "oneOf": [
            form("ok", {}),
            form("error", ref["Error"]),
            form("panic", ref["Panic"]),
            form("unsupported", ref["Missing"]),
        ]
    }
    hello = request(
        "hello", protocol={"type": "array", "items": number}, suite=text, profile=text, scratch=text
    )
    formats = {"format": {"enum": ["burnpack", "safetensors"]}}
    steps = {"type": "array", "items": {"type": "object", "properties": formats}}
    defs["request"] = {
        "oneOf": [
            hello,
            request("case", case=text, steps=steps),
            *(request(op) for op in ("reset", "ping", "bye")),
        ]
    }
    outcomes = message(steps={"type": "array", "items": ref["outcome"]})
    error = message(kind={"const": "Protocol"}, text=text)
    defs["answer"] = {
        "anyOf": [
            answer(ref["Greeting"]),
            answer(outcomes),
            answer({"type": "object"}),
            message(id={"anyOf": [number, {"type": "null"}]}, error=error),
        ]
    }
    lines = {"anyOf": [{"$ref": "#/$defs/request"}, {"$ref": "#/$defs/answer"}]}
    return {"$schema": _DIALECT, "title": "One line of protocol 1", **lines, "$defs": defs}


def main() -> None:
    """Write every schema."""
    folder = spec_folder() / "schema"
    folder.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
