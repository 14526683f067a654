"""`refimpl verify`: whether a file is sound, and everything that is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..conformance.printable import plain
from .main import AS_EXPECTED, BROKEN, DIFFERENCES
from .terminal import console, write_json

if TYPE_CHECKING:
    from ..burnpack.verify import Finding, Verdict

_CODES = {"sound": AS_EXPECTED, "odd": DIFFERENCES, "broken": BROKEN}


@click.command("verify")
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON, with exact names.")
def command(file: str, as_json: bool) -> int:
    """Say everything that is wrong with a burnpack file, where, and what Burn does with it.

    Exit code 0: sound. 1: accepted, and not as a Burn writer writes it. 2: refused by Burn or by this reader,
    when it is opened or when a module is loaded from it.
    """
    from ..burnpack.verify import verify

    verdict = verify(file)
    if as_json:
        write_json(_document(verdict))
    else:
        _print(verdict)
    return _CODES[verdict.word]


def _document(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.word,
        "size": verdict.size,
        "tensors": verdict.tensors,
        "left_out": verdict.left_out,
        "findings": [
            {
                "at": finding.at,
                "stage": finding.stage,
                "burn": finding.burn.value,
                "text": finding.text,
                "tensor": finding.tensor,
                "clause": finding.clause,
            }
            for finding in verdict.findings
        ],
    }


def _print(verdict: Verdict) -> None:
    out = console()
    for finding in verdict.findings:
        line = f"byte {finding.at:<10} Burn {_answer(finding)}: {finding.text}  [{finding.clause}]"
        out.print(plain(line), soft_wrap=True)
    if verdict.left_out:
        out.print(f"and {verdict.left_out} more", soft_wrap=True)
    count = len(verdict.findings) + verdict.left_out
    held = "" if verdict.tensors is None else f"{verdict.tensors} tensors, "
    out.print(f"{verdict.word}: {held}{verdict.size} bytes, {count} findings", style="bold")


def _answer(finding: Finding) -> str:
    """What Burn does, and where this reader does something else on purpose."""
    said = finding.burn.value
    if finding.stage == "record":
        said += " when it is loaded"
    elif finding.stage == "open" and finding.burn.value != "refuses":
        said += ", refused here"
    return said
