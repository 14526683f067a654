"""`make bench`: every figure of `tests/bench/`, each file in a process of its own, as one table.

`python -m tests.bench NAME...` runs some of the files. The exit code is 1 when a bound is missed without a
measured reason.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from tests.bench.figure import Figure

CHAPTERS = ("traversal", "records", "forward", "placement", "quantisation", "start", "conformance")
# Each BLAS that NumPy and PyTorch may be built with reads one of these, once, when it is loaded.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def measure(chapter: str) -> list[Figure]:
    """The figures of one file, measured in a child process that has one BLAS thread from its start."""
    print(f"measuring {chapter} ...", file=sys.stderr, flush=True)
    child = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--child", chapter],
        env=os.environ | ONE_THREAD | {"PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        check=False,
    )
    if child.returncode:
        raise SystemExit(f"tests/bench/{chapter}.py failed with exit code {child.returncode}")
    return [Figure(**json.loads(line)) for line in child.stdout.splitlines()]


def show(console: Console, chapters: list[str]) -> bool:
    """Print the table; whether every figure holds or says why not."""
    table = Table(title="Speed and memory (least CPU time, one BLAS thread)", title_justify="left")
    for name, justify in (
        ("", "left"),
        ("measured", "right"),
        ("bound", "right"),
        ("", "left"),
        ("from", "left"),
    ):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    fine, reasons = True, []
    for chapter in chapters:
        table.add_section()
        for figure in measure(chapter):
            verdict = "ok" if figure.holds else "over, see below" if figure.why else "OVER"
            table.add_row(
                f"{chapter}: {figure.what}",
                f"{figure.value:.3g} {figure.unit}",
                f"{figure.bound:.3g} {figure.unit}",
                verdict,
                figure.beside,
            )
            if not figure.holds:
                fine = fine and bool(figure.why)
                reasons.append(f"{chapter}: {figure.what}: {figure.why or 'no reason measured'}")
    console.print(table)
    for reason in reasons:
        console.print(reason, highlight=False)
    return fine


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CHAPTERS)} (default: all)")
    parser.add_argument("--child", action="store_true", help="measure here, and print each figure as JSON")
    options = parser.parse_args(arguments)
    chapters = options.names or list(CHAPTERS)
    unknown = [name for name in chapters if name not in CHAPTERS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; choose of {', '.join(CHAPTERS)}")
    if options.child:
        for chapter in chapters:
            for figure in importlib.import_module(f"tests.bench.{chapter}").figures():
                print(json.dumps(asdict(figure)), flush=True)
        return 0
    console = Console(width=None if sys.stdout.isatty() else 160)
    return 0 if show(console, chapters) else 1


if __name__ == "__main__":
    sys.exit(main())
