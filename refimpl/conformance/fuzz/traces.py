"""What Hypothesis draws: traces over module trees and operation sequences, and broken record files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from hypothesis import strategies as st

from .. import generate, generate_adapt, generate_quant
from . import arrays, sequences, texts
from .bytes import broken_files
from .comparison import Trace


def _generated(theme: str, rng: Random) -> Trace:
    drawer = generate_adapt if theme in generate_adapt.COUNTS else generate
    return Trace(*drawer.trace_of(theme, rng))


def _quantised(rng: Random) -> Trace:
    steps, clauses, _ = generate_quant.trace_of(rng)
    return Trace(tuple(steps), clauses, ("quant",))


#: A sum of inexact products may be fused (LRA-5); what is left where it cancels differs by more units then.
_CANCELLED = {"ulp": 256}


def _adapted(rng: Random) -> Trace:
    trace = _generated("lra.drawn", rng)
    if "quant" not in trace.requires:
        return trace
    near = (
        {**step, "match": _CANCELLED}
        if step.get("do") == "param.val" or step.get("observe") == "state"
        else step
        for step in trace.steps
    )
    return Trace(tuple(near), trace.clauses, trace.requires)


#: Those that the cases were generated from, and those that only the fuzzer draws, by name.
DRAWERS: dict[str, Callable[[Random], Trace]] = {
    **{theme: partial(_generated, theme) for theme in (*generate.COUNTS, *generate_adapt.COUNTS)},
    "lra.drawn": _adapted,
    "qnt.drawn": _quantised,
    "parameters": sequences.parameters,
    "running": sequences.running,
    "layered": sequences.layered,
    "by_group": sequences.by_group,
    "saved": sequences.saved,
    "ids": texts.ids,
    "patterns": texts.patterns,
    "tensors": arrays.tensors,
    "quantised": arrays.quantised,
    "schemes": arrays.schemes,
    "devices": arrays.devices,
    "containers": arrays.containers,
}
THEMES = tuple(DRAWERS)

_SEEDS = st.integers(0, 2**64 - 1)


def traces(themes: tuple[str, ...] = THEMES, *, shrinking: bool = False) -> st.SearchStrategy[Trace]:
    """Traces of those themes.

    With `shrinking` Hypothesis makes each choice of the generator, and so can make them simpler; that costs
    ten times as much as a seed, whose trace is made small by `minimise` instead.
    """
    return st.builds(_drawn, st.sampled_from(themes), _randoms(shrinking))


def files(*, shrinking: bool = False) -> st.SearchStrategy[Trace]:
    """Record files with faults in them."""
    return st.builds(broken_files, _randoms(shrinking))


def _drawn(theme: str, rng: Random) -> Trace:
    return DRAWERS[theme](rng)


def _randoms(shrinking: bool) -> st.SearchStrategy[Random]:
    return st.randoms(use_true_random=False) if shrinking else _SEEDS.map(Random)
