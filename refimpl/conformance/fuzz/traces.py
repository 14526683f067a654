"""What Hypothesis draws: traces over module trees and operation sequences, and broken record files."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from ..generate import COUNTS, trace_of
from .bytes import broken_files
from .comparison import Trace

#: The themes of `generate.py`, by name.
THEMES = tuple(COUNTS)

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
    return Trace(*trace_of(theme, rng))


def _randoms(shrinking: bool) -> st.SearchStrategy[Random]:
    return st.randoms(use_true_random=False) if shrinking else _SEEDS.map(Random)
