"""Several requests under way at once, blobs, limits and the sandbox."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refimpl.conformance import blobs, process, sandbox
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.process import FrameLimitError, ProcessSubject
from refimpl.conformance.result import Event, Restart, Result
from refimpl.conformance.runner import run
from refimpl.conformance.sandbox import sandboxed
from refimpl.errors import SubjectError

from .conftest import FLIGHT
from .folder import case_of, write_case


def cases(root: Path, *steps: dict[str, Any]) -> list[Any]:
    """One case a step, each expecting 1."""
    for number, step in enumerate(steps):
        write_case(root, case_of(f"plc.n{number:03}", steps=[step]))
    return load_cases(root)


def echo(value: object = 1) -> dict[str, Any]:
    return {"do": "echo", "value": value}


def verdicts(events: list[Event]) -> list[str]:
    return [event.verdict for event in events if isinstance(event, Result)]


def test_as_many_requests_are_under_way_as_the_subject_takes(tmp_path: Path, flight: ProcessSubject) -> None:
    events = list(run(flight, cases(tmp_path / "cases", *[echo()] * 40)))
    at_once = [int(line.split()[-1]) for line in (tmp_path / "log").read_text().split("\n") if "once" in line]

    assert verdicts(events) == ["pass"] * 40
    assert max(at_once) > 1
    assert max(at_once) <= 8


@pytest.mark.parametrize(("do", "verdict"), [("crash", "crash"), ("hang", "timeout")])
def test_what_was_under_way_behind_a_fault_is_asked_again(
    tmp_path: Path, flight: ProcessSubject, monkeypatch: pytest.MonkeyPatch, do: str, verdict: str
) -> None:
    monkeypatch.setattr(process, "CASE_SECONDS", 1.0)
    events = list(run(flight, cases(tmp_path / "cases", echo(), {"do": do}, *[echo()] * 12)))

    assert verdicts(events) == ["pass", verdict, *["pass"] * 12]
    (restart,) = [event for event in events if isinstance(event, Restart)]
    assert restart.label == "plc.n001"


def test_a_failure_in_the_middle_is_looked_at_again_without_losing_the_others(
    tmp_path: Path, flight: ProcessSubject
) -> None:
    events = list(run(flight, cases(tmp_path / "cases", echo(), echo(2), *[echo()] * 10)))

    assert verdicts(events) == ["pass", "fail", *["pass"] * 10]


def test_long_data_crosses_as_a_blob(tmp_path: Path, flight: ProcessSubject) -> None:
    content = bytes(range(256)) * 4096
    (outcome,) = flight.case("plc.blob", [{"do": "blob", "hex": content.hex()}], 1)

    assert outcome.ok == hashlib.sha256(content).hexdigest()


def test_blobs_are_given_at_any_depth_and_short_data_stays() -> None:
    short = {"hex": "00" * blobs.INLINE}

    assert blobs.give([{"entries": [short]}], "/nowhere") == [{"entries": [short]}]


def test_where_an_answer_is_cut_in_two_does_not_matter(flight: ProcessSubject) -> None:
    value = {"text": "é漢\u2028", "n": [1, 2.5, None]}
    for split in range(120):
        assert flight.case(f"plc.split{split}", [echo(value)], 1)[0].ok == value


def test_a_request_that_is_longer_than_the_subject_reads_is_not_sent(
    tmp_path: Path, flight: ProcessSubject
) -> None:
    with pytest.raises(FrameLimitError, match="longer than the subject reads"):
        flight.case("plc.long", [echo("x" * 600_000)], 1)

    assert flight.case("plc.short", [echo()], 1)[0].ok == 1
    (event,) = run(flight, cases(tmp_path / "cases", echo("x" * 600_000)))
    assert isinstance(event, Result)
    assert event.verdict == "unsupported"


def test_each_start_has_a_scratch_folder_of_its_own_that_is_gone_afterwards(flight: ProcessSubject) -> None:
    first = Path(flight.scratch)
    (first / "left").write_text("over")
    flight.restart()
    second = Path(flight.scratch)

    assert not first.exists()
    assert list(second.iterdir()) == []
    flight.close()
    assert not second.exists()


def test_a_blob_is_read_within_its_announced_length_only(tmp_path: Path) -> None:
    name = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / name).write_bytes(b"abc")
    blobs.check(name, 3, str(tmp_path))

    with pytest.raises(SubjectError, match="3 bytes, not 4"):
        blobs.check(name, 4, str(tmp_path))
    with pytest.raises(SubjectError, match="are read at most"):
        blobs.check(name, blobs.MAX_BLOB + 1, str(tmp_path))


@pytest.mark.parametrize("name", ["../x", "A" * 64, "0" * 63, "0" * 64 + "\n", "", 7, None])
def test_only_a_hash_is_a_name_of_a_blob(tmp_path: Path, name: object) -> None:
    with pytest.raises(SubjectError, match="no name of a blob"):
        blobs.check(name, 1, str(tmp_path))


def test_a_scratch_folder_that_has_become_a_link_is_not_followed(tmp_path: Path) -> None:
    name = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / name).write_bytes(b"abc")
    (tmp_path / "scratch").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SubjectError, match="cannot be opened"):
        blobs.check(name, 3, str(tmp_path / "scratch"))


def test_a_sandbox_is_made_with_bwrap_or_else_with_unshare(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"bwrap": "/usr/bin/bwrap", "unshare": "/usr/bin/unshare"}
    monkeypatch.setattr(sandbox.shutil, "which", here.get)
    wrapped = sandboxed(["port", "-v"], "/scratch")

    assert wrapped[0] == here.pop("bwrap")
    assert wrapped[-3:] == ["--", "port", "-v"]
    assert wrapped[wrapped.index("--bind") :][:3] == ["--bind", "/scratch", "/scratch"]
    assert sandboxed(["port"], "/scratch")[0] == here.pop("unshare")
    with pytest.raises(SubjectError, match="`bwrap` or `unshare`"):
        sandboxed(["port"], "/scratch")


def test_a_subject_in_a_sandbox_answers_and_sees_no_other_process(tmp_path: Path) -> None:
    try:
        works = subprocess.run(
            sandboxed(["true"], str(tmp_path)), check=False, capture_output=True
        ).returncode
    except SubjectError as error:
        pytest.skip(str(error))
    if works != 0:
        pytest.skip("this machine allows no namespaces: a sandbox cannot be made here")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, str(FLIGHT), str(scratch)]
    subject = ProcessSubject(command, str(scratch), sandbox=True)
    try:
        (seen,) = subject.case("plc.one", [{"do": "processes"}], 10)
        assert seen.ok <= 3
        assert (scratch / "log").exists() == (shutil.which("bwrap") is None)
    finally:
        subject.close()


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: which files are opened")
def test_nothing_outside_of_the_scratch_folder_is_opened_for_a_blob(tmp_path: Path) -> None:
    script = (
        "from refimpl.conformance import blobs\n"
        "from refimpl.errors import SubjectError\n"
        "import os, sys\n"
        f"os.symlink('/etc/hostname', {str(tmp_path / ('a' * 64))!r})\n"
        "for name in ('../../etc/hostname', '/etc/hostname', 'a' * 64):\n"
        "    try:\n"
        f"        blobs.check(name, 5, {str(tmp_path)!r})\n"
        "    except SubjectError:\n"
        "        continue\n"
        "    sys.exit('taken')\n"
    )
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=open,openat", "-o", str(trace), sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, cwd=Path(__file__).parents[2])
    if b"ptrace" in done.stderr:
        pytest.skip("this machine allows no tracing")
    opened = [line for line in trace.read_text().split("\n") if "hostname" in line]

    assert done.returncode == 0, done.stderr
    assert opened == []
    assert "ELOOP" in trace.read_text()
