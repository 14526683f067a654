from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from refimpl.cli import signals
from refimpl.cli.main import main
from tests.conformance.folder import DUMMY, case_of, living, write_case


def started(folder: Path, *before: str) -> tuple[subprocess.Popen[str], str, Path]:
    """A run whose subject does not answer; its last word, and its folder for temporary files."""
    cases, scratch, word = folder / "cases", folder / "scratch", str(folder / "port.py")
    write_case(cases, case_of(cost=100))
    scratch.mkdir()
    Path(word).write_text(DUMMY.read_text().replace("sys.argv[1]", "'hanger'"))
    command = [*before, sys.executable, "-m", "refimpl.cli.main", "conform", "--cases", str(cases)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*command, f"--subject=cmd:{sys.executable} {word}", f"--html={folder / 'page.html'}"],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=pipe,
        stderr=pipe,
        text=True,
    )
    end = time.monotonic() + 30
    while not (living(word) and list(scratch.glob("refimpl-*/1"))):
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.3)
    return process, word, scratch


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_run_that_is_told_to_end_clears_away_what_it_made(tmp_path: Path, name: str) -> None:
    process, word, scratch = started(tmp_path)
    process.send_signal(signal.Signals[name])
    shown, said = process.communicate(timeout=30)

    assert process.returncode == 128 + signal.Signals[name]
    assert "interrupted" in said
    assert "0 cases (0 variants), interrupted" in shown
    assert "Traceback" not in said
    assert list(scratch.iterdir()) == []
    assert living(word) == []
    assert (tmp_path / "page.html").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_a_hang_up_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    process, word, _ = started(tmp_path, "nohup")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)

    assert process.poll() is None
    assert living(word)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_has_nothing_to_tell_says_that_it_was_interrupted(
    number: signal.Signals, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from refimpl.cli import spec

    monkeypatch.setattr(spec, "load_clauses", lambda: os.kill(os.getpid(), number))
    monkeypatch.setattr(signals, "_leave_the_terminal", lambda: None)

    assert main(["spec"]) == 128 + number
    assert "interrupted" in capsys.readouterr().err
    assert signal.getsignal(number) == signal.SIG_DFL


#: Ends when the terminal of a run is closed; says how the run ended.
_HANG_UP = """
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-m", "refimpl.cli.main", *sys.argv[1:]])
time.sleep(3)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal that can be closed")
def test_a_terminal_that_is_closed_ends_a_run_as_any_signal_does(tmp_path: Path) -> None:
    write_case(tmp_path / "cases", case_of(cost=100))
    (tmp_path / "scratch").mkdir()
    words = ["conform", "--cases", str(tmp_path / "cases"), f"--subject=cmd:{sys.executable} {DUMMY} hanger"]
    done = subprocess.run(
        [sys.executable, "-c", _HANG_UP, *words],
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == (f"{128 + signal.SIGHUP}\n", "")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_in_a_thread_no_signal_is_looked_after() -> None:
    seen = []

    def look() -> None:
        with signals.ending():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [signal.SIG_DFL]
