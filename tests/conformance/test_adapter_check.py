from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from refimpl.cli.main import main
from refimpl.conformance import adapter_check
from refimpl.conformance.adapter_check import check_adapter
from refimpl.conformance.clauses import spec_folder
from refimpl.errors import InvalidArgumentError, SubjectError

KINDS = "takes or lacks a step of the document, with kinds of the closed lists"
GOOD = """
import json, sys
held = {}
for line in sys.stdin.buffer:
    try:
        request = json.loads(line)
        number, op = request["id"], request["op"]
    except Exception:
        number, op = None, None
    if op == "hello":
        answer = {"ok": {"protocol": 1, "impl": {"name": "one", "version": "1"}, "limits": {"in_flight": 4}}}
    elif op == "case":
        lacks = [{"unsupported": {"capability": s.get("do", "")}} for s in request["steps"]]
        answer = {"ok": {"steps": lacks}}
    elif op in ("reset", "ping", "bye"):
        answer = {"ok": {}}
    else:
        answer = {"error": {"kind": "Protocol", "text": "no"}}
    print(json.dumps({"id": number, **answer}), flush=True)
    if op == "bye":
        break
"""


def faults(tmp_path: Path, old: str = "", new: str = "") -> dict[str, str]:
    assert old in GOOD
    path = tmp_path / "adapter.py"
    path.write_text(GOOD.replace(old, new) if old else GOOD)
    answers = check_adapter(f"{sys.executable} {path}")
    return {answer.question: answer.fault for answer in answers if answer.fault}


def test_a_good_adapter_is_right(tmp_path: Path) -> None:
    assert faults(tmp_path) == {}


@pytest.mark.parametrize(
    ("old", "new", "question", "words"),
    [
        ('"name": "one"', '"name": ""', "greets as it should", "impl.name"),
        ('"limits"', '"caps": {"capabilities": ["wings"]}, "limits"', "greets as it should", "wings"),
        ('"limits"', '"caps": {"dtypes": ["F32"]}, "limits"', "greets as it should", "F32"),
        (
            '{"ok": {}}',
            '{"ok": {"state": 1}}',
            "answers ping and reset",
            "`ping` is answered",
        ),
        (
            '{"unsupported": {"capability": s.get("do", "")}}',
            '{"ok": None}',
            "says of a step that is in no document that it is none",
            "came to",
        ),
        (
            'request["steps"]]',
            'request["steps"]] or [{"ok": 1}]',
            "gives one outcome a step, for none and for many",
            "1",
        ),
        (
            "for line in sys.stdin.buffer:",
            'for line in iter(lambda: sys.stdin.buffer.readline(4096), b""):',
            "reads a line of 200,000 characters",
            "answer",
        ),
        (
            "except Exception:",
            "except KeyError:",
            "goes on after a line that is no JSON",
            "closed its output",
        ),
        (
            '"kind": "Protocol"',
            '"kind": "Sorry"',
            "goes on after an unknown operation",
            "no error of the kind",
        ),
        (
            '{"id": number, **answer}',
            '{"id": number if op != "check" else 5, **answer}',
            "goes on after an unknown operation",
            "77",
        ),
        ('"version": "1"', '"version": " "', "greets as it should", "`impl.version` is empty"),
        (
            '"version": "1"}',
            '"version": "1"}, "caps": {"devices": {"executing": ["gpu"]}}',
            "greets as it should",
            "not gpu",
        ),
        ("        break", "        sys.exit(3)", "ends after bye, with code 0", "code 3"),
        (
            '"unsupported": {"capability": s.get("do", "")}',
            '"error": {"kind": "NotFound"}',
            KINDS,
            "NotFound",
        ),
        (
            '"unsupported": {"capability": s.get("do", "")}',
            '"error": {"kind": "Protocol"}',
            KINDS,
            "`placement.even` is a step of the document",
        ),
        (
            '"unsupported": {"capability": s.get("do", "")}',
            '"panic": {"kind": "Not found"}',
            KINDS,
            "Not found",
        ),
        (
            '[{"unsupported": {"capability": s.get("do", "")}}',
            '[held.update(p=1) or {"ok": 1} if "do" in s else {"ok": held["p"]}',
            "forgets the handles of a case",
            "handle `p`",
        ),
    ],
)
def test_each_fault_of_an_adapter_is_found(
    tmp_path: Path, old: str, new: str, question: str, words: str
) -> None:
    assert words in faults(tmp_path, old, new)[question]


def test_a_command_that_does_not_greet_is_asked_nothing_else() -> None:
    (answer,) = check_adapter(shutil.which("true") or "true")

    assert "exit code 0" in answer.fault


@pytest.mark.parametrize("command", ["", "cmd:", "'"])
def test_what_is_no_command_line_is_refused(command: str) -> None:
    with pytest.raises(InvalidArgumentError, match="command line"):
        list(check_adapter(command))


def test_the_command_line_says_what_is_wrong_and_how_to_mend_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "adapter.py"
    path.write_text(GOOD.replace('"kind": "Protocol"', '"kind": "Sorry"'))

    assert main(["conform", "--check-adapter", f"{sys.executable} {path}"]) == 2
    shown = capsys.readouterr().out
    assert "yes  greets as it should" in shown
    assert "no   goes on after an unknown operation" in shown
    assert "hint: answer with the request's id" in shown
    assert "2 of 12 answered no" in shown
    assert main(["conform", "--json", "--check-adapter", f"{sys.executable} {path}"]) == 2
    assert '"fault": "the answer is no error' in capsys.readouterr().out


def test_the_capabilities_are_those_of_the_document() -> None:
    text = (spec_folder() / "protocol.md").read_text(encoding="utf-8")

    assert all(f"`{word}`" in text for word in adapter_check.CAPABILITIES)


@pytest.mark.parametrize("words", [[], ["--sandbox"]])
def test_an_adapter_is_checked_in_a_sandbox_where_one_is_asked(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    asked = []

    def started(command: list[str], folder: str, *, sandbox: bool) -> None:
        asked.append(sandbox)
        raise SubjectError("not today")

    monkeypatch.setattr(adapter_check, "ProcessSubject", started)

    assert main(["conform", *words, "--check-adapter", "true"]) == 2
    assert asked == [words != []]
