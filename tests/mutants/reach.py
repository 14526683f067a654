"""Which variants run which lines of the reference: a mutant is put only to those that come by its line."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import FunctionType

import coverage

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.runner import ask
from refimpl.conformance.subject import Subject
from refimpl.conformance.variants import Variant, variants
from refimpl.conformance.verdict import PASS
from refimpl.param.rust_regex import places, unicode_data
from refimpl.tensor.device import Device

#: One variant in so many is traced while it makes its tables.
_TABLES_EACH = 16
ROOT = Path(__file__).resolve().parents[2]


def agreeing(subject: Subject, prefix: str = "") -> list[Variant]:
    """Every variant that the reference itself agrees with."""
    asked = [variant for case in load_cases(prefix=prefix) for variant in variants(case)]
    return [v for v in asked if v.expect is not None and ask(subject, v).verdict == PASS]


class Reach:
    """The variants that ran a line, those with the shortest way first: they say most about it.

    Those of one case are much alike, so of each case one comes first, then of each a second, and so on.
    """

    def __init__(self, subject: Subject, asked: Sequence[Variant]) -> None:
        self.asked = asked
        self._by_line: dict[str, dict[int, list[int]]] = {}
        tracer = coverage.Coverage(data_file=None, source=["refimpl"], config_file=False)
        known = dict(Device._known)  # a device is one object: whoever holds one now has to find it again
        tracer.start()
        for number, variant in enumerate(asked):
            forget(tables=number % _TABLES_EACH == 0)
            tracer.switch_context(str(number))
            ask(subject, variant)
        tracer.stop()
        Device._known.clear()
        Device._known.update(known)
        data = tracer.get_data()
        for file in data.measured_files():
            lines = data.contexts_by_lineno(file)
            self._by_line[file] = {line: [int(n) for n in names if n] for line, names in lines.items()}
        length = [0] * len(asked)
        for lines in self._by_line.values():
            for numbers in lines.values():
                for number in numbers:
                    length[number] += 1
        turns: Counter[str] = Counter()
        self._rank = [(0, 0)] * len(asked)
        for number in sorted(range(len(asked)), key=lambda number: (length[number], number)):
            case = asked[number].case.id
            self._rank[number] = turns[case], length[number]
            turns[case] += 1

    def of(self, function: FunctionType, lines: Iterable[int]) -> list[int]:
        """The numbers of the variants that run one of the lines of a function's file."""
        by_line = self._by_line.get(function.__code__.co_filename, {})
        found = {number for line in lines for number in by_line.get(line, ())}
        return sorted(found, key=lambda number: (self._rank[number], number))


def forget(*, tables: bool = True) -> None:
    """Empty what functions remember from call to call, and make again what was made at import.

    So each variant runs these functions, and a mutant of one is seen by whoever asks. `tables` says whether
    that holds for those of Unicode too, which take long.
    """
    for one in _remembering():
        if tables or one.__module__ != unicode_data.__name__:
            one.cache_clear()
    Device._known.clear()
    if not tables:
        return
    places._HOLDS.update(places._word_places("", partial(places._in_class, "W")))
    places._HOLDS.update(places._word_places("ASCII_", places._in_ascii_word))


def _remembering() -> list[_lru_cache_wrapper[object]]:
    if not _KEPT:
        _KEPT.extend(
            one
            for one in gc.get_objects()
            if isinstance(one, _lru_cache_wrapper) and one.__module__.startswith("refimpl.")
        )
    return _KEPT


_KEPT: list[_lru_cache_wrapper[object]] = []
