"""What a run over mutants has shown: the score by module, and which clauses and cases caught what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from refimpl.conformance.case import Case
from refimpl.conformance.generate import place_of
from refimpl.conformance.variants import Variant
from tests.mutants.mutate import Mutant

#: The least share of mutants that the cases must catch.
BOUND = 0.95


@dataclass
class Report:
    """The mutants by what became of them, and the cases by what they noticed."""

    cases: list[Case]
    caught: list[tuple[Mutant, Variant]] = field(default_factory=list)
    survivors: list[Mutant] = field(default_factory=list)
    #: Survivors whose line no variant runs.
    unreached: list[Mutant] = field(default_factory=list)
    excused: list[Mutant] = field(default_factory=list)
    #: Functions set aside, with how many mutants each has.
    aside: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    #: The cases that noticed no mutant at all; None when that was not asked.
    idle: list[Case] | None = None
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """Mutants that are not known to change nothing."""
        return len(self.caught) + len(self.survivors) + len(self.unreached)

    @property
    def score(self) -> float:
        """The share that the cases caught."""
        return len(self.caught) / self.count if self.count else 1.0

    @property
    def passes(self) -> bool:
        """Whether the score reaches the bound and no list says more than is so."""
        return self.score >= BOUND and not self.faults

    def modules(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Each module with its caught, surviving, unreached and excused mutants."""
        by = [
            Counter(mutant.module for mutant in mutants)
            for mutants in ([m for m, _ in self.caught], self.survivors, self.unreached, self.excused)
        ]
        for module in sorted(set().union(*by)):
            caught, survivors, unreached, excused = (counter[module] for counter in by)
            yield module, caught, survivors, unreached, excused

    def by_case(self) -> Counter[str]:
        """How many mutants each case noticed first."""
        return Counter(variant.case.id for _, variant in self.caught)

    def by_clause(self) -> Counter[str]:
        """How many mutants the cases of each clause noticed first; a case counts for its first clause."""
        return Counter(variant.case.clauses[0] for _, variant in self.caught)

    def idle_clauses(self) -> list[str]:
        """The clauses all of whose cases noticed nothing."""
        idle = {case.id for case in self.idle or ()}
        busy = {clause for case in self.cases if case.id not in idle for clause in case.clauses}
        return sorted({c for case in self.cases for c in case.clauses} - busy, key=place_of)

    def summary(self) -> str:
        """The whole in a line."""
        return (
            f"{len(self.caught)} of {self.count} mutants caught ({self.score:.1%}); {len(self.survivors)} "
            f"survive and {len(self.unreached)} no case reaches; {len(self.excused)} change nothing, "
            f"{self.aside.total()} stand in functions that no case can ask; {self.seconds:.0f} s"
        )

    def markdown(self) -> str:
        """All of it."""
        lines = ["# Mutants of the reference, judged by the cases", "", self.summary(), ""]
        lines += [f"- **wrong list:** {fault}" for fault in self.faults]
        lines += [
            "",
            "| module | caught | survive | not reached | change nothing |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        lines += [f"| {' | '.join(map(str, row))} |" for row in self.modules()]
        lines += [
            "",
            "## Which clause caught what",
            "",
            "The first case that noticed counts, for its first clause.",
            "",
        ]
        lines += _table("clause", self.by_clause())
        lines += ["", "## Which case caught what", ""]
        lines += _table("case", self.by_case())
        if self.idle is not None:
            lines += ["", "## Cases that catch nothing", ""]
            lines += (
                ["No mutant of any line that they run changes their answer.", ""]
                if self.idle
                else ["None.", ""]
            )
            lines += [f"- `{case.id}` ({', '.join(case.clauses)})" for case in self.idle]
            lines += ["", "## Clauses that catch nothing", ""]
            lines += [f"- {clause}" for clause in self.idle_clauses()] or ["None."]
        for title, mutants in (("Survivors", self.survivors), ("No case reaches", self.unreached)):
            lines += ["", f"## {title}", "", *(f"- `{_line(mutant.name)}`" for mutant in mutants)]
        return "\n".join(lines) + "\n"


def _table(what: str, counts: Counter[str]) -> list[str]:
    rows = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [f"| {what} | mutants |", "| --- | ---: |", *(f"| {name} | {number} |" for name, number in rows)]


def _line(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
