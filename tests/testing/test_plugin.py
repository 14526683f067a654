from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(folder: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "refimpl.testing.plugin", "-p", "no:cacheprovider", "-q"]
    root = Path(__file__).resolve().parents[2]
    options = ["--rootdir", str(folder), "-c", "/dev/null", str(folder)]
    done = subprocess.run(
        [*command, *options, *words], cwd=root, capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout + done.stderr


def test_every_variant_is_an_item_that_passes(tmp_path: Path) -> None:
    code, shown = run(tmp_path, "--refimpl-subject=refimpl", "--refimpl-case=plc.even")

    assert code == 0, shown
    assert "passed" in shown


def test_a_difference_is_a_failure_with_its_clause_and_command(tmp_path: Path) -> None:
    subject = "py:tests.conformance.fuzz.wrong:LastDevices"
    code, shown = run(tmp_path, f"--refimpl-subject={subject}", "--refimpl-case=plc.even.repeated")

    assert code == 1
    assert "PLC-3: `even(devices, n)`: use the first k" in shown
    assert f"again: refimpl conform --subject '{subject}' --case plc.even.repeated" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--refimpl-subject=refimpl", "--refimpl-case=plc.nothing"], 4), ([], 5)],
)
def test_without_cases_there_is_nothing_to_do(tmp_path: Path, words: list[str], code: int) -> None:
    assert run(tmp_path, *words)[0] == code
