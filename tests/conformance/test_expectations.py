from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from refimpl.conformance.case_file import load_cases
from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.expectations import (
    Expectations,
    expectations_file,
    matches,
    read_entries,
    read_expectations,
)
from refimpl.conformance.result import Event, Finding, Result
from refimpl.conformance.rewrite import UNEXPLAINED, rewrite
from refimpl.conformance.runner import run
from refimpl.conformance.subject import open_subject
from refimpl.conformance.verdict import exit_code
from refimpl.errors import CaseError

from .folder import case_of, write_case

ECHO = "py:tests.conformance.broken:Echo"
TWO = "step 0: $.ok: expected 2, got 1"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """One case that passes, one that gives 1 for 2."""
    write_case(tmp_path / "cases", case_of())
    write_case(tmp_path / "cases", case_of("plc.two", expect=[{"ok": 2}]))
    return tmp_path / "cases"


def expecting(folder: Path, text: str, version: str = "1.0") -> Expectations:
    path = folder.parent / "subject.toml"
    path.write_text(f'version = "*"\n{text}', encoding="utf-8")
    return read_expectations(path, version)


def judged(folder: Path, expected: Expectations) -> list[Event]:
    with open_subject(ECHO) as subject:
        return list(expected.judge(run(subject, load_cases(folder), expected.skip)))


def verdicts(events: list[Event]) -> list[str]:
    return [event.verdict for event in events if isinstance(event, Result | Finding)]


def test_a_known_difference_is_xfail_with_its_reason(cases: Path) -> None:
    text = f'[[xfail]]\ncase = "plc.two"\ndifference = "{TWO}"\nreason = "one is enough"'
    events = judged(cases, expecting(cases, text))

    assert verdicts(events) == ["pass", "xfail"]
    assert isinstance(events[1], Result)
    assert events[1].expected == "one is enough"


def test_another_difference_than_the_one_written_down_is_a_failure(cases: Path) -> None:
    text = '[[xfail]]\ncase = "plc.two"\ndifference = "step 0: $.ok: expected 2, got 3"\nreason = "r"'
    events = judged(cases, expecting(cases, text))

    assert verdicts(events) == ["pass", "fail"]
    assert isinstance(events[1], Result)
    assert "another difference" in events[1].message


def test_a_known_difference_that_is_gone_is_stale(cases: Path) -> None:
    text = '[[xfail]]\ncase = "plc.one"\ndifference = "*"\nreason = "r"'

    assert verdicts(judged(cases, expecting(cases, text))) == ["stale", "fail"]


def test_a_pattern_that_matches_no_case_is_stale(cases: Path) -> None:
    text = '[[skip]]\ncase = "grp.*"\nreason = "r"'
    events = judged(cases, expecting(cases, text))

    assert verdicts(events) == ["pass", "fail", "stale"]
    assert isinstance(events[-1], Finding)
    assert events[-1].about == "grp.*"


def test_a_run_of_some_cases_says_nothing_of_patterns_for_others(cases: Path) -> None:
    expected = expecting(cases, '[[skip]]\ncase = "grp.*"\nreason = "r"')

    assert list(expected.judge([], whole=False)) == []


def test_a_skipped_case_is_not_asked(cases: Path) -> None:
    events = judged(cases, expecting(cases, '[[skip]]\ncase = "plc.t*"\nreason = "kills the machine"'))

    assert verdicts(events) == ["pass", "skip"]
    assert isinstance(events[1], Result)
    assert (events[1].expected, events[1].seconds) == ("kills the machine", 0.0)


@pytest.mark.parametrize("case", ["plc.one", "plc.two"])
def test_a_flaky_case_may_pass_and_may_fail(cases: Path, case: str) -> None:
    expected = expecting(cases, f'[[flaky]]\ncase = "{case}"\ndifference = "{TWO}"\nreason = "by chance"')
    explained = [event for event in judged(cases, expected) if isinstance(event, Result) and event.expected]

    assert [result.label for result in explained] == [case]


def test_a_flaky_case_that_differs_otherwise_is_a_failure(cases: Path) -> None:
    text = '[[flaky]]\ncase = "plc.two"\ndifference = "step 0: $.ok: *, got 3"\nreason = "by chance"'
    events = judged(cases, expecting(cases, text))

    assert verdicts(events) == ["pass", "fail"]
    assert isinstance(events[1], Result)
    assert not events[1].expected
    assert "another difference" in events[1].message


def test_a_known_difference_that_is_not_supported_any_more_is_stale(cases: Path) -> None:
    write_case(cases, case_of("plc.three", requires=["lora"], expect=[{"ok": 3}]))
    text = '[[xfail]]\ncase = "plc.t*"\ndifference = "step 0: $.ok: *, got 1"\nreason = "r"'
    events = judged(cases, expecting(cases, text))

    assert verdicts(events) == ["pass", "stale", "xfail"]
    assert isinstance(events[1], Result)
    assert events[1].message.startswith("is not supported, but is expected to fail")


def test_an_entry_for_other_versions_explains_nothing_and_the_run_says_so(cases: Path) -> None:
    text = f'[[xfail]]\ncase = "plc.two"\nversion = "<1.0"\ndifference = "{TWO}"\nreason = "r"'
    inside, outside = (
        judged(cases, expecting(cases, text, "0.9")),
        judged(cases, expecting(cases, text, "1.0")),
    )

    assert verdicts(inside) == ["pass", "xfail"]
    assert verdicts(outside) == ["pass", "fail", "inert"]
    assert isinstance(outside[-1], Finding)
    assert outside[-1].message == "entries explain nothing of version '1.0': 1 for <1.0"


def test_entries_for_other_versions_do_not_change_the_exit_code(cases: Path) -> None:
    text = '[[skip]]\ncase = "plc.one"\nversion = ">=2"\nreason = "r"'
    events = judged(cases, expecting(cases, text))

    assert exit_code(verdicts(events[:1] + events[2:])) == 0
    assert isinstance(events[2], Finding)


def test_the_range_at_the_top_is_that_of_the_entries_that_name_none(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    skip = '[[skip]]\ncase = "{}"\nreason = "r"\n'
    path.write_text('version = ">=2"\n' + skip.format("a") + skip.format("b") + 'version = "<2"\n')

    assert [entry.version for _, _, entry in read_entries(path)] == [">=2", "<2"]


@pytest.mark.parametrize("kind", ["xfail", "flaky"])
@pytest.mark.parametrize("verdict", ["crash", "timeout", "adapter fault", "set aside"])
def test_only_an_entry_that_names_it_explains_that_no_answer_came(
    cases: Path, kind: str, verdict: str
) -> None:
    fault = Result(load_cases(cases)[0], "plc.one", verdict, message="exit code 3")

    def verdict_under(difference: str) -> Result:
        text = entry(kind, case="*", difference=difference, reason="r")
        [result] = expecting(cases, text).judge([fault], whole=False)
        assert isinstance(result, Result)
        return result

    for hiding in ("*", "*exit code 3", f"{verdict[0]}*"):
        told = verdict_under(hiding)
        assert (told.verdict, told.expected) == (verdict, "")
        assert f"begins with the verdict, `{verdict}: `" in told.message
    assert verdict_under(f"{verdict}: *").expected == "r"


def test_an_update_names_a_crash_that_a_star_does_not_stand_for(cases: Path, tmp_path: Path) -> None:
    crash = Result(load_cases(cases)[0], "plc.one", "crash", message="exit code 3")
    path = tmp_path / "known.toml"
    path.write_text(entry(case="plc.one", version="*", difference="*", reason="known"))

    text = rewrite(path, [crash], "1.0")

    assert text == entry(case="plc.one", version="*", difference="crash: exit code 3", reason="known")


def test_of_two_entries_for_a_case_the_one_with_its_difference_counts_and_the_other_is_stale(
    cases: Path,
) -> None:
    other = '[[xfail]]\ncase = "plc.two"\ndifference = "other"\nreason = "a"\n'
    text = other + f'[[xfail]]\ncase = "plc.*o"\ndifference = "*{TWO[6:]}"\nreason = "b"'

    events = judged(cases, expecting(cases, text))
    assert verdicts(events) == ["pass", "xfail", "stale"]
    assert isinstance(events[-1], Finding)
    said = "the xfail entry 'plc.two' explains nothing that others do not"
    assert events[-1].message == f"{said}: remove the entry, or run with --update"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[xfail]]\ncase = ?", "line 2"),
        ('[[xfail]]\ncase = "a"\nreason = "r"', r"xfail\[0\].difference"),
        ('[[skip]]\ncase = "a"\nreason = "r"\ndifference = "d"', "a skip has no difference"),
        ('[[flaky]]\ncase = "a"\nreason = "r"', r"flaky\[0\].difference.*names its difference, or `\*`"),
        ('[[skip]]\ncase = "a"\nreason = " "', r"skip\[0\].reason"),
        ('[[skip]]\ncase = "a"', "reason"),
        ('[[skip]]\ncase = "a"\nreason = "r"\nversion = "1"', r"skip\[0\].version"),
        ('[[skip]]\ncase = "a"\nreason = "r"', r"skip\[0\].version.*for which versions"),
        ('[[skip]]\ncase = "a"\nreason = "r"\nversion = ""', r"skip\[0\].version.*for which versions"),
        ('version = ">=x"', "field `version`: 'x' is no version"),
        ('version = ""', "field `version`"),
        ("version = 2", "field `version`: a range of versions is a text, not 2"),
        ('version = "*"\n[[skip]]\ncase = "a"\nreason = "r"\n[[skip]]', r"line 5, field `skip\[1\]`"),
        ('[[fails]]\ncase = "a"', "fails"),
        ('[[skip]]\ncase = 3\nreason = "r"', r"line 1, field `skip\[0\].case`"),
    ],
)
def test_a_broken_file_is_a_fault_of_ours_that_names_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)

    with pytest.raises(CaseError, match=words):
        read_entries(path)


@pytest.mark.parametrize(
    ("pattern", "text", "is_so"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("a*", "ab", True),
        ("*b", "ab", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*x*", "axb", True),
        ("$.ok[0]", "$.ok[0]", True),
        ("$.ok[*]: *", "$.ok[17]: expected 1, got 2", True),
    ],
)
def test_a_star_stands_for_any_text_and_nothing_else_is_special(pattern: str, text: str, is_so: bool) -> None:
    assert matches(pattern, text) is is_so


def test_no_pattern_takes_long() -> None:
    started = time.process_time()
    matches("*a" * 5_000 + "b", "a" * 50_000)

    assert time.process_time() - started < 0.5


def test_only_subjects_of_this_project_have_a_file_by_name() -> None:
    assert expectations_file("cmd:../../etc/passwd") is None
    assert expectations_file("nobody") is None


def rewritten(folder: Path, text: str, *, whole: bool = True, version: str = "1.0") -> str:
    path = folder.parent / "subject.toml"
    if text:
        path.write_text(text, encoding="utf-8")
    with open_subject(ECHO) as subject:
        results = [event for event in run(subject, load_cases(folder)) if isinstance(event, Result)]
    return rewrite(path, results, version, whole=whole)


def entry(kind: str = "xfail", **fields: str) -> str:
    """An entry as it stands in a file."""
    return f"[[{kind}]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


def test_an_update_writes_an_entry_for_each_difference_that_then_explains_it(cases: Path) -> None:
    text = rewritten(cases, "")

    assert text.startswith('version = "==1.0"\n\n[[xfail]]')
    assert UNEXPLAINED in text
    path = cases.parent / "subject.toml"
    path.write_text(text)
    assert verdicts(judged(cases, read_expectations(path, "1.0"))) == ["pass", "xfail"]


def test_an_update_binds_a_new_entry_to_this_version_where_the_file_is_for_others(cases: Path) -> None:
    assert 'version = "==1.0"\ndifference' in rewritten(cases, 'version = "<1.0"\n')
    assert rewritten(cases, 'version = ">=1"\n').count("version") == 1


def test_an_update_for_a_version_that_cannot_be_read_holds_for_every_version(cases: Path) -> None:
    assert rewritten(cases, "", version="of today").startswith('version = "*"\n')


def test_an_update_keeps_comments_and_entries_and_drops_what_is_of_no_use(cases: Path) -> None:
    kept = (
        f'version = "*"\n# Why.\n[[xfail]]\ncase = "plc.two" # two\ndifference = "{TWO}"\nreason = "known"\n'
    )
    stale = "\n" + entry(case="plc.one", difference="*", reason="gone")
    other = "\n# Later.\n" + entry("skip", case="x", version=">1", reason="elsewhere")
    text = rewritten(cases, kept + stale + other)

    assert kept in text
    assert "gone" not in text
    assert other in text


@pytest.mark.parametrize("old", ["old", 'expected "new#0", got "1"', "#"])
def test_an_update_writes_the_new_difference_over_the_old(cases: Path, old: str) -> None:
    text = rewritten(cases, entry(case="plc.two", version="*", difference=old, reason="known"))

    assert text == entry(case="plc.two", version="*", difference=TWO, reason="known")


@pytest.mark.parametrize("written", ["'old # \"'", '"""old\n# more"""', "'''old\n#'''"])
def test_an_update_keeps_the_comment_behind_a_difference(cases: Path, written: str) -> None:
    known = '[[xfail]]\ncase = "plc.two"\ndifference = {} # why\nversion = "*"\nreason = "known"\n'

    assert rewritten(cases, known.format(written)) == known.format(json.dumps(TWO))


def test_an_update_of_what_is_right_changes_nothing(cases: Path) -> None:
    text = rewritten(cases, "")

    assert rewritten(cases, text) == text


def test_an_update_drops_a_section_that_is_empty(cases: Path) -> None:
    assert "skip" not in rewritten(cases, entry("skip", case="x", version="*", reason="r"))


def test_an_update_from_some_cases_leaves_the_entries_for_others(cases: Path) -> None:
    text = entry("skip", case="grp.x", version="*", reason="r")

    assert rewritten(cases, text, whole=False).startswith(text)


def test_every_known_difference_of_this_project_is_explained() -> None:
    files = (spec_folder() / "expectations").glob("*.toml")

    assert [(path.name, entry.case) for path in files for _, _, entry in read_entries(path)
            if UNEXPLAINED in entry.reason] == []  # fmt: skip
