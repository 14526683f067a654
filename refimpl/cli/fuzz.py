"""`refimpl fuzz`: random questions to the reference and a subject, until they differ."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from ..conformance.printable import plain
from ..conformance.subject import FORMS, open_subject
from ..errors import ResourceError
from .main import AS_EXPECTED, BROKEN, DIFFERENCES
from .signals import code_of
from .terminal import console, write_json

if TYPE_CHECKING:
    from ..conformance.fuzz.campaign import Campaign
    from ..conformance.fuzz.finding import Finding

#: Without `--minutes` or `--examples`.
_EXAMPLES = 2000
_SCOPES = ("small", "traces", "bytes", "relations")


def _number(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    """What was given, if it is a number: a range lets NaN through, and nothing would ever end."""
    if given is not None and math.isnan(given):
        raise click.BadParameter("nan is not a time: give minutes, such as 0.5", context, parameter)
    return given


@click.command("fuzz")
@click.option("--subject", default="refimpl", show_default=True, help=f"Who is asked: {FORMS}.")
@click.option("--seed", "number", default=0, show_default=True, help="The same seed draws the same traces.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), callback=_number, help="How long.")
@click.option("--examples", type=click.IntRange(min=1), help=f"How many traces (default: {_EXAMPLES}).")
@click.option("--only", "scopes", multiple=True, type=click.Choice(_SCOPES), help="Only these questions.")
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write what was found as case files below this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="What was found, as JSON.")
def command(
    subject: str,
    number: int,
    minutes: float | None,
    examples: int | None,
    scopes: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> int:
    """Ask the reference and a subject the same at random; make what differs small.

    Every small placement and tree comes first, then drawn traces and broken record files. Of the reference
    alone only relations are asked that hold without an oracle. Interrupted, it tells what it has found.
    """
    campaigns = _campaigns()
    if folder is not None:
        from ..conformance.fuzz.finding import prepare

        prepare(folder)
    chosen = scopes or (("relations",) if subject == "refimpl" else _SCOPES)
    seconds = None if minutes is None else minutes * 60
    budget = campaigns.Budget(seconds, _EXAMPLES if minutes is None and examples is None else examples)
    interrupted = 0
    with open_subject("refimpl") as reference, open_subject(subject) as asked:
        campaign = campaigns.Campaign(
            subject, reference, asked, budget, number, progress=_Progress(quiet=not sys.stderr.isatty())
        )
        try:
            campaign.run(chosen)
            if not campaign.done:
                raise click.UsageError("the time is too short to ask anything: give more --minutes")
            campaign.settle(folder)
        except KeyboardInterrupt as stop:
            interrupted = code_of(stop)
        findings = list(campaign.findings.values())
        if as_json:
            write_json(
                {
                    "subject": subject,
                    "seed": number,
                    "traces": campaign.done,
                    "questions": campaign.questions,
                    "unasked": campaign.comparison.unasked,
                    "rate": round(campaign.rate, 1),
                    "operations": dict(campaign.operations.most_common()),
                    "findings": findings,
                    "interrupted": bool(interrupted),
                }
            )
        else:
            _print(campaign, findings)
    if interrupted:
        return interrupted
    faults = campaigns.FAULTS
    if any(finding.disagreement.kind in faults for finding in findings):
        return BROKEN
    return DIFFERENCES if findings else AS_EXPECTED


def _campaigns() -> ModuleType:
    try:
        from ..conformance.fuzz import campaign
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ResourceError(
            "fuzzing draws with Hypothesis, which is not installed", hint="pip install 'refimpl[fuzz]'"
        ) from error
    return campaign


class _Progress:
    """One line on standard error, at most five times a second: traces, rate, findings, operations."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.last = 0.0

    def __call__(self, campaign: Campaign) -> None:
        now = time.monotonic()
        if self.quiet or now - self.last < 0.2:
            return
        self.last = now
        sys.stderr.write(f"\r{_line(campaign)} ")
        sys.stderr.flush()


def _line(campaign: Campaign) -> str:
    return (
        f"{campaign.done} traces, {campaign.rate:.0f} questions a second, "
        f"{len(campaign.operations)} operations, {len(campaign.findings)} differences"
    )


def _print(campaign: Campaign, findings: list[Finding]) -> None:
    out = console()
    out.print(_line(campaign))
    for finding in findings:
        shown = finding.disagreement
        out.print(plain(f"\n{shown.kind}"), style="bold red")
        detail = str(shown.difference) if shown.difference is not None else shown.message
        out.print(plain(f"  {detail}"), style="yellow")
        for number, step in enumerate(finding.trace.steps):
            mark = ">" if number == shown.step else " "
            out.print(plain(f"  {mark} {json.dumps(step)}"), soft_wrap=True)
        if finding.verified:
            out.print(f"  came again {finding.verified} times in fresh processes")
        if finding.file:
            out.print(plain(f"  written to {finding.file}"))
