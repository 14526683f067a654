"""Small case files for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DUMMY = Path(__file__).with_name("dummy.py")
HOSTILE = Path(__file__).with_name("hostile.py")


def case_of(name: str = "plc.one", **fields: Any) -> dict[str, Any]:
    """A case that asks for an echo of 1 and expects it."""
    return {
        "id": name,
        "clauses": ["PLC-3"],
        "truth": "contract",
        "why": "An echo that says something else.",
        "provenance": {"source": "hand"},
        "steps": [{"do": "echo", "value": 1}],
        "expect": [{"ok": 1}],
        **fields,
    }


def write_case(root: Path, case: dict[str, Any], text: str | None = None) -> Path:
    """Write a case where its id says, or `text` there."""
    chapter, _, rest = case["id"].partition(".")
    path = root / chapter / f"{rest}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(case, indent=1) if text is None else text, encoding="utf-8")
    return path


def living(word: str) -> list[int]:
    """The processes whose command line ends in the word; a process that has ended has no command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().endswith(word.encode() + b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found
