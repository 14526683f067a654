"""Fuzz one target for a time: `python -m tests.fuzz F1 --seconds 60`.

With atheris the search is guided by coverage; without it, or with `--plain`, mutations of the seeds are tried
at random. Both mutate CBOR by its items. Finds are written to `--out`; the last line is a summary as
JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=["F1", "F2", "F3"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=1 << 40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without atheris, even where it is installed")
    parser.add_argument("--out", type=Path, default=Path("build/finds"))
    parser.add_argument("--guided", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.guided is not None:
        _guided(chosen)
    elif chosen.plain or find_spec("atheris") is None:
        print(json.dumps(plain(chosen.target, chosen.seconds, chosen.runs, chosen.seed, chosen.out)))
    else:
        print(json.dumps(guided(chosen)))
    return 0


class Keeper:
    """A target that keeps what it finds and goes on, so that one find does not hide the next."""

    def __init__(self, target: Callable[[bytes], bool], letter: str, out: Path) -> None:
        self.target, self.letter, self.out = target, letter, out
        self.executions = self.accepted = 0
        self.kinds: dict[str, str] = {}

    def __call__(self, data: bytes) -> None:
        self.executions += 1
        if self.letter == "F2":
            data = data[10 : 10 + int.from_bytes(data[6:10], "little")]
        try:
            self.accepted += self.target(data)
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {where.name}, line {where.lineno}"
            if kind not in self.kinds:
                self.kinds[kind] = f"{error}"[:500]
                self.out.mkdir(parents=True, exist_ok=True)
                stem = f"{self.letter}-{zlib.crc32(data):08x}"
                (self.out / f"{stem}.bin").write_bytes(data)
                (self.out / f"{stem}.txt").write_text(f"{kind}\n{error}\n", "utf-8")
            if isinstance(error, KeyboardInterrupt):
                raise


def _target(letter: str) -> Callable[[bytes], bool]:
    from tests.fuzz.targets import TARGETS

    return next(target for name, target in TARGETS.items() if name.startswith(letter))


def plain(letter: str, seconds: float, runs: int, seed: int, out: Path) -> dict[str, object]:
    """Random mutations of the seeds, of small ones mostly."""
    from tests.fuzz.corpus import seeds
    from tests.fuzz.mutation import mutated

    keeper = Keeper(_target(letter), letter, out)
    begun, rng, every = time.monotonic(), random.Random(seed), seeds()
    small = [data for data in every if int.from_bytes(data[6:10], "little") <= 160]
    while keeper.executions < runs:
        if keeper.executions % 500 == 0 and time.monotonic() - begun > seconds:
            break
        pool = small if rng.random() < 0.9 else every
        keeper(mutated(rng.choice(pool), rng, rng.choice(every)))
    return _summary(letter, "random", keeper.executions, time.monotonic() - begun, keeper.kinds)


def guided(chosen: argparse.Namespace) -> dict[str, object]:
    """The same target under atheris, in a process of its own: it ends its process."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz", chosen.target, "--guided", folder]
        command += [f"--seconds={chosen.seconds}", f"--runs={chosen.runs}", f"--seed={chosen.seed}"]
        command += [f"--out={chosen.out}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
        kinds = {}
        with contextlib.suppress(OSError):
            kinds = json.loads((Path(folder) / "finds.json").read_text("utf-8"))
    count = re.search(r"Done (\d+) runs", done.stderr)
    if count is None or done.returncode:
        kinds["the fuzzer ended"] = done.stderr[-1500:]
    covered = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    found = _summary(chosen.target, "guided", int(count[1]) if count else 0, time.monotonic() - begun, kinds)
    return found | {"edges": int(covered[-1][0]), "features": int(covered[-1][1])} if covered else found


def _guided(chosen: argparse.Namespace) -> None:
    import atheris

    with atheris.instrument_imports(include=["refimpl.burnpack"]):
        target = _target(chosen.target)
    from tests.fuzz.corpus import seeds
    from tests.fuzz.mutation import mutated

    keeper = Keeper(target, chosen.target, chosen.out)
    every = [data for data in seeds() if int.from_bytes(data[6:10], "little") <= 400]
    corpus = chosen.guided / "corpus"
    corpus.mkdir()
    for number, data in enumerate(every):
        (corpus / f"{number:04}").write_bytes(data)

    def one(data: bytes) -> None:
        known = len(keeper.kinds)
        keeper(data)
        if len(keeper.kinds) > known:
            (chosen.guided / "finds.json").write_text(json.dumps(keeper.kinds), "utf-8")

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        return mutated(bytes(data), rng, rng.choice(every))[:max_size]

    runs = min(chosen.runs, 1 << 31)
    options = [f"-max_total_time={max(1, int(chosen.seconds))}", f"-runs={runs}", f"-seed={chosen.seed}"]
    options += ["-max_len=4096", "-timeout=10", "-rss_limit_mb=1024", f"-artifact_prefix={chosen.guided}/"]
    atheris.Setup([sys.argv[0], str(corpus), *options], one, custom_mutator=mutate)
    atheris.Fuzz()


def _summary(
    letter: str, how: str, executions: int, seconds: float, kinds: dict[str, str]
) -> dict[str, object]:
    rate = round(executions / max(seconds, 0.001))
    return {"target": letter, "how": how, "executions": executions, "a second": rate, "finds": kinds}


if __name__ == "__main__":
    sys.exit(main())
