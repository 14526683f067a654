"""What it costs to begin: an import, and the help of the command line."""

from __future__ import annotations

import dataclasses
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import refimpl
from tests.bench.figure import Figure, least, ratio, span

EVERYTHING = "import refimpl\nfor name in refimpl.__all__: getattr(refimpl, name)"


def spent(arguments: list[str], cache: str) -> float:
    """The CPU time of one child process that finds its bytecode in the folder `cache`."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = cache
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def classes() -> str:
    """What all names load: files, and dataclasses, whose methods are compiled when they are made."""
    for name in refimpl.__all__:
        getattr(refimpl, name)
    modules = [module for name, module in sys.modules.items() if name.startswith("refimpl.")]
    found = {item for module in modules for item in vars(module).values() if dataclasses.is_dataclass(item)}
    (one,) = least(
        lambda: dataclasses.make_dataclass("C", [("a", int), ("b", int)], frozen=True, slots=True), rounds=9
    )
    return (
        "the bound is met as long as no name is used. All of them load "
        f"{len(modules)} files of ours, and make {len(found)} dataclasses at about {span(one)} each."
    )


def figures() -> Iterator[Figure]:
    programs = {
        "bare": ["-c", "pass"],
        "arrays": ["-c", "import numpy, ml_dtypes"],
        "import": ["-c", "import refimpl"],
        "everything": ["-c", EVERYTHING],
        "help": ["-c", "from refimpl.cli.main import main; main()", "--help"],
    }
    best = dict.fromkeys(programs, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(12):
            for name, arguments in programs.items():
                best[name] = min(best[name], spent(arguments, cache))
    arrays = "importing NumPy and ml_dtypes"
    yield ratio("import refimpl", best["import"], best["arrays"], 1.3, arrays)
    yield ratio(
        "import refimpl, and every public name", best["everything"], best["arrays"], 1.3, arrays, classes()
    )
    yield ratio("refimpl --help", best["help"], best["bare"], 3.0, "a bare Python")
