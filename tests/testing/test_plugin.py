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
    assert f"again: refimpl conform --subject {subject} --case plc.even.repeated\n" in shown
    assert "Traceback" not in shown


def test_what_a_subject_does_not_claim_or_not_support_is_skipped_with_the_reason(tmp_path: Path) -> None:
    lesser = ("--refimpl-subject=py:tests.testing.subjects:Lesser", "-rs")
    for case, reason in (
        ("qnt", "does not claim 'quant'"),
        ("plc.even.repeated", "placement: not here"),
    ):
        code, shown = run(tmp_path, *lesser, f"--refimpl-case={case}")
        assert code == 0, shown
        assert " skipped" in shown
        assert reason in shown


def test_what_differs_only_once_is_flaky(tmp_path: Path) -> None:
    subject = "py:tests.testing.subjects:Once"
    code, shown = run(tmp_path, f"--refimpl-subject={subject}", "--refimpl-case=plc.even.repeated")

    assert code == 1
    assert "flaky: plc.even.repeated" in shown
    assert "1 failed" in shown


def test_a_fault_fails_its_own_variant_alone(tmp_path: Path) -> None:
    subject = "py:tests.testing.subjects:RaisesOnce"
    code, shown = run(tmp_path, f"--refimpl-subject={subject}", "--refimpl-case=plc.even.grid")

    assert code == 1
    assert "adapter fault: plc.even.grid[" in shown
    assert f"again: refimpl conform --subject {subject} --case 'plc.even.grid[" in shown
    assert "1 failed" in shown
    assert " passed" in shown


def test_known_differences_of_our_own_subjects_are_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refimpl.conformance import expectations

    known = tmp_path / "known.toml"
    known.write_text(
        'version = "*"\n[[xfail]]\ncase = "plc.even.repeated*"\ndifference = "*"\nreason = "theirs"\n'
    )
    monkeypatch.setattr(expectations, "expectations_file", lambda _: known)
    words = ["-p", "refimpl.testing.plugin", "-p", "no:cacheprovider", "-q", "--rootdir", str(tmp_path)]
    words += ["-c", "/dev/null", str(tmp_path), "--refimpl-case=plc.even.repeated"]

    assert pytest.main([*words, "--refimpl-subject=py:tests.conformance.fuzz.wrong:LastDevices"]) == 0


@pytest.mark.parametrize(
    ("subject", "said"),
    [("bogus", "there is no subject 'bogus' (a subject is `refimpl`"), ("cmd:python nope.py", "nope.py")],
)
def test_a_subject_that_is_not_there_is_one_line(tmp_path: Path, subject: str, said: str) -> None:
    code, shown = run(tmp_path, f"--refimpl-subject={subject}", "--refimpl-case=plc.even.repeated")

    assert code == 4
    assert "INTERNALERROR" not in shown
    [line] = [line for line in shown.split("\n") if line.startswith("ERROR: ")]
    assert line.startswith(f"ERROR: --refimpl-subject={subject}: ")
    assert said in line


def test_to_collect_starts_no_subject(tmp_path: Path) -> None:
    code, shown = run(
        tmp_path, "--refimpl-subject=cmd:nobody", "--refimpl-case=plc.even.repeated", "--collect-only"
    )

    assert code == 0
    assert "plc.even.repeated" in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--refimpl-subject=refimpl", "--refimpl-case=plc.nothing"], 4), ([], 5)],
)
def test_without_cases_there_is_nothing_to_do(tmp_path: Path, words: list[str], code: int) -> None:
    assert run(tmp_path, *words)[0] == code
