"""The page docs/reading-order.md: `python -m tests.docs.reading_order` writes it anew."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reading-order.md"
HEAD = """# Reading order

Every file of `refimpl/`, so that no name is met before the file that defines it: an import never points
down this page. The words are the first line of the file itself. Files named `__init__.py` without code are
left out.
`python -m tests.docs.reading_order` writes the page anew.
"""
#: The folders as chapters, in the order of their imports.
CHAPTERS = {
    "errors": ("Before the chapters", "What all of them use."),
    "immutable": ("Before the chapters", "What all of them use."),
    "rust_text": ("Before the chapters", "What all of them use."),
    "tensor": ("tensor/", "Values: where they live, and what they are made of."),
    "param": ("param/", "What a module holds: identity, laziness, traversal, groups."),
    "burnpack": ("burnpack/", "The file format: bytes to entries and back, and nothing about modules."),
    "record": ("record/", "What a module saves, and what loading checks."),
    "module": ("module/", "Definition by annotation, the one traversal, and the whole `Module` trait."),
    "parallel": ("parallel/", "Layers on several devices: placements, distributed models, stages."),
    "layers": ("layers/", "Real layers, written with nothing but the above."),
    "simulation": ("simulation/", "A cluster of devices that do not exist: capacity, links, time."),
    "engine": ("engine/", "The same stages on an engine of somebody else."),
    "interchange": ("interchange/", "Files of other formats, and files made of files."),
    "conformance": ("conformance/", "Cases, subjects, and the judgement of one by the other."),
    "testing": ("testing/", "What the tests of other projects take from here."),
    "cli": ("cli/", "The commands, one file each."),
    "__init__": ("The front door", "What `import refimpl` gives."),
}


def sources() -> dict[str, ast.Module]:
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


def first_line(tree: ast.Module) -> str:
    """What a file says of itself."""
    return (ast.get_docstring(tree) or "").split("\n")[0].rstrip(".")


def in_order(trees: dict[str, ast.Module]) -> list[str]:
    """The files by chapter, each after what it imports, and else by name."""
    order: list[str] = []

    def place(name: str) -> None:
        if name not in order:
            for needed in sorted(imports(name, trees[name]) & trees.keys(), key=rank):
                place(needed)
            order.append(name)

    for name in sorted(trees, key=rank):
        place(name)
    return order


def rank(name: str) -> tuple[int, str]:
    """The place of a file's chapter, then its name."""
    return list(CHAPTERS).index(name.split("/")[1].removesuffix(".py")), name


def page() -> str:
    """The page as it should be."""
    trees = sources()
    lines = [HEAD]
    chapter, number = "", 0
    for name in in_order(trees):
        title, about = CHAPTERS[name.split("/")[1].removesuffix(".py")]
        if title != chapter:
            lines.append(f"{'' if not chapter else chr(10)}## {title}\n\n{about}\n")
            chapter, number = title, 0
        number += 1
        lines.append(f"{number}. [`{name}`](../{name}): {first_line(trees[name])}.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
