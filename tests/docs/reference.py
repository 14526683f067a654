"""The generated pages of docs/reference/: `python -m tests.docs.reference` writes them anew."""

from __future__ import annotations

import inspect
from pathlib import Path

import refimpl
from refimpl import errors

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
#: What has no docstring of its own: an alias of `Annotated`.
ALIASES = {"Skip": "`Skip[T]`: a field of type `T` that is carried along and never traversed."}
NOTE = "<!-- Written by `python -m tests.docs.reference` from the docstrings. -->\n"


def first_line(item: object) -> str:
    """The rule that the docstring of `item` begins with."""
    text = inspect.getdoc(item)
    return text.splitlines()[0] if text else ""


def api() -> str:
    """Every public name, by chapter, with the rule that its docstring begins with."""
    page = [
        NOTE,
        "# Public names",
        "",
        "What `import refimpl` gives. Each name is imported when it is first used.",
    ]
    chapter = ""
    for module, names in refimpl._HOME.items():
        folder = module.split(".")[0]
        if folder != chapter:
            chapter = folder
            page += ["", f"## {chapter}/", "", "| name | what it is |", "| --- | --- |"]
        source = f"../../refimpl/{module.replace('.', '/')}.py"
        page += [
            f"| [`{name}`]({source}) | {ALIASES.get(name) or first_line(getattr(refimpl, name))} |"
            for name in names
        ]
    return "\n".join(page) + "\n"


def exceptions() -> str:
    """Every exception, below the one that it is a kind of."""
    page = [
        NOTE,
        "# Errors",
        "",
        "Every error of this project is a `refimpl.errors.RefimplError`. `.clause` names the rule that was",
        "broken, `.hint` says what to do; both are printed below the message. Names in parentheses are the",
        "Python exceptions that it is too.",
        "",
    ]

    def show(kind: type[BaseException], depth: int) -> None:
        others = [
            base.__name__
            for base in kind.__bases__
            if not issubclass(base, errors.RefimplError) and base not in (Exception, UserWarning)
        ]
        also = f" ({', '.join(others)})" if others else ""
        page.append(f"{'  ' * depth}- `{kind.__name__}`{also}: {first_line(kind)}")
        for child in kind.__subclasses__():
            if child.__module__ == errors.__name__:
                show(child, depth + 1)

    show(errors.RefimplError, 0)
    page += ["", f"One warning: `EmptyGroupWarning`. {first_line(errors.EmptyGroupWarning)}"]
    return "\n".join(page) + "\n"


PAGES = {"api.md": api, "errors.md": exceptions}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), "utf-8")
