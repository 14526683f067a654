from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from refimpl.conformance import keeper, process
from refimpl.conformance.process import ProcessSubject, SubjectCrashError, SubjectTimeoutError
from refimpl.errors import SubjectError

from .folder import DUMMY, HOSTILE, living

STEPS = [{"do": "echo", "value": 1}]


@pytest.fixture(autouse=True)
def _short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CASE_SECONDS", 0.4)
    monkeypatch.setattr(process, "MAX_FRAME", 1 << 20)


def dummy(manner: str, scratch: Path) -> ProcessSubject:
    return ProcessSubject([sys.executable, str(DUMMY), manner], str(scratch))


def test_a_good_subject_answers_and_ends(tmp_path: Path) -> None:
    subject = dummy("good", tmp_path)
    outcomes = subject.case("plc.one", STEPS, 1)
    subject.close()

    assert [outcome.ok for outcome in outcomes] == [1]
    assert subject.greeting.impl.name == "dummy"


@pytest.mark.parametrize(
    ("manner", "error", "words"),
    [
        ("crasher", SubjectCrashError, "exit code 3"),
        ("killed", SubjectCrashError, "killed by SIGKILL"),
        ("closer", SubjectCrashError, "still running"),
        ("half", SubjectCrashError, "exit code 0"),
        ("hanger", SubjectTimeoutError, "0.4 seconds"),
        ("garbage", SubjectError, "no answer"),
        ("flood", SubjectError, "without the end of a line"),
        ("wrong_id", SubjectError, r"answered request \d+, not \d+"),
        ("refuser", SubjectError, "refused a request"),
        ("short", SubjectError, "0 outcomes for 1 steps"),
    ],
)
def test_each_fault_of_a_subject_is_an_error_of_its_own(
    tmp_path: Path, manner: str, error: type[SubjectError], words: str
) -> None:
    with closing(dummy(manner, tmp_path)) as subject:
        started = time.monotonic()
        with pytest.raises(error, match=words):
            subject.case("plc.one", STEPS, 1)

        assert time.monotonic() - started < 2.5


def test_an_answer_given_ahead_is_never_taken_for_the_next_one(tmp_path: Path) -> None:
    with closing(dummy("ahead", tmp_path)) as subject:
        subject.case("plc.one", STEPS, 1)
        time.sleep(0.1)
        with pytest.raises(SubjectError, match="before it was asked"):
            subject.case("plc.one", STEPS, 1)


def test_a_deaf_subject_does_not_block_a_large_request(tmp_path: Path) -> None:
    with closing(dummy("deaf", tmp_path)) as subject, pytest.raises(SubjectTimeoutError):
        subject.case("plc.one", [{"do": "echo", "value": "x" * 300_000}], 1)


def test_a_large_request_and_answer_go_through(tmp_path: Path) -> None:
    with closing(dummy("good", tmp_path)) as subject:
        (outcome,) = subject.case("plc.one", [{"do": "echo", "value": "x" * 500_000}], 10)

    assert len(outcome.ok) == 500_000


def test_standard_error_is_kept_to_its_end(tmp_path: Path) -> None:
    with closing(dummy("noisy", tmp_path)) as subject:
        for _ in range(3):
            subject.case("plc.one", STEPS, 10)

        assert 0 < len(subject.stderr()) <= process.TAIL


def test_a_restart_gives_a_subject_that_answers(tmp_path: Path) -> None:
    with closing(dummy("hanger", tmp_path)) as subject:
        with pytest.raises(SubjectTimeoutError):
            subject.case("plc.one", STEPS, 1)
        subject.command[-1] = "good"
        subject.restart()

        assert subject.case("plc.one", STEPS, 10)[0].ok == 1


def test_the_children_of_a_killed_subject_are_killed(tmp_path: Path) -> None:
    subject = dummy("parent", tmp_path)
    with pytest.raises(SubjectTimeoutError):
        subject.case("plc.one", STEPS, 1)
    child = int(subject.stderr().split()[-1])
    subject.close()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and _lives(child):
        time.sleep(0.02)

    assert not _lives(child)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    except OSError:
        os.kill(pid, 0)
        return True
    return state != "Z"


@pytest.mark.parametrize(("manner", "words"), [("stranger", "protocol 7"), ("rude", "greeting is broken")])
def test_a_greeting_is_checked(tmp_path: Path, manner: str, words: str) -> None:
    with pytest.raises(SubjectError, match=words):
        dummy(manner, tmp_path)


def test_a_silent_start_has_a_deadline_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "START_SECONDS", 0.3)

    with pytest.raises(SubjectTimeoutError, match=r"0\.3 seconds"):
        dummy("silent", tmp_path)


def test_a_command_that_is_not_there_is_a_subject_error(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="cannot start"):
        ProcessSubject(["/no/such/program"], str(tmp_path))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "it is a folder"),
        ("notes", "it is a file that may not be executed"),
        ("gone", "there is no such program"),
    ],
)
def test_what_is_there_and_is_no_program_is_not_said_to_be_gone(tmp_path: Path, word: str, said: str) -> None:
    (tmp_path / "notes").touch()

    with pytest.raises(SubjectError, match=said):
        ProcessSubject([str(tmp_path / word)], str(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="the keeper is there on Linux only")
def test_the_death_of_the_runner_is_the_death_of_the_subject(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from refimpl.conformance.process import ProcessSubject\n"
        f"folder = {str(tmp_path)!r}\n"
        f"subject = ProcessSubject([sys.executable, {str(DUMMY)!r}, 'good', folder], folder)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False, cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 5
    while living(str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert living(str(tmp_path)) == []


@pytest.mark.parametrize("code", [0, 7])
def test_the_keeper_ends_as_the_command_does(code: int) -> None:
    assert kept(f"import os; os._exit({code})") == code


def test_the_keeper_is_killed_by_the_signal_that_killed_the_command() -> None:
    assert kept("import os; os.kill(os.getpid(), 15)") == -15
    assert kept("import os; os.kill(os.getpid(), 9)") == -9


def kept(code: str) -> int:
    """How the keeper of a Python program ends."""
    if sys.platform != "linux":
        pytest.skip("the keeper is there on Linux only")
    held, control = os.pipe()
    try:
        words = [sys.executable, "-I", "-S", keeper.__file__, str(held), sys.executable, "-c", code]
        return subprocess.run(words, check=False, pass_fds=(held,)).returncode
    finally:
        os.close(held)
        os.close(control)


def test_without_a_keeper_the_group_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.sys, "platform", "darwin")
    subject = dummy("parent", tmp_path)
    with pytest.raises(SubjectTimeoutError):
        subject.case("plc.one", STEPS, 1)
    child = int(subject.stderr().split()[-1])
    subject.close()
    time.sleep(0.2)

    assert not _lives(child)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes on Linux only")
def test_a_line_without_end_costs_the_runner_no_more_than_the_longest_line(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from refimpl.conformance import process\n"
        "from refimpl.errors import SubjectError\n"
        f"folder = {str(tmp_path)!r}\n"
        f"subject = process.ProcessSubject([sys.executable, {str(HOSTILE)!r}, 'flood', folder], folder)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    subject.case('plc.one', [{'do': 'echo'}], 10)\n"
        "except SubjectError as error:\n"
        "    assert 'without the end' in str(error), error\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "subject.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2], capture_output=True
    )

    assert int(done.stdout) * 1024 < process.MAX_FRAME + (16 << 20)


def test_what_a_subject_says_when_it_dies_at_its_start_is_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no module called port')"]
    with pytest.raises(SubjectError, match="exit code 1: no module called port"):
        ProcessSubject(command, str(tmp_path))
