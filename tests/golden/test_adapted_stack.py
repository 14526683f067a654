"""LoRA on models that are split across devices, and in the text of a module: what real Burn answered."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import refimpl as rf
from refimpl.tensor.random import Normal
from tests.burnpack.containers import contents, golden
from tests.parallel.distributed_stack import RECORDED, device, dump, model, ours, taken_events
from tests.parallel.test_model import PLACEMENTS, TAGGED

from .recorded import BurnsNormals, float_param, load
from .test_traversal import CPU, tiny

TWO = [op for op in RECORDED["two_executing"]["ops"] if "lora" in op["op"]]
ONE = next(op for op in RECORDED["one_executing"]["ops"] if "lora" in op["op"])


def relabelled(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A dump with its random ids numbered from 0."""
    seen: dict[str, str] = {}
    return [
        entry | {"id": seen.setdefault(entry["id"], f"new#{len(seen)}")}
        if len(entry["id"]) > 4  # random, or `new#12`
        else entry
        for entry in entries
    ]


class Drawn:
    """Stands in for `Tensor.random`: gives the first factors that are recorded, in traversal order.

    They come from generators that NumPy has not. Rank 1 draws with a deviation of 1, so they are the draws.
    """

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        factors = [entry["value"]["hex"] for entry in entries if entry["path"].endswith(".lora.a")]
        self.values: Iterator[np.float32] = iter(np.frombuffer(bytes.fromhex("".join(factors)), "<f4"))

    def random(self, shape: tuple[int, ...], distribution: Normal, where: rf.Device) -> rf.Tensor:
        assert distribution == rf.Distribution.normal(0.0, 1.0)
        drawn = np.array([next(self.values) for _ in range(math.prod(shape))], np.float32)
        return rf.Tensor.from_data(drawn.reshape(shape), where)


def adapted(recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch, lazy: bool, placement: Any) -> Any:
    drawn = Drawn(recorded["dump"])
    monkeypatch.setattr(rf.Tensor, "random", drawn.random)
    made = model(placement, lazy=lazy).apply_lora(rf.Lora(1, 2.0))
    assert list(drawn.values) == []
    return made


@pytest.mark.clause("LRA-2", "LRA-3", "LRA-6", "DLM-7", "MOD-42")
@pytest.mark.parametrize("recorded", [ONE, *TWO], ids=lambda op: op["op"])
def test_a_split_model_is_adapted_where_its_weights_are(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = recorded["op"].startswith("lazy")
    placement = TAGGED if recorded is ONE else PLACEMENTS[recorded["op"].split(".")[1]]
    taken_events()

    made = adapted(recorded, monkeypatch, lazy, placement)

    assert taken_events() == ours(recorded["events"])
    assert [str(where) for where in made.devices()] == [str(device(n)) for n in recorded["module_devices"]]
    assert made.num_params() == recorded["num_params"]
    assert made.placement() == placement
    assert relabelled(dump(made)) == relabelled(ours(recorded["dump"]))


@pytest.mark.clause("REP-21", "DSP-15")
def test_the_text_of_an_adapted_module_shows_its_bases_and_counts_the_factors() -> None:
    text = load("records.json.gz")["misc"]["display"]["lora"]

    assert str(tiny(10, CPU).apply_lora(rf.Lora(2, 4.0))) == text


class Linear(rf.Module):
    weight: rf.Param[rf.Tensor]
    bias: rf.Param[rf.Tensor]


class FixedIds(rf.ModuleMapper):
    """Gives random ids the numbers 101, 102, ... in the order of traversal, as the recording program did."""

    def __init__(self) -> None:
        self.last = 100

    def map_float(self, param: rf.Param[rf.Tensor]) -> rf.Param[rf.Tensor]:
        if int(param.id) < 2**32:
            return param
        self.last += 1
        return param.with_id(rf.ParamId.from_int(self.last))


@pytest.mark.clause("LRA-3", "LRA-6", "REP-17")
def test_an_adapted_module_is_saved_as_the_file_that_burn_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    normals = BurnsNormals()
    normals.seed(5)
    monkeypatch.setattr(rf.Tensor, "random", normals.random)
    module = Linear(
        weight=float_param(1, [float(i) for i in range(12)], (4, 3), rf.DType.F32, CPU),
        bias=float_param(2, [1.0, 2.0, 3.0], (3,), rf.DType.F32, CPU),
    )
    original = contents(golden("burnpack.json.gz")["lora"])
    adapted = module.apply_lora(rf.Lora(2, 4.0)).map(FixedIds())

    assert bytes(adapted.into_record().into_bytes()) == original
    loaded = module.apply_lora(rf.Lora(2, 4.0)).load_record(rf.ModuleRecord.from_bytes(original))
    assert bytes(loaded.into_record().into_bytes()) == original


def test_the_recorded_situations_are_all_there() -> None:
    assert len(TWO) == 6
