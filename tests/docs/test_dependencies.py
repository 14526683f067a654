"""docs/explain/dependencies.md has a line for every dependency, and for nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def declared() -> set[tuple[str, str]]:
    """Each (package, extra) of pyproject.toml; the extra is empty for what is always installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        (re.split(r"[<>=~!\[; ]", line)[0], extra)
        for extra, lines in wanted.items()
        for line in lines
        if not line.startswith("refimpl")
    }


def explained() -> set[tuple[str, str]]:
    """Each (package, extra) that the page has a line for."""
    page = (ROOT / "docs" / "explain" / "dependencies.md").read_text("utf-8")
    found: set[tuple[str, str]] = set()
    for package, second in re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|", page, re.MULTILINE):
        extras = (
            re.findall(r"`([\w-]+)`", second) if re.fullmatch(r"(`[\w-]+`(, )?)+", second.strip()) else [""]
        )
        found |= {(package, extra) for extra in extras}
    return found


def test_every_dependency_has_its_line() -> None:
    assert explained() == declared()


def test_every_development_version_is_pinned_by_name_and_version_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").split("\n")

    assert [line for line in lines if line and not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if line}
    optional = {"cupy-cuda12x", "array-api-compat"}  # chosen by the GPU of the machine
    needed = {package.lower().replace("_", "-") for package, _ in declared()}
    assert needed - optional - pinned == set()
