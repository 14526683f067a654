"""Every hostile file, every truncation and bit flip of three small ones, and thousands of mutations."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.burnpack.verify import verify
from refimpl.cli.main import main
from refimpl.conformance.process import ProcessSubject
from tests.burnpack.containers import contents, descriptor, golden, pack
from tests.fuzz import __main__ as runner
from tests.fuzz import targets
from tests.fuzz.against_burn import adapter, compared, steps
from tests.fuzz.corpus import HOSTILE, hostile, seeds
from tests.fuzz.mutation import container, heads, mutated

FILES = hostile()
WRITTEN = golden("burnpack.json.gz")
SMALL = ("raw_metadata_scalars", "raw_rank0", "quant_E2M1_PackedU320_two16_F16")
CODES = {"sound": 0, "odd": 1, "broken": 2}


def test_every_file_of_the_corpus_has_its_line_of_why() -> None:
    assert sorted(FILES) == sorted(path.name for path in HOSTILE.glob("*.bpk"))
    assert all(file.why for file in FILES.values())


@pytest.mark.clause("BPK-18", "BPK-19", "BPK-20")
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_does_no_harm_and_gets_its_verdict(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = FILES[name]
    targets.everything(file.data, tmp_path)

    assert verify(file.data).word == file.verdict
    for options in ([], ["--json"]):
        assert main(["verify", *options, str(HOSTILE / name)]) == CODES[file.verdict]
        assert main(["inspect", *options, str(HOSTILE / name)]) in (0, 2)
        said = capsys.readouterr()
        assert all(c.isprintable() or c == "\n" for c in said.out + said.err)


def test_burn_does_with_each_hostile_file_what_its_line_says(tmp_path: Path) -> None:
    program = adapter()
    if program is None:
        pytest.skip("real Burn is not built here: `refimpl conform --subject burn` builds it with cargo")
    subject = ProcessSubject([str(program)], str(tmp_path))
    said = {}
    for name, file in FILES.items():
        asked = [*steps(file.data)[:2], {"do": "record.from_bytes", "bytes": "b", "as": "r"}]
        opened, recorded = (msgspec.to_builtins(outcome) for outcome in subject.case(name, asked, 1)[1:])
        if "ok" not in opened:
            said[name] = "refuses"
        else:
            said[name] = "accepts" if "ok" in recorded else "opens, panics in a record"
    subject.close()

    assert said == {name: file.burn for name, file in FILES.items()}


_Q4 = {"value": "Q4S", "store": {"PackedU32": 0}, "mode": "Symmetric", "tensor": "F32", "block": None}


@pytest.mark.clause("BPK-6")
@pytest.mark.parametrize("dtype", ["U8", {"Bool": "Native"}, {"QFloat": _Q4}])
@pytest.mark.parametrize("shape", [[1] * 64, [1] * 65, [0, 2**63], [2**64 - 1, 0], [0] + [2**40] * 3])
def test_a_shape_that_no_array_has_is_an_error_of_ours(dtype: object, shape: list[int]) -> None:
    size = 0 if 0 in shape else 1
    if isinstance(dtype, dict) and "QFloat" in dtype:
        size = 4 * size + 4

    targets.everything(pack({"tensors": {"w": descriptor(dtype, shape, [0, size])}}, bytes(size)))


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_holds_every_law(name: str) -> None:
    data = contents(WRITTEN[name])
    for length in range(len(data)):
        targets.everything(data[:length])


@pytest.mark.parametrize("name", SMALL)
def test_every_bit_flip_of_header_and_metadata_holds_every_law(name: str) -> None:
    data = contents(WRITTEN[name])
    for bit in range(8 * min(10 + int.from_bytes(data[6:10], "little") + 8, len(data))):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        targets.everything(bytes(flipped))


@pytest.mark.parametrize("target", ["F1", "F2", "F3"])
def test_random_mutations_hold_every_law(target: str, tmp_path: Path) -> None:
    told = runner.plain(target, seconds=20, runs=6_000, seed=20, out=tmp_path)

    assert told["finds"] == {}
    assert told["executions"]


@given(st.binary(max_size=200))
def test_any_metadata_holds_every_law(data: bytes) -> None:
    targets.everything(container(data, bytes(16)))


def test_burn_reads_mutated_containers_as_we_do() -> None:
    program = adapter()
    if program is None:
        pytest.skip("real Burn is not built here: `refimpl conform --subject burn` builds it with cargo")
    rng, every = random.Random(11), seeds()
    with tempfile.TemporaryDirectory() as scratch:
        subject = ProcessSubject([str(program)], scratch)
        different = compared(
            subject, [mutated(rng.choice(every), rng, rng.choice(every)) for _ in range(300)]
        )
        subject.close()

    assert different == []


def test_a_find_is_kept_and_the_search_goes_on(tmp_path: Path) -> None:
    def law(data: bytes) -> bool:
        assert len(data) < 3, "too long"
        return True

    keeper = runner.Keeper(law, "F1", tmp_path)
    for data in (b"ab", b"abc", b"abcd"):
        keeper(data)

    assert (keeper.executions, keeper.accepted, len(keeper.kinds)) == (3, 1, 1)
    assert [path.read_bytes() for path in tmp_path.glob("*.bin")] == [b"abc"]


def test_the_mutator_sees_the_items_of_cbor_and_keeps_the_header_right() -> None:
    assert heads(bytes.fromhex("a161771903e8")) == [(0, 1), (1, 3), (3, 6)]
    rng = random.Random(0)
    good = contents(WRITTEN["raw_rank0"])
    made = [mutated(good, rng, good) for _ in range(300)]
    sized = [m for m in made if m[:6] == b"NRUB\1\0" and 10 + int.from_bytes(m[6:10], "little") <= len(m)]
    assert len(sized) > 250
    assert len(set(made)) > 250
