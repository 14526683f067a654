"""Relations that hold of any implementation: a subject is compared with itself, and no oracle is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import msgspec

from ..case import Match, Step
from ..matcher import Difference, compare
from ..outcome import Outcome
from ..tree import draw_tree
from .comparison import Disagreement, Trace, stops

_PLAIN = Match()


class Relation(msgspec.Struct, frozen=True):
    """A question, and what must hold between the outcomes of its steps."""

    name: str
    clauses: tuple[str, ...]
    draw: Callable[[Random], tuple[Step, ...]]
    check: Callable[[Sequence[Outcome]], Difference | None]

    def trace(self, rng: Random) -> Trace:
        """One instance."""
        return Trace(self.draw(rng), self.clauses)

    def judge(self, outcomes: Sequence[Outcome]) -> Disagreement | None:
        """Whether it holds; a trace in which a step is not supported, or cannot be taken, says nothing."""
        if any(map(stops, outcomes)):
            return None
        found = self.check(outcomes)
        return None if found is None else Disagreement(f"relation: {self.name}", difference=found)


def _build(rng: Random, *, records: bool = False, nodes: int = 6) -> Step:
    tree = draw_tree(rng, nodes=rng.randint(2, nodes), leaves=1, records=records).root
    device = rng.choice(("d0", "d0+autodiff"))
    return {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree, "device": device}, "as": "m"}


def _restored(rng: Random) -> tuple[Step, ...]:
    build = _build(rng, records=True)
    while "'running'" in str(build):  # a running state keeps its own id (PAR-80)
        build = _build(rng, records=True)
    again = {**build, "args": {**build["args"], "base": 100}, "as": "t"}
    return (
        build,
        {"do": "module.clone", "on": "m", "as": "c"},
        {"do": "module.record", "on": "c", "as": "r"},
        {"do": "record.into_bytes", "on": "r", "as": "b"},
        {"do": "record.from_bytes", "bytes": "b", "as": "s"},
        again,
        {"do": "module.load_record", "on": "t", "record": "s"},
        {"do": "module.record", "on": "t", "as": "u"},
        {"observe": "record", "on": "r"},
        {"observe": "record", "on": "u"},
    )


def _unmapped(rng: Random) -> tuple[Step, ...]:
    build = _build(rng)
    look = {"observe": "state", "on": "m"}
    return (build, look, {"do": "module.map_identity", "on": "m"}, look)


def _visited(rng: Random) -> tuple[Step, ...]:
    build = _build(rng)
    return (
        build,
        {"observe": "events", "on": "m"},
        {"do": "module.record", "on": "m", "as": "r"},
        {"observe": "record", "on": "r"},
    )


def _forked(rng: Random) -> tuple[Step, ...]:
    build = _build(rng)
    return (
        build,
        {"do": "module.fork", "on": "m", "device": rng.choice(("d0", "d1", "d2+autodiff"))},
        {"do": "module.devices", "on": "m"},
    )


def _divided(rng: Random) -> tuple[Step, ...]:
    count, layers = rng.randint(1, 5), rng.randint(0, 12)
    used = max(1, min(count, layers))
    shares = [layers // used + (index < layers % used) for index in range(used)]
    devices = [f"d{index}" for index in range(count)]
    return (
        {"do": "placement.even", "devices": devices, "hidden": layers, "as": "p"},
        {
            "do": "placement.new",
            "stages": [list(stage) for stage in zip(devices[:used], shares, strict=True)],
            "as": "q",
        },
    )


def _shared_out(rng: Random) -> tuple[Step, ...]:
    hidden = [f"d{rng.randint(0, 2)}" for _ in range(rng.randint(0, 4))]
    steps: list[Step] = []
    for name, devices in (("k", hidden), ("one", ["d0"] * len(hidden))):
        steps += [
            {"do": "placement.make", "input": "d0", "hidden": devices, "output": "d0", "as": f"p_{name}"},
            {"do": "module.build", "fixture": "zoo/layered", "args": {"placement": f"p_{name}"}, "as": "m"},
            {"do": "distributed.new", "model": "m", "placement": f"p_{name}", "as": name},
            {"do": "tensor.create", "kind": "float", "shape": [1, 2], "device": "d0", "as": "x"},
            {"do": "distributed.forward", "on": name, "input": "x"},
        ]
    return tuple(steps)


def _adapted(rng: Random) -> tuple[Step, ...]:
    rows, columns, rank = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3)
    tree = {"struct": "Net", "fields": [["w", {"float": {"id": 1, "shape": [rows, columns]}}]]}
    look = {"do": "param.val", "on": "m", "path": "w"}
    return (
        {"do": "module.build", "fixture": "dynamic/1", "args": {"tree": tree, "device": "d0"}, "as": "m"},
        look,
        {"do": "module.apply_lora", "on": "m", "rank": rank, "alpha": float(rank)},
        look,
    )


def _equal(first: int, second: int) -> Callable[[Sequence[Outcome]], Difference | None]:
    def check(outcomes: Sequence[Outcome]) -> Difference | None:
        return compare(outcomes[first], outcomes[second], _PLAIN, text=False)

    return check


def _same_values(outcomes: Sequence[Outcome]) -> Difference | None:
    """The same paths, dtypes and values; the ids too, as they are restored with the values."""
    return _equal(8, 9)(outcomes)


def _same_order(outcomes: Sequence[Outcome]) -> Difference | None:
    events, record = outcomes[1].ok, outcomes[3].ok
    if not isinstance(events, list) or not isinstance(record, list):
        return None
    seen = [event[1] for event in events if event[0] in ("float", "int", "bool")]
    # A record keeps the first of two entries of one path; entries without bytes are told by name.
    kept = [entry["path"] for entry in record if entry.get("hex")]
    order = [path for path in dict.fromkeys(seen) if path in kept]
    return None if order == kept else Difference("$", str(order), str(kept))


def _one_device(outcomes: Sequence[Outcome]) -> Difference | None:
    devices = outcomes[2].ok
    if not isinstance(devices, list) or len(devices) <= 1:
        return None
    return Difference("$.ok", "one device", str(devices))


def _same_value(outcomes: Sequence[Outcome]) -> Difference | None:
    first, second = outcomes[1].ok, outcomes[3].ok
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    return compare(Outcome(ok=first.get("value")), Outcome(ok=second.get("value")), _PLAIN, text=False)


RELATIONS = (
    Relation("load after save is identity", ("REC-2", "REC-9", "REC-22"), _restored, _same_values),
    Relation("mapping nothing is identity", ("MOD-9",), _unmapped, _equal(1, 3)),
    Relation("the order of a record is that of a visit", ("REC-3",), _visited, _same_order),
    Relation("after a fork there is one device", ("MOD-53", "DEV-2"), _forked, _one_device),
    Relation("even is new of its stages", ("PLC-2", "PLC-3"), _divided, _equal(0, 1)),
    Relation("forward on many devices is forward on one", ("DLM-4",), _shared_out, _equal(4, 9)),
    Relation("LoRA with zero b is the base", ("LRA-1",), _adapted, _same_value),
)


def instances(seed: int) -> Iterator[tuple[Relation, Trace]]:
    """Instances without end, the relations in turn."""
    rng = Random(f"relations:{seed}")
    while True:
        for relation in RELATIONS:
            yield relation, relation.trace(rng)
