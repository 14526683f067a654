from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from refimpl.cli.main import main
from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.reports.junit import junit
from refimpl.conformance.reports.page import html
from refimpl.conformance.reports.summary import markdown, summary
from tests.conformance.reports.runs import HOSTILE, hostile_run, run_of


def test_junit_counts_differences_as_failures_and_silence_as_errors() -> None:
    tree = ET.fromstring(junit([run_of("one", plc="fail", dev="timeout")]))
    (suite,) = tree

    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "2",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    assert [case.get("name") for case in suite] == ["dev.one", "plc.one"]
    assert suite[1][0].get("message") == "$.ok: expected 1, got 2; also step 3: $.ok[7]"
    assert "refimpl conform --subject one --case plc.one" in (suite[1][0].text or "")


def test_junit_skips_what_is_not_supported() -> None:
    (suite,) = ET.fromstring(junit([run_of("one", dev="unsupported")]))

    assert (suite.get("skipped"), suite[0][0].tag) == ("1", "skipped")


def test_a_hostile_name_is_text_in_junit() -> None:
    (suite,) = ET.fromstring(junit([hostile_run()]))

    assert "<script>broken = 1</script>" in (suite[0].get("name") or "")
    assert "\\u{1b}[31m" in (suite[0].get("name") or "")
    assert [part.tag for part in suite[0]] == ["failure"]


def test_markdown_shows_the_sentence_the_difference_and_the_command() -> None:
    page = markdown([run_of("one", plc="fail")], load_clauses())

    assert "| chapter | pass | fail |" in page
    assert "| PLC |  | 1 |" in page
    assert "### fail: plc.one, step 0" in page
    assert "> **PLC-3**: \\`even(devices, n)\\`: use the first k" in page
    assert "expected 1, got 2; also step 3: $.ok[7]\nrefimpl conform --subject one --case plc.one" in page


def test_a_hostile_name_is_text_in_markdown() -> None:
    outside = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", markdown([hostile_run()], load_clauses()))

    assert re.findall(r"(?<!\\)<", outside) == []


def test_no_control_character_reaches_markdown() -> None:
    page = markdown([hostile_run()], load_clauses())

    assert [line for line in page.split("\n") if not line.isprintable()] == []
    assert page.startswith("## ")
    assert "\\x00\\x1b" in page


def test_a_run_that_did_not_end_is_said_to_be_so() -> None:
    assert "did not end" in markdown([run_of("one", code=None)], load_clauses())
    assert summary([run_of("one", code=None)])["runs"][0]["exit_code"] is None


def test_the_summary_gives_each_clause_its_verdict() -> None:
    (run,) = summary([run_of("one", plc="fail")])["runs"]

    assert run["clauses"] == {"DEV-1": "pass", "PLC-3": "fail"}
    assert run["counts"] == {"pass": 1, "fail": 1}
    assert [failure["case"] for failure in run["failures"]] == ["plc.one"]


def test_what_strangers_wrote_cannot_end_the_data_of_the_page() -> None:
    page = html([hostile_run()], load_clauses(), {})

    assert page.count("<script") == page.count("</script>") == 2
    assert HOSTILE.split("\x00")[0] not in page


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    lines = [
        {"event": "start", "subject": "burn", "impl": {"name": "burn"}},
        {
            "event": "result",
            "case": "plc.one",
            "label": "plc.one",
            "clauses": ["PLC-3"],
            "truth": "contract",
            "level": "must",
            "verdict": "fail",
        },
        {"event": "restart", "number": 1, "case": "plc.one", "why": "crash"},
        {"event": "finding", "verdict": "overclaim", "about": "quant"},
        {"event": "exchange", "writer": "burn", "reader": "burn", "file": "a.bpk", "verdict": "pass"},
        {"event": "end", "exit_code": 1},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_dash_is_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-"]) == 4
    assert "`-` is none: /dev/stdin is one" in capsys.readouterr().err


def test_every_form_is_made_from_a_log(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"--{form}={tmp_path / form}" for form in ("html", "junit", "markdown")]

    assert main(["report", str(log), *words, "--json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert (made["runs"][0]["restarts"], made["runs"][0]["findings"][0]["about"]) == (1, "quant")
    assert (tmp_path / "html").read_text().startswith("<!doctype html>")
    assert "testsuite" in (tmp_path / "junit").read_text()
    assert "overclaim: quant" in (tmp_path / "markdown").read_text()


def test_without_a_form_the_counts_are_printed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(log)]) == 1
    assert capsys.readouterr().out == "burn (burn): 1 fail\n"


def test_a_last_line_that_was_cut_off_is_a_run_that_did_not_end(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-5])

    assert main(["report", str(log)]) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no run"),
        (b"{}\n", "line 1: no event"),
        (b"\xff\n", "line 1: no event"),
        (b'{"event":"end","exit_code":0}\n', "line 1: an event before the start"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(content)

    assert main(["report", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_read_or_written_is_no_difference(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert main(["report", str(log), "--html", str(tmp_path / "no" / "where.html")]) == 2
    assert "cannot write" in capsys.readouterr().err
