"""JUnit XML, as continuous integration reads it: a suite a subject, a test case a variant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from ..events import Judged, Run

#: Verdicts that JUnit calls a failure; any other that is not quiet is an error: nobody answered.
_FAILURES = ("fail", "stale", "flaky", "overclaim", "underclaim", "bleed")
_FINE = ("pass", "xfail")
_SKIPPED = ("unsupported", "skip")
#: What XML 1.0 cannot hold, not even as a reference.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(runs: Sequence[Run]) -> str:
    """The document; characters that XML cannot hold stand as their code."""
    suites = "".join(_suite(run) for run in runs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="refimpl">\n{suites}</testsuites>\n'


def _suite(run: Run) -> str:
    verdicts = [result.verdict for result in run.results]
    skipped = sum(verdict in _SKIPPED for verdict in verdicts)
    failures = sum(verdict in _FAILURES for verdict in verdicts)
    errors = len(verdicts) - skipped - failures - sum(verdict in _FINE for verdict in verdicts)
    seconds = sum(result.seconds for result in run.results)
    head = (
        f'<testsuite name={_attribute(run.name)} tests="{len(verdicts)}" failures="{failures}" '
        f'errors="{errors}" skipped="{skipped}" time="{seconds:.6f}">\n'
    )
    return head + "".join(map(_case, run.results)) + "</testsuite>\n"


def _case(result: Judged) -> str:
    chapter = result.case.partition(".")[0]
    head = (
        f"<testcase classname={_attribute(chapter)} name={_attribute(result.label)} "
        f'time="{result.seconds:.6f}"'
    )
    if result.verdict in _FINE:
        return f"{head}/>\n"
    if result.verdict in _SKIPPED:
        message = _attribute(result.message or result.expected)
        return f"{head}><skipped message={message}/></testcase>\n"
    kind = "failure" if result.verdict in _FAILURES else "error"
    said = result.said
    body = f"{' '.join(result.clauses)}\n{result.why}\n{said}\n{result.repeat}"
    opened = f"{head}><{kind} type={_attribute(result.verdict)} message={_attribute(said)}>"
    return f"{opened}{escape(_legal(body))}</{kind}></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
