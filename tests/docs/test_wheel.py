"""The wheel alone is enough: the specification and its cases are in it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs hatchling: pip install 'refimpl[test]'")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_the_types_the_chapters_and_every_case(unpacked: Path) -> None:
    assert (unpacked / "refimpl" / "py.typed").is_file()
    shipped = {file.relative_to(unpacked / "refimpl" / "_spec") for file in unpacked.rglob("_spec/**/*.*")}
    tracked = {file.relative_to(ROOT / "spec") for file in (ROOT / "spec").rglob("*.*")}
    assert shipped == {file for file in tracked if "__pycache__" not in file.parts}


def test_an_installed_refimpl_shows_a_clause_without_a_checkout(unpacked: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "refimpl.cli.main", "spec", "PLC-3"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PLC-3")
