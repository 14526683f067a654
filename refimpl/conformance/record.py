"""Ask real Burn and write its answers into the case files: `python -m refimpl.conformance.record [ID ...]`.

Cases whose truth is ours, answers worked out by hand, and cases that need what the subject does not claim
(another device that executes) are left as they are. A case that Burn answers in two ways, or that is wrong
itself, is refused and named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..errors import RefimplError, SubjectError
from .case import Case, Provenance
from .case_file import cases_folder, format_case, load_cases, selected
from .outcome import Outcome
from .subject import Subject, open_subject
from .variants import chosen, variants

#: An outcome of these kinds is a fault of the case.
_FAULTS = frozenset(("Protocol", "Capture"))


class RefusedError(RefimplError):
    """A case to which Burn has no answer that could be kept."""


def record(subject: Subject, case: Case) -> Case:
    """The case with the subject's answers as what is expected.

    Raises:
        RefusedError: An outcome is a fault of the case or not supported, or two runs differ.
    """
    answers: dict[str, list[Outcome]] = {}
    for variant in variants(case):
        asked = [_ask(subject, variant.label, variant.steps, case.cost) for _ in range(2)]
        if asked[0] != asked[1]:
            steps = [n for n, pair in enumerate(zip(*asked, strict=True)) if pair[0] != pair[1]]
            raise RefusedError(f"{variant.label}: two runs differ at steps {steps}")
        for number, outcome in enumerate(asked[0]):
            _refuse_fault(variant.label, number, outcome)
        answers[variant.name] = list(asked[0])
    impl = subject.greeting.impl
    provenance = Provenance("burn", impl.version, impl.backend or None)
    expect = answers if case.axes else answers[""]
    return msgspec.structs.replace(case, expect=expect, provenance=provenance)


def _ask(subject: Subject, label: str, steps: Sequence[dict[str, object]], cost: int) -> tuple[Outcome, ...]:
    try:
        return subject.case(label, list(steps), cost)
    except SubjectError as error:
        tail = subject.stderr()[-500:]
        subject.restart()
        raise RefusedError(f"{label}: {error} {tail}".rstrip()) from error


def _refuse_fault(label: str, number: int, outcome: Outcome) -> None:
    for fault in (outcome.error, outcome.panic):
        if fault is not msgspec.UNSET and fault.kind in _FAULTS:
            raise RefusedError(f"{label}, step {number}: {fault.kind}: {fault.text}")
    if outcome.unsupported is not msgspec.UNSET:
        raise RefusedError(f"{label}, step {number}: unsupported: {outcome.unsupported}")


def path_of(case: Case, root: Path) -> Path:
    """The file of a case."""
    chapter, _, rest = case.id.partition(".")
    return root / chapter / f"{rest}.json"


def recordable(case: Case) -> bool:
    """Whether the answers of a case come from Burn."""
    return case.truth != "ours" and case.provenance.source in ("burn", "none", "shrunk")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the cases selected by the ids; all of them without any."""
    parser = argparse.ArgumentParser(prog="python -m refimpl.conformance.record", description=__doc__)
    parser.add_argument("ids", nargs="*", help="ids of cases, or the beginnings of ids")
    parser.add_argument("--new", action="store_true", help="only the cases that have no answer yet")
    parser.add_argument("--show", action="store_true", help="print each step with its answer")
    parser.add_argument("--subject", default="burn", help="who is asked (default: burn)")
    options = parser.parse_args(arguments)
    root = cases_folder()
    changed = same = left = 0
    refused: list[str] = []
    try:
        cases = [case for case in load_cases(root) if recordable(case)]
        if options.ids:
            cases = [case for case in cases if any(selected(case.id, prefix) for prefix in options.ids)]
        if options.new:
            cases = [case for case in cases if case.provenance.source == "none"]
        with open_subject(options.subject) as subject:
            for case in cases:
                if subject.greeting.caps.lacks(case.requires) is not None:
                    left += 1
                    continue
                try:
                    recorded = record(subject, case)
                except RefusedError as error:
                    refused.append(str(error))
                    continue
                if options.show:
                    _show(recorded)
                path = path_of(case, root)
                text = format_case(recorded)
                if path.read_text(encoding="utf-8") == text:
                    same += 1
                else:
                    path.write_text(text, encoding="utf-8")
                    changed += 1
    except RefimplError as error:
        print(error, file=sys.stderr)
        return 2
    for line in refused:
        print(f"refused: {line}", file=sys.stderr)
    print(f"{changed} recorded, {same} unchanged, {left} left to others, {len(refused)} refused")
    return 3 if refused else 0


def _show(case: Case) -> None:
    names = [name for name, _ in chosen(case)] if case.axes else [""]
    for name in names:
        print(case.id, name)
        outcomes = case.expect[name] if isinstance(case.expect, dict) else case.expect
        for step, outcome in zip(case.steps, outcomes, strict=True):
            print("  ", msgspec.json.encode(step).decode())
            print("     ->", msgspec.json.encode(outcome).decode())


if __name__ == "__main__":
    raise SystemExit(main())
