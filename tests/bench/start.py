"""What it costs to begin: an import, and the help of the command line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

from tests.bench.figure import Figure, ratio

EVERYTHING = "import refimpl; [getattr(refimpl, name) for name in refimpl.__all__]"


def spent(arguments: list[str]) -> float:
    """The CPU time of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, env=os.environ, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def figures() -> Iterator[Figure]:
    programs = {
        "bare": ["-c", "pass"],
        "arrays": ["-c", "import numpy, ml_dtypes"],
        "import": ["-c", "import refimpl"],
        "everything": ["-c", EVERYTHING],
        "help": ["-c", "from refimpl.cli.main import main; main()", "--help"],
    }
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(12):
        for name, arguments in programs.items():
            best[name] = min(best[name], spent(arguments))
    arrays = "importing NumPy and ml_dtypes"
    yield ratio("import refimpl", best["import"], best["arrays"], 1.3, arrays)
    yield ratio("import refimpl, and every public name", best["everything"], best["arrays"], 1.3, arrays)
    yield ratio("refimpl --help", best["help"], best["bare"], 3.0, "a bare Python")
