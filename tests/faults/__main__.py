"""The full tier: every matrix of faults, every fuzz target, and a table of what was tried. `make faults`.

`--scale 0.1` fuzzes a tenth as long; `--only faults` or `--only fuzz` runs one half.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.matrices import CAN_FORK, FORKING, MATRICES
from tests.faults.points import Points

#: Target, seconds at scale 1, options. They run two at a time.
FUZZERS = (
    ("F1", 200, ["--plain", "--seed=101"]),
    ("F2", 300, ["--plain", "--seed=102"]),
    ("F1", 120, ["--seed=103"]),
    ("F3", 150, ["--plain", "--seed=104"]),
    ("F2", 240, ["--plain", "--seed=105"]),
    ("F2", 60, ["--seed=106"]),
    ("F3", 60, ["--seed=107"]),
)
#: Containers that the real crate reads too, at scale 1.
AGAINST_BURN = 30_000


@dataclass(frozen=True)
class Line:
    """One matrix of the report."""

    name: str
    points: int
    seconds: float
    found: list[str]


def faults(everything: Points) -> list[Line]:
    """Run the matrices one after the other, each in a folder in memory where there is one."""
    lines = []
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for name, (matrix, _) in MATRICES.items():
        if name in FORKING and not CAN_FORK:
            everything.notes.append(f"{name}: needs a system with fork")
            continue
        points, begun = Points(full=True), time.monotonic()
        made = Path(tempfile.mkdtemp(prefix="refimpl-faults-", dir=memory))
        try:
            matrix(points, made / "tried")
        finally:
            shutil.rmtree(made, ignore_errors=True)
        lines.append(Line(name, points.total, time.monotonic() - begun, points.found))
        print(
            f"{points.total:8,}  {lines[-1].seconds:6.1f} s  {len(points.found):3} finds  {name}", flush=True
        )
        everything.tried.update(points.tried)
        everything.found += [f"{name}: {found}" for found in points.found]
        everything.notes += points.notes
    return lines


def fuzz(scale: float, out: Path) -> list[dict[str, Any]]:
    """Run the fuzzers two at a time; what each says of itself."""
    commands = [
        [sys.executable, "-m", "tests.fuzz", target, f"--seconds={seconds * scale}", f"--out={out}", *options]
        for target, seconds, options in FUZZERS
    ]
    against = ["tests.fuzz.against_burn", f"--count={int(AGAINST_BURN * scale)}", f"--out={out}"]
    commands.insert(2, [sys.executable, "-m", *against])

    def run(command: list[str]) -> dict[str, Any]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said: dict[str, Any] = {
                "target": command[3],
                "executions": 0,
                "finds": {"ended": done.stderr[-800:]},
            }
        else:
            said = json.loads(done.stdout.splitlines()[-1])
        rate = f"{said.get('a second', 0):,} a second"
        print(
            f"{said['executions']:12,}  {rate:>16}  {len(said.get('finds', {})):3} finds  "
            f"{said['target']} {said.get('how', '')} {said.get('note', '')}",
            flush=True,
        )
        return said

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, commands))


def table(tried: Counter[tuple[str, str]]) -> str:
    """Points by operation, and by fault where there are few of them to an operation."""
    operations = sorted({operation for operation, _ in tried})
    rows = []
    for operation in operations:
        by_fault = {fault: count for (name, fault), count in tried.items() if name == operation}
        told = ", ".join(f"{fault} {count:,}" for fault, count in sorted(by_fault.items()))
        rows.append(f"  {operation:26} {sum(by_fault.values()):8,}  {told}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="how long to fuzz, as a part of the full time"
    )
    parser.add_argument("--only", choices=["faults", "fuzz"])
    parser.add_argument("--out", type=Path, default=Path("build/finds"), help="where finds are written")
    chosen = parser.parse_args()
    begun, points = time.monotonic(), Points(full=True)
    said: list[dict[str, Any]] = []
    if chosen.only != "fuzz":
        print("fault points")
        faults(points)
        print("\nby operation and fault\n" + table(points.tried))
        print("\n" + "\n".join(f"  {note}" for note in points.notes))
    if chosen.only != "faults":
        print("\nfuzz executions")
        said = fuzz(chosen.scale, chosen.out)
    executions = sum(one["executions"] for one in said)
    found = points.found + [
        f"{one['target']}: {k}: {v}" for one in said for k, v in one.get("finds", {}).items()
    ]
    for line in found:
        print(f"FOUND {line}")
    print(
        f"\n{points.total:,} fault points, {executions:,} fuzz executions, {len(found)} finds, "
        f"{time.monotonic() - begun:.0f} s"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
