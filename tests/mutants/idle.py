"""The cases that catch nothing: no mutant of any line that they run changes their answer.

A case that noticed a mutant first has shown that it can. Every other one is put to mutants of the lines that
it runs and that some case notices, those that the fewest variants run first, until it notices one. One that
notices none of the first `most` of them is told as catching nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from refimpl.conformance.case import Case
from refimpl.conformance.subject import Subject
from tests.mutants.mutate import Mutant
from tests.mutants.reach import Reach
from tests.mutants.report import Report
from tests.mutants.trial import Trial, tried


def noticing_nothing(
    report: Report, subject: Subject, reach: Reach, workers: int, most: int, tell: Callable[[int], object]
) -> list[Case]:
    """The cases that notice no mutant; `tell` hears how many cases are known to notice one."""
    waiting = _waiting(report, reach, most)
    cases = {case.id: case for case in report.cases}
    idle = [cases[name] for name in set(cases) - set(waiting) - set(report.by_case())]
    turn = 0
    while waiting:
        tell(len(cases) - len(waiting))
        # One mutant for each case, then the next for those that have not noticed theirs.
        for name in [name for name, trials in waiting.items() if turn >= len(trials)]:
            idle.append(cases[name])
            del waiting[name]
        names = list(waiting)
        trials = [waiting[name][turn] for name in names]
        for place, number in tried(trials, subject, reach.asked, workers):
            if number is not None:
                del waiting[names[place]]
        turn += 1
    return sorted(idle, key=lambda case: case.id)


def _waiting(report: Report, reach: Reach, most: int) -> dict[str, list[Trial]]:
    """For each case that noticed nothing first: the mutants that it comes by, the rare ones first."""
    shown = report.by_case()
    found: defaultdict[str, list[Trial]] = defaultdict(list)
    reached = [(mutant, reach.of(mutant.function, mutant.lines)) for mutant, _ in report.caught]
    for mutant, numbers in sorted(reached, key=lambda pair: len(pair[1])):
        for name, mine in _by_case(mutant, numbers, reach).items():
            if name not in shown and len(found[name]) < most:
                found[name].append(Trial(mutant, mine))
    return dict(found)


def _by_case(mutant: Mutant, numbers: list[int], reach: Reach) -> dict[str, list[int]]:
    by: defaultdict[str, list[int]] = defaultdict(list)
    for number in numbers:
        by[reach.asked[number].case.id].append(number)
    return by
