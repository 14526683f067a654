"""What fuzzing begins with: files that Burn wrote, broken ones, and every find so far."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.burnpack.containers import contents, golden

HOSTILE: Final = Path(__file__).resolve().parents[2] / "spec" / "cases" / "hostile"
_ROW: Final = re.compile(r"^\| `([\w.-]+\.bpk)` \| (\w[\w ]*) \| (.+) \|$", re.MULTILINE)
_MOST: Final = 4_096


def hostile() -> dict[str, tuple[bytes, str, str]]:
    """Each file of the corpus with what Burn does with it and why it is there, as its README says."""
    rows = _ROW.findall((HOSTILE / "README.md").read_text("utf-8"))
    return {name: ((HOSTILE / name).read_bytes(), verdict, why) for name, verdict, why in rows}


def seeds() -> list[bytes]:
    """Small containers of every kind."""
    good = [contents(case) for case in golden("burnpack.json.gz").values()]
    bad = [contents(case) for case in golden("burnpack_bad.json.gz")]
    spelled = [contents(case) for case in golden("burnpack_spellings.json.gz")]
    found = [data for data, _, _ in hostile().values()]
    return [data for data in (*good, *bad, *spelled[::7], *found) if len(data) <= _MOST]
