"""docs/reading-order.md lists every file of the package so that no name is met before its own file."""

from __future__ import annotations

import re

from tests.docs.reading_order import PAGE, first_line, imports, sources

ENTRY = re.compile(r"^\d+\. \[`(refimpl/[\w/]+\.py)`\]\(\.\./(refimpl/[\w/]+\.py)\): (.+)\.$", re.MULTILINE)
AGAIN = "run `python -m tests.docs.reading_order`"


def entries() -> list[tuple[str, str]]:
    """The files that the page lists, in its order, with what it says about each."""
    found = ENTRY.findall(PAGE.read_text("utf-8"))
    assert all(shown == linked for shown, linked, _ in found)
    return [(shown, words) for shown, _, words in found]


def test_the_page_lists_every_file_once() -> None:
    assert sorted(name for name, _ in entries()) == sorted(sources()), AGAIN


def test_no_file_stands_before_one_that_it_imports() -> None:
    order = [name for name, _ in entries()]
    early = [
        f"{name} imports {needed}, which the page lists later"
        for name, tree in sources().items()
        for needed in imports(name, tree)
        if needed in order and name in order and order.index(needed) > order.index(name)
    ]

    assert early == [], AGAIN


def test_the_page_says_of_each_file_what_the_file_says_of_itself() -> None:
    said = {name: first_line(tree) for name, tree in sources().items()}

    assert [(name, words) for name, words in entries() if said.get(name) != words] == [], AGAIN
