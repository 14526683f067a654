from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from refimpl.cli.main import main
from refimpl.conformance import process
from tests.conformance.folder import DUMMY, case_of, write_case

ECHO = "py:tests.conformance.broken:Echo"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    write_case(tmp_path, case_of())
    write_case(tmp_path, case_of("plc.two", clauses=["PLC-1"], expect=[{"ok": 2}]))
    write_case(tmp_path, case_of("dev.three", clauses=["DEV-1"], truth="ours"))
    return tmp_path


def conform(folder: Path, *words: str) -> int:
    return main(["conform", "--cases", str(folder), *words])


def report(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_table_counts_a_chapter_and_shows_each_failure(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conform(cases, "--subject", ECHO) == 1
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.split("\n")]

    assert ["PLC", "2/15", "2", "1", "1", "0"] in lines
    assert ["total", "3", "2", "1", "0"] in [[*line[:1], *line[2:]] for line in lines if line]
    assert "fail: plc.two, step 0" in shown
    assert "  PLC-1: Fields input" in shown
    assert "  $.ok: expected 2, got 1" in shown
    assert f"  again:   refimpl conform --subject {ECHO} --case plc.two" in shown
    assert "no case asks: " in shown
    assert "3 cases (3 variants), differences" in shown


def test_json_is_all_that_is_written(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(cases, "--subject", ECHO, "--json") == 1
    made = report(capsys)

    assert made["exit_code"] == 1
    assert made["total"]["cases"] == 3
    assert [failure["case"] for failure in made["failures"]] == ["plc.two"]


@pytest.mark.parametrize(
    ("words", "count"),
    [(["--chapter", "plc"], 2), (["--case", "plc.one"], 1), (["--case", "dev"], 1), (["--truth", "ours"], 1)],
)
def test_cases_can_be_chosen(
    cases: Path, capsys: pytest.CaptureFixture[str], words: list[str], count: int
) -> None:
    conform(cases, "--subject", ECHO, "--json", *words)

    assert report(capsys)["total"]["cases"] == count


@pytest.mark.parametrize(
    "words",
    [
        ["--chapter", "xyz"],
        ["--case", "plc.nothing"],
        ["--truth", "maybe"],
        ["--case", "plc.one", "--chapter", "dev"],
    ],
)
def test_a_choice_of_nothing_is_a_question_of_usage(cases: Path, words: list[str]) -> None:
    assert conform(cases, "--subject", ECHO, *words) == 4


def test_a_variant_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = {"axes": {"n": [1, 2, 3]}, "expect": {f"n={n}": [{"ok": 1}] for n in (1, 2, 3)}}
    write_case(tmp_path, case_of(**three))

    assert conform(tmp_path, "--subject", ECHO, "--json", "--case", "plc.one[n=2]") == 0
    assert report(capsys)["total"]["variants"] == 1
    assert conform(tmp_path, "--subject", ECHO, "--case", "plc.one[n=4]") == 4
    assert "there is no case 'plc.one[n=4]'" in (told := capsys.readouterr().err)
    assert "it has plc.one[n=1], plc.one[n=2], plc.one[n=3]" in told


@pytest.mark.parametrize(
    ("name", "count"), [("[m=a,n=2]", 1), ("[n=2,m=a]", 1), ("[n=2]", 2), ("[m=a]", 3), ("", 6)]
)
def test_variants_are_chosen_by_values_on_some_axes_in_any_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, count: int
) -> None:
    expect = {f"m={m},n={n}": [{"ok": 1}] for m in "ab" for n in (1, 2, 3)}
    write_case(tmp_path, case_of(axes={"m": ["a", "b"], "n": [1, 2, 3]}, expect=expect))

    assert conform(tmp_path, "--subject", ECHO, "--json", "--case", f"plc.one{name}") == 0
    assert report(capsys)["total"]["variants"] == count


def test_a_subject_that_cannot_be_is_exit_code_4(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(cases, "--subject", "nobody") == 4
    assert "hint: a subject is `refimpl`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("subject", "code"), [('cmd:"python', 4), ("cmd:", 4), ("py:os", 4), ("py:", 4), ("py:os:Nobody", 2)]
)
def test_a_subject_that_is_written_wrong_is_told_from_one_that_is_not_there(
    cases: Path, capsys: pytest.CaptureFixture[str], subject: str, code: int
) -> None:
    assert conform(cases, "--subject", subject) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_crashing_subject_is_exit_code_2_and_is_told_apart(
    cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CASE_SECONDS", 0.5)

    assert conform(cases, "--subject", f"cmd:{sys.executable} {DUMMY} crasher") == 2
    shown = capsys.readouterr().out
    assert "broken" in shown
    assert "crash: plc.one" in shown
    assert "the subject is broken" in shown


def test_what_a_subject_writes_does_not_reach_the_terminal_raw(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conform(cases, "--subject", f"cmd:{sys.executable} {DUMMY} garbage")

    assert "\x1b" not in capsys.readouterr().out


def test_a_broken_case_is_exit_code_3_and_names_its_line(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(cases, case_of("plc.bad"), '{\n "id": 3\n}')

    assert conform(cases, "--subject", ECHO) == 3
    assert "bad.json, line 2, field `id`" in capsys.readouterr().err


def test_a_case_that_names_no_clause_of_ours_is_exit_code_3(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(cases, case_of("plc.bad", clauses=["PLC-99"]))

    assert conform(cases, "--subject", ECHO) == 3
    assert "PLC-99" in capsys.readouterr().err


def test_long_lists_of_failures_are_cut(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        write_case(cases, case_of(f"grp.n{number}", expect=[{"ok": 0}]))
    conform(cases, "--subject", ECHO)

    assert "... and 11 more (`--json` has them all)" in capsys.readouterr().out


def test_what_is_unsupported_hides_no_difference(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    lacks = {"do": "say", "say": {"unsupported": {"capability": "lora", "text": "not yet"}}}
    for number in range(120):
        write_case(tmp_path, case_of(f"dev.n{number:03}", clauses=["DEV-1"], steps=[lacks]))
    write_case(tmp_path, case_of("plc.two", expect=[{"ok": 2}]))
    page = tmp_path_factory.mktemp("out") / "page.md"

    assert conform(tmp_path, "--subject", ECHO, f"--markdown={page}") == 1
    shown = capsys.readouterr().out
    assert "fail: plc.two" in shown
    assert "lora: not yet: 120 variants" in shown
    assert "dev.n000" not in shown
    assert "fail: plc.two" in page.read_text()


def test_what_a_stranger_does_not_support_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacks = {"do": "say", "say": {"unsupported": {"capability": "lora"}}}
    write_case(tmp_path, case_of(steps=[lacks]))

    assert conform(tmp_path, "--subject", ECHO) == 0
    assert "no difference in what it supports" in capsys.readouterr().out


def test_a_claim_that_is_missing_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_case(tmp_path, case_of(requires=["lora"]))

    assert conform(tmp_path, "--subject", ECHO) == 1
    assert "underclaim: does not claim 'lora'" in capsys.readouterr().out


def test_the_reference_is_asked_when_nobody_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--chapter", "PLC"]) == 0
    shown = capsys.readouterr().out

    assert "PLC        15/15" in shown
    assert "no difference" in shown


def test_on_a_terminal_a_bar_is_shown_on_standard_error(
    cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    conform(cases, "--subject", ECHO, "--json")
    captured = capsys.readouterr()

    assert json.loads(captured.out)["total"]["cases"] == 3
    assert "cases" in captured.err


def test_a_run_writes_its_events_and_every_form_of_report(
    cases: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    words = [f"--{form}={out / form}" for form in ("events", "html", "junit", "markdown")]

    assert conform(cases, "--subject", ECHO, *words) == 1
    lines = [json.loads(line) for line in (out / "events").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "result", "result", "result", "end"]
    assert lines[3]["repeat"] == f"refimpl conform --subject {ECHO} --case plc.two"
    assert lines[4]["exit_code"] == 1
    assert "plc.two" in (out / "html").read_text()
    assert 'failures="1"' in (out / "junit").read_text()
    assert "fail: plc.two" in (out / "markdown").read_text()


def test_a_file_that_two_options_name_is_refused_before_the_run(
    cases: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path_factory.mktemp("out")
    (out / "link").symlink_to(out / "log")

    assert conform(cases, "--subject", ECHO, f"--events={out / 'log'}", f"--html={out / 'link'}") == 4
    assert "--events and --html name one file" in capsys.readouterr().err
    assert not (out / "log").exists()
    assert conform(cases, "--subject", ECHO, "--markdown=/dev/null", "--html=/dev/null") == 1
    assert conform(cases, "--subject", ECHO, f"--events={out / 'log'}") == 1
    before = (out / "log").read_bytes()
    assert main(["report", str(out / "log"), f"--junit={out / 'log'}"]) == 4
    assert (out / "log").read_bytes() == before


@pytest.mark.parametrize("option", ["events", "html"])
def test_what_is_written_is_not_what_is_read(
    cases: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    out = tmp_path_factory.mktemp("out")
    (out / "known.toml").write_text('version = "*"\n')
    (out / "same").hardlink_to(out / "known.toml")
    words = [f"--expectations={out / 'known.toml'}", f"--{option}={out / 'same'}"]

    assert conform(cases, "--subject", ECHO, *words) == 4
    assert f"--expectations and --{option} name one file" in capsys.readouterr().err
    assert (out / "same").read_text() == 'version = "*"\n'
    assert conform(cases, "--subject", ECHO, f"--{option}=-") == 4


@pytest.mark.parametrize("form", ["events", "html", "junit", "markdown"])
def test_a_subject_and_its_cases_are_not_overwritten(
    cases: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    program = tmp_path_factory.mktemp("port") / "port.py"
    program.write_text(DUMMY.read_text())
    case = cases / "plc" / "one.json"
    before = case.read_text()

    assert conform(cases, f"--subject=cmd:{sys.executable} {program} good", f"--{form}={program}") == 4
    assert f"--subject and --{form} name one file: {program}" in capsys.readouterr().err
    assert conform(cases, "--subject", ECHO, f"--{form}={case}") == 4
    assert f"--cases and --{form} name one file: {case}" in capsys.readouterr().err
    assert conform(cases, "--subject", ECHO, f"--{form}=tests/conformance/broken.py") == 4
    assert (program.read_text(), case.read_text()) == (DUMMY.read_text(), before)


def test_only_an_event_log_is_overwritten_by_another(
    cases: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path_factory.mktemp("out")
    (out / "notes").write_text("by hand\n")
    (out / "empty").touch()
    (out / "page").write_text("of an earlier run")

    assert conform(cases, "--subject", ECHO, f"--events={out / 'notes'}", f"--html={out / 'page'}") == 4
    assert "notes' is there already, and is no event log" in capsys.readouterr().err
    assert (out / "notes").read_text() == "by hand\n"
    assert (out / "page").exists()
    for _ in range(2):
        assert conform(cases, "--subject", ECHO, f"--events={out / 'empty'}") == 1
    assert (out / "empty").read_text().count('"event":"start"') == 1


def test_an_event_log_goes_to_a_pipe_and_no_report_is_made_from_one(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, page = tmp_path / "pipe", tmp_path / "page.html"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        told = pool.submit(pipe.read_text)
        assert conform(cases, "--subject", ECHO, f"--events={pipe}") == 1
        assert '"event":"end"' in told.result()

    assert conform(cases, "--subject", ECHO, f"--events={pipe}", f"--html={page}") == 4
    assert f"'{pipe}' cannot be read again" in capsys.readouterr().err
    assert not page.exists()


def test_standard_output_takes_the_log_and_then_the_table(cases: Path, tmp_path: Path) -> None:
    words = ("conform", "--cases", str(cases), "--subject", ECHO, "--events=/dev/stdout")
    with (tmp_path / "both").open("wb") as both:
        subprocess.run([sys.executable, "-m", "refimpl.cli.main", *words], stdout=both, check=False)
    lines = (tmp_path / "both").read_text().splitlines()

    assert [json.loads(line)["event"] for line in lines[:5]] == ["start", *["result"] * 3, "end"]
    assert lines[5].startswith("chapter")


def test_no_report_of_an_earlier_run_is_left_when_a_run_fails(
    cases: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    words = [f"--{form}={out / form}" for form in ("events", "html", "junit", "markdown")]
    conform(cases, "--subject", ECHO, *words)

    assert conform(cases, "--subject", "py:tests.conformance.broken:Nobody", *words) == 2
    assert [path.name for path in out.iterdir()] == ["events"]
    assert not (out / "events").read_bytes()


def test_what_was_asked_before_an_interrupt_is_told(
    cases: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path_factory.mktemp("out")
    (out / "known.toml").write_text('version = "*"\n')
    subject = "py:tests.conformance.broken:Interrupted"
    words = [f"--{form}={out / form}" for form in ("events", "html", "junit", "markdown")]
    words += [f"--expectations={out / 'known.toml'}", "--update"]

    assert conform(cases, "--subject", subject, *words) == 130
    said = capsys.readouterr()
    assert said.err.startswith("interrupted: ")
    assert "total" in said.out
    assert "2 cases (2 variants), interrupted" in said.out
    assert "This run did not end" in (out / "markdown").read_text()
    assert (out / "junit").read_text().count("<testcase ") == 2
    assert '"end"' not in (out / "events").read_text()
    assert (out / "html").exists()
    assert (out / "known.toml").read_text() == 'version = "*"\n'

    assert conform(cases, "--subject", subject, "--json") == 130
    made = report(capsys)
    assert (made["exit_code"], made["interrupted"], made["total"]["cases"]) == (130, True, 2)


def test_what_the_reference_does_not_understand_is_a_fault_of_the_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(tmp_path, case_of(steps=[{"do": "placement.evenly"}]))

    assert conform(tmp_path) == 3
    assert "case plc.one, field `steps[0]`: Protocol:" in capsys.readouterr().err


@pytest.mark.parametrize("make", ["folder", "link"])
def test_a_case_that_is_no_file_is_a_fault_of_the_cases(
    cases: Path, capsys: pytest.CaptureFixture[str], make: str
) -> None:
    path = cases / "plc" / "three.json"
    path.mkdir() if make == "folder" else path.symlink_to("nowhere")

    assert conform(cases) == 3
    assert f"{path}: a case is a regular file" in capsys.readouterr().err


def test_an_adapter_check_refuses_what_it_would_not_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--check-adapter", "true", "--case", "plc"]) == 4
    assert "--case has no meaning beside --check-adapter" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_names_the_event_log(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(cases, "--subject", ECHO, "--events=/dev/full") == 2
    assert "cannot write the event log '/dev/full': No space left on device" in capsys.readouterr().err


def test_an_update_explains_every_difference_of_the_next_run(cases: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"

    assert conform(cases, "--subject", ECHO, "--expectations", str(known), "--update") == 1
    assert conform(cases, "--subject", ECHO, "--expectations", str(known)) == 0


def test_an_update_that_the_disk_has_no_room_for_leaves_the_list(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.toml"
    known.write_text("# by hand\n")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("refimpl.burnpack.atomic.os.write", full)
    assert conform(cases, "--subject", ECHO, "--expectations", str(known), "--update") == 2
    monkeypatch.undo()

    assert known.read_text() == "# by hand\n"
    assert [path.name for path in tmp_path.glob("known*")] == ["known.toml"]
    assert "known.toml" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--update"], ["--expectations", "/no/such/file.toml"]])
def test_expectations_that_are_not_there_are_a_question_of_usage(cases: Path, words: list[str]) -> None:
    assert conform(cases, "--subject", ECHO, *words) == 4


def test_a_sandbox_is_for_processes(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(cases, "--subject", ECHO, "--sandbox") == 4
    assert "runs in this process" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "count"), [("smoke", 2), ("core", 3), ("full", 4)])
def test_a_run_has_three_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str, count: int
) -> None:
    for name, level in (("one", "must"), ("three", "may"), ("two", "must")):
        write_case(tmp_path, case_of(f"plc.{name}", level=level))
    write_case(tmp_path, case_of("plc.four", clauses=["PLC-4"]))
    conform(tmp_path, "--subject", ECHO, "--json", "--size", size)

    assert report(capsys)["total"]["cases"] == count


def test_a_folder_without_cases_is_said_to_hold_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(tmp_path, case_of(since="99"))

    assert conform(tmp_path) == 4
    assert f"no case file (*.json) for Burn 0.23.0-pre.1 below {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expect", "said"),
    [([{"ok": 1}], "`expect` counts for nothing while `provenance.source`"), ([], "run `make record`")],
)
def test_a_case_without_provenance_says_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expect: list[object], said: str
) -> None:
    case = case_of(expect=expect)
    del case["provenance"]
    write_case(tmp_path, case)

    assert conform(tmp_path, "--subject", ECHO) == 3
    shown = capsys.readouterr().out
    assert said in shown
    assert '"provenance": {"source": "hand"}' in shown
    assert "cases are broken" in shown


def test_an_empty_case_is_no_case(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(cases, "--case", "") == 4
    assert "there is no case ''" in capsys.readouterr().err


def test_a_case_for_another_version_of_burn_is_not_asked(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(cases, case_of("plc.later", since="99", expect=[{"ok": 3}]))

    assert conform(cases, "--truth", "ours", "--subject", ECHO) == 0
    assert conform(cases, "--case", "plc.later", "--subject", ECHO) == 4
    assert "there is no case 'plc.later' for Burn 0.23" in capsys.readouterr().err


def test_entries_for_another_version_of_the_subject_are_told_and_explain_nothing(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.toml"
    known.write_text('version = ">=99"\n[[xfail]]\ncase = "plc.two"\ndifference = "*"\nreason = "r"\n')

    assert conform(cases, "--subject", ECHO, "--expectations", str(known)) == 1
    shown = capsys.readouterr().out
    assert "fail: plc.two" in shown
    assert "inert: entries explain nothing of version" in shown


def test_another_difference_than_the_known_one_is_told_beside_it(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, written = tmp_path / "known.toml", tmp_path / "page.md"
    known.write_text('version = "*"\n[[xfail]]\ncase = "plc.two"\ndifference = "old"\nreason = "r"\n')

    options = ("--subject", ECHO, "--expectations", str(known), "--markdown", str(written))
    assert conform(cases, *options) == 1
    for shown in (capsys.readouterr().out, written.read_text(encoding="utf-8")):
        assert "$.ok: expected 2, got 1" in shown
        assert "another difference than the one expected: old" in shown


def test_what_is_known_or_not_asked_does_not_count_as_agreement(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.toml"
    known.write_text(
        'version = "*"\n[[xfail]]\ncase = "plc.two"\ndifference = "*"\nreason = "theirs"\n'
        '[[skip]]\ncase = "plc.one"\nreason = "theirs"\n'
    )
    code = conform(cases, "--subject", ECHO, "--chapter", "PLC", "--expectations", str(known))
    shown = capsys.readouterr().out

    assert code == 0, shown
    assert shown.split("\n")[0].split() == [
        "chapter",
        "clauses",
        "cases",
        "agree",
        "differ",
        "unsupported",
        "known",
        "not",
        "asked",
    ]
    assert shown.split("\n")[1].split()[2:] == ["2", "0", "0", "0", "1", "1"]
    assert "no difference but 1 known, 1 not asked" in shown
