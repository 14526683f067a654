"""Cases on adapters: `python -m refimpl.conformance.generate_adapt` writes those that are missing.

A seed draws a network, what is attached to it, and what is done to it then. The factors of LoRA get fixed
values at once. The files hold no answers; `make record` asks Burn for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from .case import Case, Step
from .generate import place_of, truth_of, write_missing

#: How many cases of each family.
COUNTS: Final = {"lra.drawn": 30, "rep.drawn": 30}

#: Calls that take a module and give it back, with the clauses they show on an adapted one.
_CALLS: Final[dict[str, tuple[str, ...]]] = {
    "train": ("REP-10", "REP-20"),
    "valid": ("REP-10", "REP-19"),
    "freeze": ("REP-9",),
    "unfreeze": ("REP-9", "REP-28"),
    "no_grad": ("REP-9",),
    "set_require_grad": ("REP-9",),
    "fork": ("PAR-60", "REP-19"),
    "to_device": ("PAR-60", "REP-19"),
    "map_identity": ("REP-9", "REP-19"),
    "map": ("PAR-36",),
    "materialize": ("REP-18",),
    "quantize_weights": ("QNT-39", "REP-9"),
    "record": ("REP-17", "REP-16"),
}
#: These panic on a parameter that was moved while it was tracked (PAR-48).
_ARMING: Final = frozenset(("train", "unfreeze", "set_require_grad"))
_SCHEMES: Final[tuple[dict[str, Any], ...]] = (
    {"value": "Q8S", "store": "Native", "tensor": "F32"},
    {"value": "Q4S", "store": {"PackedU32": 0}, "tensor": "F16"},
    {"value": "E4M3", "store": "Native", "tensor": "BF16"},
)
_GROUPS: Final[tuple[Any, ...]] = (None, {"path": "lin.weight"}, {"predicate": "lin"})


class _Drawing:
    """Steps under construction, and what is known of the module."""

    def __init__(self, family: str, rng: Random) -> None:
        self.family = family
        self.rng = rng
        self.device = rng.choice(("d0", "d0+autodiff", "d0+autodiff"))
        self.steps: list[Step] = []
        self.clauses: dict[str, None] = {}
        self.moved = False
        self.quantised = False

    def do(self, name: str, **fields: Any) -> None:
        self.steps.append({"do": name, "on": "m", **fields})

    def show(self, *clauses: str) -> None:
        self.clauses.update(dict.fromkeys(clauses))

    def value(self) -> None:
        """The effective value; the sums of a product of factors may be fused, as the backend likes."""
        match: dict[str, Any] = {"match": {"ulp": 8}} if self.family == "lra.drawn" else {}
        self.do("param.val", path="lin.weight", direct=True, **match)

    def look(self) -> None:
        self.steps.append({"observe": "state", "on": "m"})
        self.do("param.adapter", path="lin.weight")
        self.value()

    def build(self, name: str = "m", base: int = 0, lazy: bool = False) -> None:
        args: dict[str, Any] = {"device": self.device}
        if lazy:
            args["lazy"] = True
        if base:
            args["base"] = base
        self.steps.append({"do": "module.build", "fixture": "zoo/net", "args": args, "as": name})

    def lora(self) -> None:
        rank = self.rng.choice((1, 2, 4))
        lora = {"rank": rank, "alpha": self.rng.choice((0.5, 1, 3, 4))}
        if self.rng.random() < 0.3:
            self.do("module.apply_qlora", lora=lora, quantizer={"scheme": self.rng.choice(_SCHEMES)})
            self.quantised = True
            self.show("LRA-10", "REP-27")
        else:
            self.do("module.apply_lora", **lora)
            self.show("LRA-2", "REP-24")
        for name, shape, number in (("a", [2, rank], 901), ("b", [rank, 3], 902)):
            fields: dict[str, Any] = {"how": "from_tensor", "device": self.device, "shape": shape}
            self.do(
                "param.replace",
                path=f"lin.weight.lora.{name}",
                **fields,
                id=number,
                seed=self.rng.randint(0, 16),
            )
        self.show("LRA-5", "LRA-6")

    def fixture(self) -> None:
        fields: dict[str, Any] = {"kind": self.rng.choice(("scale.it", "shift"))}
        fields["value"] = self.rng.choice((0.5, 2, -3))
        group = self.rng.choice(_GROUPS)
        if group is not None:
            fields["group"] = group
        if self.rng.random() < 0.3:
            fields["freeze"] = True
        if self.rng.random() < 0.3:
            fields["change"] = [["mul", self.rng.choice((2, -0.5))]]
            self.moved = self.device != "d0"
        self.do("module.apply_reparameterization", **fields)
        self.show("REP-2", "REP-4", "REP-8")

    def call(self, last: bool) -> None:
        """One call that does not panic here."""
        names = [name for name in _CALLS if last or not (self.moved and name in _ARMING)]
        if self.quantised:
            names = [name for name in names if name != "quantize_weights"]
        name = self.rng.choice(names)
        self.show(*_CALLS[name])
        match name:
            case "fork" | "to_device":
                self.do(f"module.{name}", device=self.rng.choice(("d0", "d0+autodiff")))
            case "set_require_grad":
                self.do("module.set_require_grad", value=self.rng.random() < 0.5)
            case "map":
                self.moved = self.moved or self.device != "d0"
                self.do(
                    "param.map",
                    path=self.rng.choice(("lin.weight", "lin.bias")),
                    expr=[["add", 1]],
                    direct=True,
                )
            case "quantize_weights":
                self.do("module.quantize_weights", scheme=self.rng.choice(_SCHEMES))
                self.quantised = True
            case "record":
                self.steps.append({"do": "module.clone", "on": "m", "as": "c"})
                self.steps.append({"do": "module.record", "on": "c", "as": "r"})
                self.steps.append({"observe": "record", "on": "r"})
            case _:
                self.do(f"module.{name}")
        risky = self.moved and name in _ARMING
        self.moved = name == "to_device" or (self.moved and name not in ("valid", "freeze", "no_grad"))
        if not risky:
            self.look()


def draw(family: str, number: int, seed: int) -> Case:
    """The case that a seed draws."""
    steps, clauses, requires = trace_of(family, Random(f"{family}:{seed}"))
    return Case(
        id=f"{family}.{number:03}",
        clauses=clauses,
        truth=truth_of(clauses),
        requires=requires,
        why=f"A drawn sequence (seed {seed}): an adapted parameter is in another state, or its adapter is.",
        steps=steps,
    )


def trace_of(family: str, rng: Random) -> tuple[tuple[Step, ...], tuple[str, ...], tuple[str, ...]]:
    """Steps of a family that `rng` draws, the clauses that they show, and what a subject needs for them."""
    drawing = _Drawing(family, rng)
    drawing.build(lazy=rng.random() < 0.4)
    if family == "lra.drawn":
        drawing.lora()
    else:
        drawing.fixture()
    drawing.look()
    drawing.value()
    count = rng.randint(2, 4)
    for step in range(count):
        drawing.call(last=step == count - 1)
    requires = ["zoo/1", "lora" if family == "lra.drawn" else "reparam"]
    written = str(drawing.steps)
    requires += [word for word, sign in _NEEDS.items() if sign in written]
    return tuple(drawing.steps), tuple(sorted(drawing.clauses, key=place_of)), tuple(requires)


_NEEDS: Final = {"autodiff": "+autodiff", "quant": "quantize", "records": "module.record"}


def generate(family: str) -> Iterator[Case]:
    """The cases of a family, numbered from 1."""
    for number in range(1, COUNTS[family] + 1):
        yield draw(family, number, number)


def main() -> int:
    """Write the cases that are not there."""
    return write_missing(case for family in COUNTS for case in generate(family))


if __name__ == "__main__":
    raise SystemExit(main())
