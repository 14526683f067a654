"""Cases on generated trees: `python -m refimpl.conformance.generate` writes those that are not there yet.

A seed is a case: the same seed always draws the same tree and the same steps, so a committed file can be
drawn again. The files hold no answers; `make record` asks Burn for them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Literal

from .case import Case, Step
from .case_file import cases_folder, format_case
from .clauses import load_clauses
from .tree import Drawn, draw_tree

#: How many cases of each theme belong to the specification.
COUNTS = {
    "mod.tree": 40,
    "flg.tree": 20,
    "par.tree": 55,
    "grp.tree": 35,
    "rec.tree": 45,
    "dsp.tree": 30,
    "dev.tree": 15,
}

_WHY = {
    "mod.tree": "on this tree an event, a count or an order comes out otherwise",
    "flg.tree": "on this tree a flag follows training, freezing or a group otherwise",
    "par.tree": "after this sequence a parameter is in another state",
    "grp.tree": "on this tree the group selects other parameters",
    "rec.tree": "on this tree a record holds or restores something else",
    "dsp.tree": "on this tree the text has another line or another indentation",
    "dev.tree": "on this tree the devices are others or come in another order",
}

#: Calls that take a module and give it back, with what they need and what they show.
_CALLS: dict[str, tuple[str, ...]] = {
    "train": ("MOD-49", "PAR-46"),
    "valid": ("MOD-48", "PAR-45"),
    "freeze": ("MOD-45",),
    "unfreeze": ("MOD-45",),
    "no_grad": ("MOD-43",),
    "set_require_grad": ("MOD-43", "PAR-42"),
    "fork": ("MOD-53", "PAR-55"),
    "to_device": ("MOD-53", "PAR-54"),
    "map_identity": ("MOD-9",),
    "materialize": ("MOD-52",),
}
#: These panic on a parameter that was moved while it was tracked (PAR-48): only as the last call then.
_ARMING = frozenset(("train", "unfreeze", "set_require_grad"))


class _Trace:
    """Steps under construction, and the clauses that they show."""

    def __init__(self, tree: Drawn, device: str) -> None:
        self.tree = tree
        self.device = device
        self.steps: list[Step] = []
        self.clauses: dict[str, None] = {}

    def show(self, *clauses: str) -> None:
        self.clauses.update(dict.fromkeys(clauses))

    def build(self, handle: str, tree: Any, base: int = 0) -> None:
        args: dict[str, Any] = {"tree": tree, "device": self.device}
        if base:
            args["base"] = base
        self.do("module.build", fixture="dynamic/1", args=args, **{"as": handle})

    def do(self, name: str, **fields: Any) -> None:
        self.steps.append({"do": name, **fields})

    def observe(self, what: str, on: str, **fields: Any) -> None:
        self.steps.append({"observe": what, "on": on, **fields})


def _device(rng: Random) -> str:
    return rng.choice(("d0", "d0+autodiff", "d0+autodiff"))


def _events(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(3, 9)), _device(rng))
    trace.build("m", trace.tree.root)
    trace.observe("events", "m")
    if rng.random() < 0.5:
        trace.observe("map_events", "m")
        trace.show("MOD-7")
    trace.observe("num_params", "m")
    trace.observe("param_ids", "m")
    trace.show("MOD-5", "MOD-8", "MOD-36", "MOD-56", *trace.tree.clauses)
    return trace


def _flags(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(3, 7), kinds=("flag", "float"), flags=True), _device(rng))
    trace.show("FLG-4", "FLG-5", "FLG-8")
    trace.build("m", trace.tree.root)
    for _ in range(rng.randint(2, 3)):
        name = rng.choice(("valid", "train", "freeze", "unfreeze", "no_grad"))
        trace.do(f"module.{name}", on="m")
        trace.show(*_CALLS[name])
        trace.observe("state", "m")
    return trace


def _states(rng: Random) -> _Trace:
    lazy = rng.random() < 0.5
    trace = _Trace(draw_tree(rng, nodes=rng.randint(2, 6), kinds=("float",), lazy=lazy), _device(rng))
    trace.build("m", trace.tree.root)
    if lazy:
        trace.show("PAR-21", "PAR-23")
        if rng.random() < 0.5:
            trace.do("module.clone", on="m", **{"as": "c"})
    moved = False
    count = rng.randint(2, 4)
    for number in range(count):
        last = number == count - 1
        names = [name for name in _CALLS if last or not (moved and name in _ARMING)]
        name = rng.choice(names)
        fields: dict[str, Any] = {"on": "m"}
        if name in ("fork", "to_device"):
            fields["device"] = rng.choice(("d0", "d0+autodiff"))
        if name == "set_require_grad":
            fields["value"] = rng.random() < 0.5
        trace.do(f"module.{name}", **fields)
        trace.show(*_CALLS[name])
        risky = moved and name in _ARMING
        moved = name == "to_device" or (moved and name not in ("valid", "freeze", "no_grad"))
        if not risky:
            trace.observe("state", "m")
    if lazy:
        trace.steps.append({"observe": "log"})
        if any(step.get("as") == "c" for step in trace.steps):
            trace.observe("state", "c")
    return trace


def _groups(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(4, 9), leaves=2), "d0+autodiff")
    group = _draw_group(rng, trace, depth=1)
    trace.build("m", trace.tree.root)
    trace.do("group.matches", group=group, probes=[[number, path] for number, path in trace.tree.leaves])
    name = rng.choice(("freeze_group", "set_require_grad_group", "record"))
    if name == "record":
        trace.do("module.record", on="m", group=group, **{"as": "r"})
        trace.observe("record", "r")
        trace.show("REC-6")
    else:
        value = {"value": False} if name == "set_require_grad_group" else {}
        trace.do(f"module.{name}", on="m", group=group, **value)
        trace.observe("state", "m")
        trace.show("MOD-44" if value else "MOD-46")
    trace.show("GRP-1", "GRP-16")
    return trace


def _draw_group(rng: Random, trace: _Trace, depth: int) -> Any:
    leaves = trace.tree.leaves
    number, path = rng.choice(leaves)
    forms = ["ids", "path", "paths", "predicate", "predicates", "any_predicates", "regex", "any_regexes"]
    form = rng.choice(forms + ["fuse", "exclude", "exclude"] * depth)
    word = rng.choice(path.split(".")) if path else ""
    other = rng.choice(leaves)[1]
    piece = other[: rng.randint(1, 3)]
    trace.show(
        {"ids": "GRP-2", "fuse": "GRP-10", "exclude": "GRP-11", "predicate": "GRP-6"}.get(form, "GRP-3")
    )
    choices: dict[str, Callable[[], Any]] = {
        "ids": lambda: {"ids": sorted({number, rng.choice(leaves)[0]})},
        "path": lambda: {"path": path},
        "paths": lambda: {"paths": [path, other]},
        "predicate": lambda: {"predicate": word},
        "predicates": lambda: {"predicates": [word, piece]},
        "any_predicates": lambda: {"any_predicates": [word, piece]},
        "regex": lambda: {"regex": rng.choice((f"^{word}", f"{word}$", r"\.\d+\.", r"(^|\.)\w$", "[a-m]$"))},
        "any_regexes": lambda: {"any_regexes": [f"^{word}$", f"{piece}.*"]},
        "fuse": lambda: {"fuse": [_draw_group(rng, trace, 0), _draw_group(rng, trace, depth - 1)]},
        "exclude": lambda: {
            "exclude": [rng.choice(("all", {"predicate": ""})), _draw_group(rng, trace, depth - 1)]
        },
    }
    return choices[form]()


def _records(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(3, 8), leaves=1, records=True), _device(rng))
    root = trace.tree.root
    change = rng.choice(("none", "none", "without", "more", "shape")) if "struct" in root else "none"
    name, fields = root.get("struct"), root.get("fields", [])
    extra: Any = ["extra", {"float": {"id": 90, "shape": [2]}}]
    if change == "more":
        source, target = {"struct": name, "fields": [*fields, extra]}, root
    elif change == "without":
        source, target = root, {"struct": name, "fields": [*fields, extra]}
    elif change == "shape":
        source = {"struct": name, "fields": [*fields, extra]}
        target = {"struct": name, "fields": [*fields, ["extra", {"float": {"id": 90, "shape": [3]}}]]}
    else:
        source = target = root
    trace.build("s", source)
    trace.build("t", target, base=100)
    trace.do("module.record", on="s", **{"as": "r"})
    trace.observe("record", "r")
    trace.show("REC-2", "REC-3")
    if rng.random() < 0.5:
        trace.do("record.into_bytes", on="r", **{"as": "b"})
        trace.do("record.from_bytes", bytes="b", **{"as": "r"})
        trace.show("REC-9", "REC-10")
    if rng.random() < 0.6:
        options = {
            "allow_partial": rng.random() < 0.5,
            "allow_unused": rng.random() < 0.5,
            "validate": rng.random() < 0.7,
            "dtype_policy": rng.choice(("FromRecord", "CastToModule")),
        }
        trace.do("record.options", on="r", **options)
    else:
        options = {"allow_partial": False, "allow_unused": False, "validate": True}
    refused = {
        "more": not options["allow_unused"],
        "without": not options["allow_partial"],
        "shape": bool(options["validate"]),
        "none": False,
    }[change]
    trace.do("module.try_load_record", on="t", record="r")
    trace.show("REC-16", *({"shape": ("REC-17",), "none": ("REC-22", "PAR-8")}.get(change, ())))
    if not refused:
        trace.observe("state", "t")
    return trace


def _displays(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(3, 9)), "d0")
    trace.build("m", trace.tree.root)
    trace.observe("display", "m")
    settings: dict[str, Any] = {}
    if rng.random() < 0.4:
        settings["show_param_id"] = rng.random() < 0.7
    if rng.random() < 0.4:
        settings["show_num_parameters"] = rng.random() < 0.3
    if rng.random() < 0.4:
        settings["new_line_after_attribute"] = rng.random() < 0.3
    if rng.random() < 0.4:
        settings["indentation_size"] = rng.choice((0, 1, 4))
    if settings:
        trace.observe("display", "m", settings=settings)
        trace.show("DSP-1")
    shown = {"some": "DSP-17", "none": "DSP-17", "vec": "DSP-18", "array": "DSP-18", "tuple": "DSP-18"}
    shown |= {"const": "DSP-14", "enum": "DSP-13", "tensor": "DSP-16", "flag": "DSP-16", "running": "DSP-16"}
    trace.show("DSP-9", "DSP-11", *(shown[kind] for kind in trace.tree.kinds if kind in shown))
    return trace


def _devices(rng: Random) -> _Trace:
    trace = _Trace(draw_tree(rng, nodes=rng.randint(3, 7), leaves=2, lazy=True, devices=True), _device(rng))
    trace.build("m", trace.tree.root)
    trace.do("module.devices", on="m")
    trace.do("module.collect_devices", on="m", devices=[rng.choice(("d0", "d1+autodiff", "d2"))])
    trace.do(
        "module.to_device" if rng.random() < 0.5 else "module.fork",
        on="m",
        device=rng.choice(("d1", "d2+autodiff")),
    )
    trace.do("module.devices", on="m")
    trace.observe("events", "m")
    trace.show("DEV-2", "MOD-40", "MOD-41", "PAR-51")
    return trace


_THEMES: dict[str, Callable[[Random], _Trace]] = {
    "mod.tree": _events,
    "flg.tree": _flags,
    "par.tree": _states,
    "grp.tree": _groups,
    "rec.tree": _records,
    "dsp.tree": _displays,
    "dev.tree": _devices,
}

#: What a case of a theme requires beside the fixture.
_REQUIRES = {"rec.tree": "records", "dsp.tree": "display"}


def generate(theme: str) -> Iterator[Case]:
    """The cases of a theme, numbered from 1 and distinct: a draw that came before is passed over."""
    seen: set[str] = set()
    seed = 0
    for number in range(1, COUNTS[theme] + 1):
        while True:
            seed += 1
            case = draw(theme, number, seed)
            shape = json.dumps(case.steps, sort_keys=True)
            if shape not in seen:
                seen.add(shape)
                break
        yield case


def draw(theme: str, number: int, seed: int) -> Case:
    """The case that a seed draws."""
    steps, clauses, requires = trace_of(theme, Random(f"{theme}:{seed}"))
    return Case(
        id=f"{theme}.{number:03}",
        clauses=clauses,
        truth=truth_of(clauses),
        requires=requires,
        why=f"A generated tree (seed {seed}): {_WHY[theme]}.",
        steps=steps,
    )


def trace_of(theme: str, rng: Random) -> tuple[tuple[Step, ...], tuple[str, ...], tuple[str, ...]]:
    """Steps of a theme that `rng` draws, the clauses that they show, and what a subject needs for them."""
    trace = _THEMES[theme](rng)
    requires = ["dynamic/1"]
    if theme in _REQUIRES:
        requires.append(_REQUIRES[theme])
    if any("+autodiff" in json.dumps(step) for step in trace.steps):
        requires.append("autodiff")
    return tuple(trace.steps), tuple(sorted(trace.clauses, key=place_of)), tuple(requires)


def place_of(clause_id: str) -> tuple[str, int]:
    """Clauses in the order of their chapter: by family, then by number."""
    family, _, number = clause_id.partition("-")
    return family, int(number)


def truth_of(clause_ids: Iterable[str]) -> Literal["contract", "pinned"]:
    """A case is no more binding than the least binding of its clauses."""
    clauses = load_clauses()
    return "pinned" if any(clauses[name].truth == "pinned" for name in clause_ids) else "contract"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the cases that are not there."""
    parser = argparse.ArgumentParser(prog="python -m refimpl.conformance.generate", description=__doc__)
    parser.add_argument("themes", nargs="*", choices=[[], *_THEMES], help="themes (default: all)")
    options = parser.parse_args(arguments)
    return write_missing(case for theme in options.themes or _THEMES for case in generate(theme))


def write_missing(cases: Iterable[Case]) -> int:
    """Write those of `cases` that have no file yet, say how many, and return the exit code."""
    written = 0
    for case in cases:
        chapter, _, rest = case.id.partition(".")
        path = cases_folder() / chapter / f"{rest}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(format_case(case), encoding="utf-8")
            written += 1
    print(f"{written} written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
