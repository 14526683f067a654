"""What fuzzing begins with: files that Burn wrote, broken ones, and every find so far."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.burnpack.containers import contents, golden

HOSTILE: Final = Path(__file__).resolve().parents[2] / "spec" / "cases" / "hostile"
_ROW: Final = re.compile(r"^\| `([\w.-]+\.bpk)` \| (\w+) \| ([\w, ]+) \| (.+) \|$", re.MULTILINE)
_MOST: Final = 4_096


@dataclass(frozen=True)
class Hostile:
    """A file of the corpus: what `verify` says of it, what Burn does with it, and why it is there."""

    data: bytes
    verdict: str
    burn: str
    why: str


def hostile() -> dict[str, Hostile]:
    """The corpus by file name, as its README says."""
    rows = _ROW.findall((HOSTILE / "README.md").read_text("utf-8"))
    return {name: Hostile((HOSTILE / name).read_bytes(), *said) for name, *said in rows}


def seeds() -> list[bytes]:
    """Small containers of every kind."""
    good = [contents(case) for case in golden("burnpack.json.gz").values()]
    bad = [contents(case) for case in golden("burnpack_bad.json.gz")]
    spelled = [contents(case) for case in golden("burnpack_spellings.json.gz")]
    found = [file.data for file in hostile().values()]
    return [data for data in (*good, *bad, *spelled[::7], *found) if len(data) <= _MOST]
