"""`python -m tests.mutants [MODULE ...]`: mutants of the reference, judged by the cases alone.

A mutant is caught when a case that agrees with the reference no longer does. The cases of the clauses that
the file names are asked first, then all others. `equivalent.toml` lists mutants that change nothing that can
be asked, each with its reason; one listed without a reason, or listed and caught, fails the run.
"""

from __future__ import annotations

import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refimpl.conformance.case import Variant, load_cases, variants
from refimpl.conformance.planted.planting import exchanged
from refimpl.conformance.runner import ask
from refimpl.conformance.subject import Subject, open_subject
from refimpl.conformance.verdict import PASS
from tests.mutants.mutate import Mutant, functions_of, mutants_of

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MODULES = (
    "parallel.placement",
    "parallel.memory",
    "param.matcher",
    "module.freezing",
    "record.collecting",
    "record.applying",
    "tensor.gradient",
)
#: A case takes a millisecond; a mutant that takes longer than this for one runs for ever.
SECONDS = 5.0
BOUND = 0.95


class TooLongError(BaseException):
    """Not an Exception, so that no case takes it for an answer."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def agreeing(subject: Subject) -> list[Variant]:
    """Every variant that the reference itself agrees with, the cheap ones first."""
    asked = [variant for case in load_cases() for variant in variants(case) if variant.expect is not None]
    return [variant for variant in asked if ask(subject, variant).verdict == PASS]


def judge(mutant: Mutant, subject: Subject, asked: list[Variant]) -> str | None:
    """The label of the first variant that notices the mutant."""
    with exchanged(mutant.function, mutant.code):
        for variant in asked:
            try:
                with limited():
                    if ask(subject, variant).verdict != PASS:
                        return variant.label
            except (TooLongError, RecursionError, MemoryError):
                return variant.label
    return None


def main(modules: list[str]) -> int:
    listed = {
        entry["mutant"]: entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    }
    unfounded = [name for name, reason in listed.items() if len(reason.split()) < 3]
    caught: Counter[str] = Counter()
    survivors: list[Mutant] = []
    excused = 0
    by: Counter[str] = Counter()
    started = time.monotonic()
    with open_subject("refimpl") as subject:
        asked = agreeing(subject)
        for module in modules:
            source = (ROOT / "refimpl" / f"{module.replace('.', '/')}.py").read_text()
            first = [v for v in asked if any(name in source for name in v.case.clauses)]
            known = set(map(id, first))
            rest = [v for v in asked if id(v) not in known]
            for place, function in functions_of(module):
                for mutant in mutants_of(place, function):
                    label = judge(mutant, subject, [*first, *rest])
                    if label is not None:
                        caught[module] += 1
                        by[label.partition("[")[0]] += 1
                        if mutant.name in listed:
                            unfounded.append(f"{mutant.name} (caught by {label})")
                    elif mutant.name in listed:
                        excused += 1
                    else:
                        survivors.append(mutant)
                        sys.stdout.write(f"survives  {mutant.name}\n")
                        sys.stdout.flush()
    for name in unfounded:
        sys.stdout.write(f"wrongly listed as equivalent: {name}\n")
    count = caught.total() + len(survivors)
    score = caught.total() / count if count else 1.0
    for module in modules:
        missed = sum(mutant.place.startswith(f"{module}:") for mutant in survivors)
        sys.stdout.write(f"{module:24}{caught[module]:5} caught {missed:5} survive\n")
    shown = ", ".join(f"{label} {number}" for label, number in by.most_common(8))
    sys.stdout.write(f"most by: {shown}\n")
    sys.stdout.write(
        f"{caught.total()} of {count} mutants caught ({score:.1%}), {excused} listed as equivalent, "
        f"{time.monotonic() - started:.0f} s\n"
    )
    return 0 if score >= BOUND and not unfounded else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or list(MODULES)))
