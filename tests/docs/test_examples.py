"""Every example in the documentation and in the docstrings runs, and prints what it says it prints."""

from __future__ import annotations

import doctest
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

import refimpl

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def run_console(example: Example) -> str | None:
    """Run each line after `$ ` in a shell, and compare what it prints with the lines below it.

    A last line `[exit 1]` says that the command leaves with that code; without it, it leaves with 0.
    """
    commands = [part for part in ("\n" + example.parsed).split("\n$ ") if part.strip()]
    for part in commands:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, timeout=120, check=False, env=environment()
        )
        got = done.stdout + done.stderr + (f"[exit {done.returncode}]\n" if done.returncode else "")
        want = expected.rstrip() + "\n" if expected.strip() else ""
        if not doctest.OutputChecker().check_output(want, got, FLAGS):
            return f"$ {command}\nexpected:\n{want}\ngot:\n{got}"
    return None


class FileParser(CodeBlockParser):
    """A block opened with "python port.py" is the content of that file, for the commands below it."""

    language = "a Python file"

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in self.lexers(document):
            _, _, name = region.lexemes["arguments"].partition("python ")
            if name:
                region.parsed = (name, str(region.lexemes["source"]))
                region.evaluator = self.evaluate
                yield region

    def evaluate(self, example: Example) -> None:
        name, content = example.parsed
        Path(name).write_text(content, "utf-8")


def environment() -> dict[str, str]:
    """This process's environment with our `refimpl` first, and a terminal of a known width."""
    scripts = sysconfig.get_path("scripts")
    return os.environ | {
        "PATH": scripts + os.pathsep + os.environ.get("PATH", ""),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


MARKDOWN = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
        FileParser(),
        SkipParser(),
    ]
)
DOCSTRINGS = Sybil(
    parsers=[DocTestParser(optionflags=FLAGS)], document_types={".py": PythonDocStringDocument}
)


def documents() -> list[Path]:
    """Every Markdown page and every file of the package that holds an example."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("spec/*.md"))]
    code = [file for file in sorted(ROOT.glob("refimpl/**/*.py")) if ">>> " in file.read_text("utf-8")]
    return [page for page in pages if "```" in page.read_text("utf-8")] + code


@pytest.mark.parametrize("document", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_example_runs_and_prints_what_it_says(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sybil = DOCSTRINGS if document.suffix == ".py" else MARKDOWN
    parsed = sybil.parse(document)
    parsed.namespace["__name__"] = "__main__"
    if sybil is DOCSTRINGS:  # the reader of a docstring has done `from refimpl import *`
        parsed.namespace |= {name: getattr(refimpl, name) for name in refimpl.__all__}

    for example in parsed.examples():
        example.evaluate()
