"""Planted bugs on trial: which cases notice each, and which clauses' cases notice none."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from ..case import Case
from ..case_file import load_cases
from ..result import Result
from ..runner import ask
from ..subject import open_subject
from ..variants import Variant, variants
from ..verdict import PASS, UNRECORDED
from .catalogue import CATALOGUE
from .planting import Bug, planted


def cases_of(bug: Bug, cases: Iterable[Case]) -> list[Variant]:
    """The variants that ask the clause of a bug and have an answer."""
    asked = (variant for case in cases if bug.clause in case.clauses for variant in variants(case))
    return [variant for variant in asked if variant.expect is not None]


def noticed(bug: Bug, asked: Iterable[Variant]) -> Iterator[Result]:
    """The results that the bug makes other than a pass.

    The subject is made anew for each bug, and the reference is right again when the iteration ends.
    """
    with planted(bug), open_subject("refimpl") as subject:
        for variant in asked:
            result = ask(subject, variant)
            if result.verdict not in (PASS, UNRECORDED):
                yield result


def main() -> int:
    """Print for each bug the first case of its clause that notices it; 1 when one is noticed by none."""
    started = time.monotonic()
    cases = load_cases()
    missed = 0
    for bug in CATALOGUE:
        found = next(noticed(bug, cases_of(bug, cases)), None)
        missed += found is None
        by = "NO CASE" if found is None else found.label
        sys.stdout.write(f"{bug.clause:8}{bug.name:26}{by}\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"\n{len(CATALOGUE) - missed} of {len(CATALOGUE)} noticed in {seconds:.1f} s\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
