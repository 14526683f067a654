"""docs/reading-order.md lists every file of the package so that no name is met before its own file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRY = re.compile(r"^\d+\. \[`(refimpl/[\w/]+\.py)`\]\(\.\./(refimpl/[\w/]+\.py)\): (.+)$", re.MULTILINE)


def entries() -> list[tuple[str, str]]:
    """The files that the page lists, in its order, with what it says about each."""
    page = (ROOT / "docs" / "reading-order.md").read_text("utf-8")
    found = ENTRY.findall(page)
    assert all(shown == linked for shown, linked, _ in found)
    return [(shown, words) for shown, _, words in found]


def chapters() -> dict[str, ast.Module]:
    """Every file of the package that says something: `__init__.py` files without code are left out."""
    trees = {
        file.relative_to(ROOT).as_posix(): ast.parse(file.read_text("utf-8"))
        for file in sorted(ROOT.glob("refimpl/**/*.py"))
    }
    return {name: tree for name, tree in trees.items() if len(tree.body) > 1}


def imports(name: str, tree: ast.Module) -> set[str]:
    """The files of the package that the file imports when it is imported itself."""
    package = name.removesuffix(".py").split("/")[:-1]
    found: set[str] = set()
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        elif node.module and node.module.split(".")[0] == "refimpl":
            base = node.module.split(".")
        else:
            continue
        for candidate in [base, *([*base, alias.name] for alias in node.names)]:
            path = "/".join(candidate) + ".py"
            if (ROOT / path).is_file():
                found.add(path)
    return found


def test_the_page_lists_every_file_once() -> None:
    assert sorted(name for name, _ in entries()) == sorted(chapters())


def test_no_file_stands_before_one_that_it_imports() -> None:
    order = [name for name, _ in entries()]
    early = [
        f"{name} imports {needed}, which the page lists later"
        for name, tree in chapters().items()
        for needed in imports(name, tree)
        if needed in order and name in order and order.index(needed) > order.index(name)
    ]

    assert early == []


def test_the_page_says_of_each_file_what_the_file_says_of_itself() -> None:
    said = {
        name: (ast.get_docstring(tree) or "").splitlines()[0].rstrip(".") for name, tree in chapters().items()
    }

    assert [(name, words) for name, words in entries() if said.get(name) != words.rstrip(".")] == []
