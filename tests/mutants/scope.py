"""What is on trial: every module of the reference, less what `unasked.toml` sets aside with a reason.

A function may be set aside only as long as no variant runs a line of it; `equivalent.toml` excuses single
mutants only as long as no variant notices them. Both are checked by every run over the whole.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.mutants.reach import ROOT

HERE = Path(__file__).resolve().parent
#: The tool that asks, its command line and what wraps it: they are no part of what the cases specify.
_TOOLS = ("cli", "conformance", "testing")


def modules() -> list[str]:
    """Every module below `refimpl` that is no tool, as `param.matcher`."""
    folder = ROOT / "refimpl"
    found = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    return sorted(
        ".".join(path.parts) for path in found if path.parts[0] not in _TOOLS and path.name != "__init__"
    )


def unasked() -> dict[str, str]:
    """The reason of each place: a function, or with a colon or dot at the end all that begins so."""
    return _reasons("unasked")


def equivalent() -> dict[str, str]:
    """The reason of each mutant, by its name."""
    return _reasons("equivalent")


def _reasons(word: str) -> dict[str, str]:
    entries = tomllib.loads((HERE / f"{word}.toml").read_text())[word]
    found: dict[str, str] = {}
    for entry in entries:
        if len(entry["reason"].split()) < 3:
            raise SystemExit(f"{word}.toml: {entry['names'][0]} has no reason")
        for name in entry["names"]:
            if name in found:
                raise SystemExit(f"{word}.toml: {name} stands there twice")
            found[name] = entry["reason"]
    return found


def covering(place: str, names: dict[str, str]) -> str | None:
    """The entry that sets a function aside."""
    for name in names:
        if place == name or (name[-1] in ":." and place.startswith(name)):
            return name
    return None
