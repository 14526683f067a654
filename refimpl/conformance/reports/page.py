"""One HTML file that needs no network: the events as data, and a script that shows them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from ..clauses import Clause
from ..events import QUIET, Judged, Run, worst
from .summary import by_clause

_SOFT_BREAK = re.compile(r"(?<!\n)\n(?![\n|*-])")


def html(runs: Sequence[Run], clauses: Mapping[str, Clause], excused: Mapping[str, str]) -> str:
    """The page. What strangers wrote is data in it: never markup, never script.

    Its policy allows the one style and the one script below by their hashes, and no request at all.
    """
    folder = files(__package__)
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    body = (folder / "page.html").read_text(encoding="utf-8")
    parts = {
        "POLICY": policy,
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _data(runs, clauses, excused),
    }
    before, *marked = body.split("{{")
    pieces = [before]
    for part in marked:
        name, _, after = part.partition("}}")
        pieces += [parts[name], after]
    return "".join(pieces)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _data(runs: Sequence[Run], clauses: Mapping[str, Clause], excused: Mapping[str, str]) -> str:
    """The data as JSON inside a script element: no `<`, so nothing can end the element."""
    asked = {name for run in runs for result in run.results for name in result.clauses}
    data = {
        "subjects": [_subject(run) for run in runs],
        "clauses": [
            [clause.id, clause.title, clause.truth, _flowing(clause.text), excused.get(clause.id)]
            for clause in clauses.values()
            if clause.id in asked or clause.id in excused
        ],
        "results": [[_result(result) for result in run.results] for run in runs],
        "cells": [
            {name: worst([result.verdict for result in found]) for name, found in by_clause(run).items()}
            for run in runs
        ],
        "quiet": QUIET,
        "findings": [[run.name, one.verdict, one.about, one.message] for run in runs for one in run.findings],
        "exchanges": [
            [one.writer, one.reader, one.file, one.verdict, one.message, one.format]
            for run in runs
            for one in run.exchanges
        ],
    }
    text = msgspec.json.encode(data).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _flowing(text: str) -> str:
    """The text without the line breaks inside its paragraphs; lists and tables keep theirs."""
    return _SOFT_BREAK.sub(" ", text)


def _subject(run: Run) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for result in run.results:
        counts[result.verdict] = counts.get(result.verdict, 0) + 1
    return {
        "name": run.name,
        "subject": run.start.subject,
        "counts": counts,
        "restarts": run.restarts,
        "ended": run.end is not None,
        "profile": run.start.profile,
    }


def _result(result: Judged) -> list[Any]:
    difference = result.difference
    row: list[Any] = [result.label, result.verdict, result.clauses, result.why]
    if result.verdict == "pass":
        return row
    said = None
    if difference is not None:
        said = [difference.where, difference.expected, difference.got, difference.later]
    return [*row, result.step, said, result.message or result.expected, result.repeat]
