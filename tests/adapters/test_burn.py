"""Files go both ways between this project and the real crate. Skipped where its adapter is not built."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import burnpack_bytes, open_burnpack
from refimpl.conformance.process import ProcessSubject
from refimpl.conformance.reference import ReferenceSubject

NAME = "burn-adapter"
CRATE = Path(__file__).parent / "burn"
#: By kind of parameter, what a tensor of the crate's Flex backend can be.
LOADED = {
    "float": ("f64", "f32", "f16", "bf16"),
    "int": ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"),
    "bool": ("bool",),
}
STORED = (*LOADED["float"], *LOADED["int"], "flex32", "bool", "bool_u8", "bool_u32")


@pytest.fixture(scope="module")
def burn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessSubject]:
    target = Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target"))
    program = target / "release" / NAME
    if not program.is_file():
        pytest.skip("real Burn is not built here: `refimpl conform --subject burn` builds it with cargo")
    subject = ProcessSubject([str(program)], str(tmp_path_factory.mktemp("scratch")))
    yield subject
    subject.close()


def ask(burn: ProcessSubject, *steps: dict[str, Any]) -> list[Any]:
    return [outcome.ok for outcome in burn.case("files", steps, 1)]


def entries(dtypes: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"name": f"w.{i}", "dtype": d, "shape": [2, 3], "id": i + 1} for i, d in enumerate(dtypes)]


def ours(*steps: dict[str, Any]) -> list[Any]:
    return [outcome["ok"] for outcome in ReferenceSubject().case("files", steps)]


PACK: dict[str, Any] = {
    "do": "pack.write",
    "entries": [*entries(STORED), {"name": "none", "shape": [0, 3]}, {"name": "one", "shape": []}],
    "metadata": {"made by": "tests", "é": ""},
    "scalars": {"step": {"UInt": 12}, "rate": {"Float": 0.1}, "delta": {"Int": -3}, "done": {"Bool": True}},
    "as": "b",
}


@pytest.mark.clause("BPK-1", "BPK-4", "BPK-7", "BPK-10", "BPK-15")
def test_both_write_the_same_bytes_for_every_dtype(burn: ProcessSubject) -> None:
    assert ask(burn, PACK)[0] == ours(PACK)[0]


@pytest.mark.clause("BPK-23", "BPK-24")
@pytest.mark.parametrize("half", [0, 1])
def test_burn_reads_in_our_file_what_we_read(burn: ProcessSubject, half: int) -> None:
    written = bytes.fromhex(ours(PACK | {"entries": PACK["entries"][half::2]})[0]["hex"])
    taken = {"do": "bytes.make", "base64": base64.b64encode(written).decode(), "as": "b"}
    steps = (
        taken,
        {"do": "file.write", "file": "ours.bpk", "bytes": "b"},
        {"do": "pack.open", "file": "ours", "as": "p"},
        {"do": "pack.entries", "on": "p"},
    )

    assert ask(burn, *steps)[-1] == ours(*steps)[-1]


@pytest.mark.clause("REC-13", "REC-22")
@pytest.mark.parametrize("kind", LOADED)
def test_burn_loads_our_file_into_a_module(burn: ProcessSubject, kind: str) -> None:
    written = ours({"do": "pack.write", "entries": entries(LOADED[kind]), "as": "b"})[0]
    params = [{kind: {"dtype": dtype, "shape": [2, 3], "seed": 99}} for dtype in LOADED[kind]]
    tree = {"struct": "Module", "fields": [["w", {"vec": params}]]}
    steps = (
        {"do": "bytes.make", "hex": written["hex"], "as": "b"},
        {"do": "file.write", "file": "ours.bpk", "bytes": "b"},
        {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree}, "as": "m"},
        {"do": "module.load_file", "on": "m", "file": "ours.bpk"},
        {"observe": "state", "on": "m"},
    )
    state = ask(burn, *steps)[-1]
    pack = open_burnpack(bytes.fromhex(written["hex"]))

    assert [p["value"]["hex"] for p in state] == [bytes(pack[p["path"]].data.bytes).hex() for p in state]
    assert [p["id"] for p in state] == [str(pack[p["path"]].param_id) for p in state]
    assert state == ours(*steps)[-1]


@pytest.mark.clause("REC-10")
def test_we_load_the_file_that_burn_saves(burn: ProcessSubject) -> None:
    saved = ask(
        burn,
        {"do": "module.build", "fixture": "zoo/net", "args": {}, "as": "m"},
        {"observe": "state", "on": "m"},
        {"do": "module.save_file", "on": "m", "file": "burn"},
        {"do": "file.read", "file": "burn.bpk", "as": "b"},
    )
    loaded = ours(
        {"do": "bytes.make", "hex": saved[-1]["hex"], "as": "b"},
        {"do": "file.write", "file": "burn.bpk", "bytes": "b"},
        {"do": "module.build", "fixture": "zoo/net", "args": {"base": 50}, "as": "m"},
        {"do": "module.load_file", "on": "m", "file": "burn"},
        {"observe": "state", "on": "m"},
    )

    told = [(p["path"], p["id"], p["value"]) for p in saved[1] if p["kind"] != "flag"]
    assert [(p["path"], p["id"], p["value"]) for p in loaded[-1] if p["kind"] != "flag"] == told


def test_an_empty_container_is_the_same(burn: ProcessSubject) -> None:
    empty = {"do": "pack.write", "entries": [], "as": "b"}

    assert ask(burn, empty)[0]["hex"] == burnpack_bytes([]).hex()
