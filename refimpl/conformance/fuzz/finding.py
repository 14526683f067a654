"""What fuzzing found: the smallest trace, verified in fresh processes, as a case file."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from ...errors import ResourceError
from ..case import Case, Provenance
from ..case_file import format_case
from ..generate import truth_of
from ..outcome import Outcome
from ..protocol import Greeting
from .comparison import Disagreement, Trace

#: How often a finding must come again, each time in processes that know nothing of the last one.
TIMES = 2
#: How long one such time may take: two starts, and a hang.
SECONDS = 90.0


class Finding(msgspec.Struct):
    """One kind of disagreement, with the smallest trace that shows it."""

    trace: Trace
    disagreement: Disagreement
    #: How often it came again in fresh processes.
    verified: int = 0
    file: str = ""


def verify(subject: str, finding: Finding) -> int:
    """How often of `TIMES` the same kind comes again in fresh processes."""
    steps = json.dumps(finding.trace.steps).encode()
    count = 0
    for _ in range(TIMES):
        command = [sys.executable, "-m", "refimpl.conformance.fuzz.again", subject]
        try:
            done = subprocess.run(command, input=steps, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            continue
        count += done.stdout.decode("utf-8", "replace").strip() == finding.disagreement.kind
    return count


def case_of(finding: Finding, greeting: Greeting, outcomes: Sequence[Outcome] | None) -> Case:
    """The case that asks this again.

    Only real Burn's answers become expected ones; those of another subject, and our own, never do:
    then the case waits for `make record`. `outcomes` are the subject's answer, where it gave one.
    """
    digest = hashlib.sha256(json.dumps(finding.trace.steps, sort_keys=True).encode()).hexdigest()[:8]
    clauses = finding.trace.clauses
    chapter = clauses[0].partition("-")[0].lower()
    impl = greeting.impl
    burn = impl.name == "burn" and outcomes is not None
    return Case(
        id=f"{chapter}.fuzz.{digest}",
        clauses=clauses,
        truth=truth_of(clauses),
        requires=finding.trace.requires,
        why=f"Found by fuzzing against {impl.name} {impl.version}: {finding.disagreement.kind}.",
        provenance=Provenance("shrunk", impl.version, impl.backend or None) if burn else Provenance("none"),
        steps=finding.trace.steps,
        expect=list(outcomes) if burn and outcomes is not None else [],
    )


def prepare(folder: Path) -> None:
    """Make the folder for findings, before hours go by that end with nowhere to write.

    Raises:
        ResourceError: Nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ResourceError(f"cannot write cases below '{folder}': {error.strerror}") from error


def write(case: Case, folder: Path) -> Path:
    """The case as a file where its id says, below `folder`.

    Raises:
        ResourceError: It cannot be written.
    """
    chapter, _, rest = case.id.partition(".")
    path = folder / chapter / f"{rest}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(format_case(case), encoding="utf-8")
    except OSError as error:
        raise ResourceError(f"cannot write the case '{path}': {error.strerror}") from error
    return path
