"""The crate burn-store as reader and writer of record files. Skipped where its adapter is not built."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import safetensors

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.exchange import MODULES, exchange
from refimpl.conformance.expectations import read_expectations
from refimpl.conformance.process import ProcessSubject
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import run
from refimpl.conformance.safetensors_files import TREES, given, reading, told, writing
from refimpl.conformance.subject import open_subject
from tests.adapters.by_hand import DTYPES, file_of

NAME = "burn-store-adapter"
CRATE = Path(__file__).parent / "burn-store"


@pytest.fixture(scope="module")
def burn_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessSubject]:
    program = Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target")) / "release" / NAME
    if not program.is_file():
        pytest.skip("burn-store is not built here: `make matrix` builds it with cargo")
    subject = ProcessSubject([str(program)], str(tmp_path_factory.mktemp("scratch")))
    yield subject
    subject.close()


@pytest.mark.clause("REC-10", "REC-13", "BPK-1")
def test_each_reads_every_file_that_the_other_writes(burn_store: ProcessSubject) -> None:
    with open_subject("refimpl") as reference:
        told = list(exchange({"refimpl": reference, "burn_store": burn_store}))

    files = [one for one in told if one.format == "burnpack"]
    assert [one for one in files if one.verdict != "pass"] == []
    assert len(files) == 4 * (len(MODULES) + 1)


@pytest.mark.parametrize("name", TREES)
def test_a_safetensors_file_of_its_holds_what_the_request_says(burn_store: ProcessSubject, name: str) -> None:
    written = bytes.fromhex(burn_store.case("files", writing(name), 1)[-1].ok["hex"])
    held = {
        path: {"dtype": DTYPES[one["dtype"]], "shape": one["shape"], "hex": bytes(one["data"]).hex()}
        for path, one in safetensors.deserialize(written)
    }

    assert held == {one["path"]: one["value"] for one in given(name)}


@pytest.mark.parametrize("name", TREES)
def test_it_loads_a_safetensors_file_of_others(burn_store: ProcessSubject, name: str) -> None:
    outcomes = burn_store.case("files", reading(name, file_of(given(name)).hex()), 1)

    assert told(outcomes[-1].ok) == given(name)


def test_every_difference_is_explained(burn_store: ProcessSubject) -> None:
    version = burn_store.greeting.impl.version
    known = read_expectations(spec_folder() / "expectations" / "burn_store.toml", version)
    cases = [
        case
        for case in load_cases(None)
        if case.expect and case.chapter in ("bpk", "rec", "par", "mod", "flg")
    ]
    seen: list[Event] = list(known.judge(run(burn_store, cases, known.skip)))
    verdicts = Counter(event.verdict for event in seen if isinstance(event, Result))

    assert set(verdicts) == {"pass", "xfail", "unsupported"}
    assert verdicts["pass"] > 1000
