"""Mutated containers, read by the real crate and by us: `python -m tests.fuzz.against_burn --count 20000`.

The crate answers through its adapter, which `refimpl conform --subject burn` builds.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import re
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import msgspec

from refimpl.conformance.process import ProcessSubject
from refimpl.conformance.reference import ReferenceSubject
from tests.fuzz.corpus import seeds
from tests.fuzz.mutation import mutated

CRATE = Path(__file__).resolve().parents[1] / "adapters" / "burn"


def adapter() -> Path | None:
    """The program, where it is built."""
    program = Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target")) / "release" / "burn-adapter"
    return program if program.is_file() else None


def steps(data: bytes) -> list[dict[str, Any]]:
    return [
        {"do": "bytes.make", "base64": base64.b64encode(data).decode(), "as": "b"},
        {"do": "pack.open", "bytes": "b", "as": "p"},
        {"do": "pack.entries", "on": "p"},
    ]


def compared(subject: ProcessSubject, inputs: list[bytes]) -> list[tuple[bytes, str]]:
    """The inputs that the two read differently, with what each says."""
    different = []
    ours_too = ReferenceSubject()
    for data in inputs:
        asked = steps(data)
        theirs = [msgspec.to_builtins(outcome) for outcome in subject.case("fuzz", asked, 1)][1:]
        ours = list(ours_too.case("fuzz", asked))[1:]
        a, b = (_plain(outcomes) for outcomes in (theirs, ours))
        if a != b and not _on_purpose(ours):
            different.append((data, f"burn: {a:.600}\nours: {b:.600}"))
    return different


def _plain(outcomes: list[Any]) -> str:
    """As text, without what is a detail: where the syntax ends, and the steps after a refusal."""
    text = json.dumps([{k: v for k, v in o.items() if v is not None} for o in outcomes[:2]], sort_keys=True)
    if "error" in outcomes[0] or "panic" in outcomes[0]:
        text = json.dumps(outcomes[0], sort_keys=True)
    return re.sub(r"Syntax\(\d+\)", "Syntax", text)


def _on_purpose(ours: list[Any]) -> bool:
    """Deviations: what we refuse and Burn does not, or not yet."""
    text = json.dumps(ours)
    return "axes is stored in" in text or "the metadata holds" in text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.against_burn", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/finds"))
    chosen = parser.parse_args()
    program = adapter()
    if program is None:
        print(json.dumps({"target": "F2 burn", "executions": 0, "note": "the adapter is not built"}))
        return 0
    rng, every, begun = random.Random(chosen.seed), seeds(), time.monotonic()
    found: dict[str, str] = {}
    done = 0
    with tempfile.TemporaryDirectory() as scratch:
        subject = ProcessSubject([str(program)], scratch)
        while done < chosen.count:
            inputs = [mutated(rng.choice(every), rng, rng.choice(every)) for _ in range(100)]
            for data, told in compared(subject, inputs):
                name = f"burn-{zlib.crc32(data):08x}"
                chosen.out.mkdir(parents=True, exist_ok=True)
                (chosen.out / f"{name}.bpk").write_bytes(data)
                (chosen.out / f"{name}.txt").write_text(told + "\n", "utf-8")
                found[name] = told
            done += len(inputs)
        subject.close()
    spent = time.monotonic() - begun
    print(
        json.dumps(
            {
                "target": "F2 burn",
                "how": "random",
                "executions": done,
                "a second": round(done / spent),
                "finds": found,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
