"""Which code says that it is a clause: the `Clauses:` lines of docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec

#: `Clauses:` and what follows up to the end of the paragraph.
_LINE = re.compile(r"^\s*Clauses: *(.+?)(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b([A-Z]{3})-(\d+)(?:(?:\.\.| to )(?:[A-Z]{3}-)?(\d+))?")


class Place(msgspec.Struct, frozen=True):
    """A definition whose docstring names a clause."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


def clauses_named(docstring: str) -> set[str]:
    """The ids that a docstring's `Clauses:` line names; `BPK-30..33` is four of them."""
    named: set[str] = set()
    for line in _LINE.findall(docstring):
        for family, first, last in _ID.findall(line):
            named.update(f"{family}-{number}" for number in range(int(first), int(last or first) + 1))
    return named


def places_of(clause_id: str, root: Path | None = None) -> list[Place]:
    """Every definition in the package that says it is this clause."""
    package = Path(__file__).resolve().parent.parent if root is None else root
    found: list[Place] = []
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "Clauses:" in source:
            file = path.relative_to(package.parent).as_posix()
            tree = ast.parse(source, filename=str(path))
            found += (Place(file, line, name) for line, name, ids in _defined(tree, "") if clause_id in ids)
    return found


def _defined(node: ast.AST, prefix: str) -> list[tuple[int, str, set[str]]]:
    """Each definition below a node: its line, its dotted name and the clauses it names."""
    found: list[tuple[int, str, set[str]]] = []
    if isinstance(node, ast.Module):
        found.append((1, "(module)", clauses_named(ast.get_docstring(node) or "")))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{child.name}"
            found.append((child.lineno, name, clauses_named(ast.get_docstring(child) or "")))
            found += _defined(child, f"{name}.")
    return found
