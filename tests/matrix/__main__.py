"""Runs every subject that can run here, lets them read each other's record files, and makes one page of it.

`python -m tests.matrix [FOLDER]` writes an event log for each subject and `matrix.html` into FOLDER, which is
`build/matrix` when none is given.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from refimpl.conformance.events import Exchanged
from refimpl.conformance.exchange import exchange
from refimpl.conformance.subject import open_subject
from refimpl.conformance.verdict import EXIT_AGREE, EXIT_CASES, EXIT_DIFFER, PASS, UNSUPPORTED
from tests.matrix.subjects import Known, found

REFIMPL = (sys.executable, "-m", "refimpl.cli.main")


def main(folder: Path) -> int:
    """The gravest exit code of all runs."""
    folder.mkdir(parents=True, exist_ok=True)
    subjects, missing = found()
    for name, why in missing.items():
        print(f"{name}: left out: {why}")
    codes = [run(subject, folder) for subject in subjects]
    codes.append(hand_over(subjects, folder))
    page = folder / "matrix.html"
    page.unlink(missing_ok=True)
    logs = [str(log(one.name, folder)) for one in subjects]
    subprocess.run([*REFIMPL, "report", *logs, "--html", str(page)], check=False)
    print(f"{page}: {len(subjects)} subjects" if page.is_file() else "no page was made")
    return max(codes) if page.is_file() else EXIT_CASES


def log(name: str, folder: Path) -> Path:
    return folder / f"{name}.jsonl"


def run(subject: Known, folder: Path, *options: str) -> int:
    """The cases, put to one subject."""
    asked = [
        *REFIMPL,
        "conform",
        "--subject",
        subject.place,
        "--events",
        str(log(subject.name, folder)),
        "--json",
    ]
    asked += options
    if subject.expectations is not None:
        asked += ["--expectations", str(subject.expectations)]
    began = time.monotonic()
    with (folder / f"{subject.name}.json").open("wb") as report:
        code = subprocess.run(asked, stdout=report, check=False).returncode
    print(f"{subject.name}: exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code


def hand_over(subjects: list[Known], folder: Path) -> int:
    """Files, from each of them to each; told at the end of the first log, and as a table a format."""
    told: list[Exchanged] = []
    with contextlib.ExitStack() as stack, log(subjects[0].name, folder).open("ab") as file:
        opened = {one.name: stack.enter_context(open_subject(one.place)) for one in subjects}
        for one in exchange(opened):
            told.append(one)
            file.write(msgspec.json.encode(one) + b"\n")
            if one.verdict not in (PASS, UNSUPPORTED):
                print(f"  {one.writer} to {one.reader}, {one.file!r}: {one.verdict}: {one.message}")
    for form in dict.fromkeys(one.format for one in told):
        print(f"{form}:\n{table(list(opened), [one for one in told if one.format == form])}")
    return EXIT_AGREE if all(one.verdict in (PASS, UNSUPPORTED) for one in told) else EXIT_DIFFER


def table(names: list[str], told: list[Exchanged]) -> str:
    """Writers down, readers across: how many files are read as they were written; `-`: none."""
    lines = [f"| writer \\ reader | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for writer in names:
        cells = []
        for reader in names:
            here = [one.verdict for one in told if (one.writer, one.reader) == (writer, reader)]
            asked = [verdict for verdict in here if verdict != UNSUPPORTED]
            cells.append(f"{asked.count(PASS)}/{len(asked)}" if asked else "-")
        lines.append(f"| {writer} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/matrix"), metavar="FOLDER")
    sys.exit(main(parser.parse_args().folder))
