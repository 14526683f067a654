"""Nothing in the repository belongs to one machine, or to one package index."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Written so that this file does not match itself.
FOREIGN = re.compile(
    rb"""(?<![\w./-]) / (?: home | Users ) / [a-z] [\w.-]* /     # somebody's folder
    | (?<![\w./-]) / (?: root | work ) / \w             # this machine's folders
    | index[-_]url
    | (?: pypi | pythonhosted | crates ) \. (?: org | io )         # a package index
    """,
    re.VERBOSE,
)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout: nothing says which files belong to the repository")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_holds_a_path_of_one_machine_or_an_address_of_a_package_index() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {hit.group().decode(errors='replace')}"
        for file in tracked_files()
        if file.suffix not in {".bpk", ".svg", ".gz"}
        for hit in FOREIGN.finditer(file.read_bytes())
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [b"see /ho~me/ann/x", b"open('/Us~ers/bob/y')", b"--index~-url", b"https://py~pi.org/simple"],
)
def test_the_pattern_finds_what_it_is_for(text: bytes) -> None:
    assert FOREIGN.search(text) is None
    assert FOREIGN.search(text.replace(b"~", b"")) is not None
