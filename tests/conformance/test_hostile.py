"""Each hostile subject gets the verdict that is its own; none leaves a process or a descriptor behind."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from refimpl.conformance import process
from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.outcome import Outcome
from refimpl.conformance.printable import plain
from refimpl.conformance.protocol import Greeting
from refimpl.conformance.report import Report
from refimpl.conformance.result import Event, Result
from refimpl.conformance.runner import run
from refimpl.conformance.subject import open_subject

from .folder import HOSTILE, case_of, living, write_case

LINUX = sys.platform == "linux"
#: The deadline of those that pass it; the others have ten times as long, on a busy machine too.
SECONDS = 2.0
CONTENT = b"\x01" * 70_000
BLOB = {"dtype": "u8", "shape": [70_000], "nbytes": 70_000, "sha256": hashlib.sha256(CONTENT).hexdigest()}

#: Manner: (verdicts of the cases and findings, exit code, words of the last message).
VERDICTS = {
    "good": (["pass"], 0, ""),
    "liar": (["fail"], 1, ""),
    "under_claimer": (["unsupported", "underclaim"], 1, "does not claim 'debug'"),
    "over_claimer": (["overclaim"], 1, "lora: not today"),
    "crasher": (["crash"], 2, "exit code 3: I give up"),
    "hanger": (["timeout"], 2, "no answer within 2 seconds"),
    "slow_starter": (["pass"], 0, ""),
    "noisy": (["pass"], 0, ""),
    "partial_writer": (["crash"], 2, "exit code 0"),
    "half_line": (["timeout"], 2, "no answer"),
    "wrong_id": (["adapter fault"], 2, "answered request"),
    "bleeder": (["pass", "bleed"], 1, "passes alone; after plc.one"),
    "flaky": (["pass", "flaky"], 1, "asked alone"),
    "leaver": (["crash"], 2, "exit code 0"),
    "flood": (["adapter fault"], 2, "without the end of a line"),
    "deaf": (["timeout"], 2, "no answer"),
    "closer": (["crash"], 2, "still running"),
    "ahead": (["pass", "adapter fault"], 2, ""),
    "deep": (["adapter fault"], 2, ""),
    "nan": (["adapter fault"], 2, "no answer"),
    "huge": (["adapter fault"], 2, ""),
    "surrogate": (["adapter fault"], 2, ""),
    "blob": (["pass"], 0, ""),
    "blob_dots": (["adapter fault"], 2, "no name of a blob"),
    "blob_nowhere": (["adapter fault"], 2, "No such file"),
    "blob_link": (["adapter fault"], 2, "symbolic links"),
    "blob_hard_link": (["adapter fault"], 2, "no plain file"),
    "blob_fifo": (["adapter fault"], 2, "no plain file"),
    "blob_folder": (["adapter fault"], 2, "no plain file"),
    "blob_hash": (["adapter fault"], 2, "holds other bytes"),
    "blob_grows": (["adapter fault"], 2, "bytes, not 70000"),
    "stopper": (["timeout"], 2, "no answer"),
    "bomb": (["timeout"], 2, "no answer"),
    "filler": (["adapter fault"], 2, "scratch folder"),
    "escape": (["crash"], 2, "I give up"),
}
#: These give no answer in time.
LATE = tuple(manner for manner, (verdicts, _, _) in VERDICTS.items() if "timeout" in verdicts)
#: These are asked two cases; the others one.
TWICE = ("bleeder", "flaky", "ahead")


class Run(NamedTuple):
    events: list[Event]
    left: list[int]


class Runs(NamedTuple):
    by_manner: dict[str, Run]
    seconds: float
    descriptors: tuple[int, int]


def put(manner: str, folder: Path) -> Run:
    """Run the cases against one subject."""
    expect = {"ok": BLOB} if manner.startswith("blob") else {"ok": 1}
    made = case_of(requires=["debug"], expect=[expect])
    if manner == "deaf":
        made["steps"] = [{"do": "echo", "value": "x" * 300_000}]
    if manner not in LATE:
        made["cost"] = 10
    write_case(folder / "cases", made)
    if manner in TWICE:
        write_case(folder / "cases", case_of("plc.two", requires=["debug"], cost=made.get("cost", 1)))
    with open_subject(f"cmd:{sys.executable} {HOSTILE} {manner} {folder}") as subject:
        events = list(run(subject, load_cases(folder / "cases")))
    return Run(events, living(str(folder)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """All subjects at once."""
    root = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "CASE_SECONDS", SECONDS)
        patch.setattr(process, "MAX_FRAME", 2 << 20)
        patch.setattr(process, "MAX_SCRATCH", 1 << 20)
        folders = {manner: root / manner for manner in VERDICTS}
        for folder in folders.values():
            folder.mkdir()
        before, started = descriptors(), time.monotonic()
        with ThreadPoolExecutor(len(folders)) as pool:
            made = dict(zip(folders, pool.map(put, folders, folders.values()), strict=True))
        yield Runs(made, time.monotonic() - started, (before, descriptors()))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if LINUX else 0


def report_of(manner: str, events: list[Event]) -> Report:
    report = Report(f"cmd:{manner}", load_clauses(), {}, strict=False)
    for event in events:
        report.add(event)
    return report


@pytest.mark.parametrize("manner", VERDICTS)
def test_each_subject_gets_the_verdict_and_the_exit_code_that_are_its_own(runs: Runs, manner: str) -> None:
    verdicts, code, words = VERDICTS[manner]
    events = [event for event in runs.by_manner[manner].events if hasattr(event, "verdict")]

    assert [event.verdict for event in events] == verdicts
    assert words in events[-1].message
    assert report_of(manner, events).exit_code() == code


@pytest.mark.parametrize("manner", LATE)
def test_no_subject_holds_an_answer_back_longer_than_the_deadline_and_a_second(
    runs: Runs, manner: str
) -> None:
    waited = [event.seconds for event in runs.by_manner[manner].events if isinstance(event, Result)]

    assert max(waited) < SECONDS + 1


@pytest.mark.skipif(not LINUX, reason="what a subject leaves in another session is killed on Linux only")
@pytest.mark.parametrize("manner", VERDICTS)
def test_no_process_is_left(runs: Runs, manner: str) -> None:
    assert runs.by_manner[manner].left == []


@pytest.mark.skipif(not LINUX, reason="descriptors are counted in /proc")
def test_no_descriptor_is_left(runs: Runs) -> None:
    before, after = runs.descriptors

    assert after == before


def test_all_of_them_together_take_less_than_ten_seconds(runs: Runs) -> None:
    assert runs.seconds < 10


def test_what_a_subject_says_while_it_dies_is_shown_without_control_characters(runs: Runs) -> None:
    (result, *_) = [event for event in runs.by_manner["escape"].events if isinstance(event, Result)]

    assert "\x1b" in result.message
    assert plain(result.message).isprintable()


# The tests are tested: with these faults planted they would fail.


@pytest.mark.skipif(not LINUX, reason="elsewhere the group is all that is killed")
def test_to_kill_the_group_only_would_leave_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.sys, "platform", "killpg only")
    left = put("leaver", tmp_path).left
    for pid in left:
        os.kill(pid, signal.SIGKILL)

    assert left != []


@pytest.mark.parametrize("manner", ["nan", "huge", "surrogate"])
def test_to_read_lines_with_json_would_take_what_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    def lenient(line: bytes, number: int) -> Any:
        return json.loads(line)["ok"]

    def trace(content: dict[str, Any], steps: int) -> tuple[Outcome, ...]:
        return tuple(msgspec.convert(step, Outcome) for step in content["steps"])

    monkeypatch.setattr(process, "decode", lenient)
    monkeypatch.setattr(process, "read_greeting", lambda content: msgspec.convert(content, Greeting))
    monkeypatch.setattr(process, "read_trace", trace)
    events = put(manner, tmp_path).events

    assert [event.verdict for event in events if isinstance(event, Result)] != VERDICTS[manner][0]
