"""What Hypothesis draws: traces over module trees and operation sequences, and broken record files."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from .. import generate, generate_adapt, generate_quant
from .bytes import broken_files
from .comparison import Trace

_QUANTISED = "qnt.drawn"
#: The themes of `generate.py`, `generate_adapt.py` and `generate_quant.py`, by name.
THEMES = (*generate.COUNTS, *generate_adapt.COUNTS, _QUANTISED)

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
    if theme == _QUANTISED:
        steps, clauses, _ = generate_quant.trace_of(rng)
        return Trace(tuple(steps), clauses, ("quant",))
    drawer = generate_adapt if theme in generate_adapt.COUNTS else generate
    return Trace(*drawer.trace_of(theme, rng))


def _randoms(shrinking: bool) -> st.SearchStrategy[Random]:
    return st.randoms(use_true_random=False) if shrinking else _SEEDS.map(Random)
