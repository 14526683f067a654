"""The commands by name, each with the line that `refimpl --help` shows for it.

This table imports nothing, so that help costs little more than starting Python.
"""

from __future__ import annotations

#: Name: (module in this folder, what it does).
COMMANDS = {
    "conform": ("conform", "Run the cases against a subject and print the clause table."),
    "fuzz": ("fuzz", "Ask the reference and a subject the same at random, and make what differs small."),
    "inspect": ("inspect", "Show what is in a burnpack file."),
    "learn": ("learn", "Find a bug that is planted in the reference, with hints."),
    "report": ("report", "Make JUnit XML, Markdown, JSON or an HTML page from event logs."),
    "spec": ("spec", "Show, list or search the clauses of the specification."),
    "verify": ("verify", "Say everything that is wrong with a burnpack file, and what Burn does with it."),
}

SUMMARY = "An executable specification of Burn's module system, layer parallelism and burnpack records."

USAGE = "Usage: refimpl [OPTIONS] COMMAND [ARGS]..."

EXITS = """Exit codes: 0 as expected, 1 differences found, 2 the subject is broken, or a file that is read
  or cannot be written, 3 a case file or an expectations file (of yours too) or our own code is broken,
  4 usage, 130 interrupted (128 + n: ended by signal n)."""


def help_text() -> str:
    """What `refimpl --help` prints."""
    width = max(map(len, COMMANDS)) + 2
    rows = "\n".join(f"  {name:{width}}{line}" for name, (_, line) in COMMANDS.items())
    return (
        f"{USAGE}\n\n  {SUMMARY}\n\n  {EXITS}\n\nOptions:\n"
        "  --version  Show the version and exit.\n  --help     Show this message and exit.\n\n"
        f"Commands:\n{rows}\n"
    )
