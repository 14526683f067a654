"""`refimpl conform`: the cases, a subject, and the clause table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from ..conformance.case import Case
from ..conformance.case_file import load_cases, of_size, selected
from ..conformance.clauses import TRUTHS, asked_truths, load_clauses, not_applicable
from ..conformance.expectations import Expectations, expectations_file, read_entries, read_expectations
from ..conformance.printable import plain
from ..conformance.report import Report, unknown_clauses
from ..conformance.result import Event, Result
from ..conformance.runner import run
from ..conformance.subject import FORMS, open_subject, split_command
from ..conformance.variants import Variant, variants
from ..conformance.verdict import ADAPTER_FAULT, STRICT
from ..conformance.versions import BURN
from ..errors import CaseError
from .apart import refuse_shared
from .main import AS_EXPECTED, BROKEN
from .recorded import recorded
from .report import form_options
from .signals import code_of
from .table import print_report
from .terminal import console, write_json

SIZES = ("smoke", "core", "full")


@click.command("conform")
@click.option("--subject", default="refimpl", show_default=True, help=f"Who is asked: {FORMS}.")
@click.option("--chapter", "chapters", multiple=True, metavar="C", help="Only this chapter, `PLC` say.")
@click.option(
    "--case",
    "ids",
    multiple=True,
    metavar="ID",
    help="Only this case, the ids that begin so, or the variants with these values: `id[axis=value,...]`.",
)
@click.option("--truth", "truths", multiple=True, type=click.Choice(TRUTHS), help="Only cases of this truth.")
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="full",
    show_default=True,
    help="`smoke`: one case a clause; `core`: what every implementation must do.",
)
@click.option(
    "--cases",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Other case files.",
)
@click.option(
    "--expectations",
    "known",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Known differences; by default `spec/expectations/<subject>.toml` where there is one.",
)
@click.option("--update", is_flag=True, help="Rewrite the expectations to what this run shows.")
@click.option(
    "--sandbox",
    is_flag=True,
    help="Keep the subject apart: no network, no other process. It can still read your files.",
)
@click.option(
    "--check-adapter",
    metavar="COMMAND",
    help="Only ask whether this command speaks the protocol as it should.",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the event log, for `refimpl report`.",
)
@form_options
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def command(
    subject: str,
    chapters: tuple[str, ...],
    ids: tuple[str, ...],
    truths: tuple[str, ...],
    size: str,
    folder: Path | None,
    known: Path | None,
    update: bool,
    sandbox: bool,
    check_adapter: str | None,
    events: Path | None,
    as_json: bool,
    **forms: Path | None,
) -> int:
    """Run the cases against a subject and print the clause table.

    Without options the reference itself is on trial, against the answers recorded from real Burn. Real Burn
    (`burn`) is asked the cases whose truth is `contract` or `pinned`; the others are this project's own.
    """
    if check_adapter is not None:
        _refuse_others("check_adapter", "sandbox", "as_json")
        return _check_adapter(check_adapter, sandbox=sandbox, as_json=as_json)
    file = expectations_file(subject) if known is None and folder is None else known
    if update and file is None:
        raise click.UsageError("--update needs to know which file: give --expectations FILE")
    if known is not None and not (update or known.is_file()):
        raise click.UsageError(f"there is no file {known}")
    written = {"--events": events, **{f"--{name}": path for name, path in forms.items()}}
    own = [] if folder is None else list(folder.rglob("*.json"))
    refuse_shared(written, {"--expectations": file, "--cases": own, "--subject": _files_of(subject)})
    clauses = load_clauses()
    kinds = truths or asked_truths(subject)
    cases = load_cases(folder)
    if folder is not None and not cases:
        raise click.UsageError(f"--cases: there is no case file (*.json) for Burn {BURN} below {folder}")
    asked = of_size(_choose(cases, chapters, ids, kinds), size)
    for case, name in unknown_clauses(asked, clauses):
        raise CaseError(f"case {case.id} names {name}, which no chapter has")
    in_question = {name: clause for name, clause in clauses.items() if clause.truth in kinds}
    report = Report(subject, in_question, not_applicable(), strict=subject in STRICT)
    whole = not (chapters or ids or truths) and size == "full"
    seen: list[Result] = []
    with (
        recorded(events, forms) as log,
        open_subject(subject, sandbox=sandbox) as opened,
        _progress(asked) as counted,
    ):
        version = opened.greeting.impl.version
        expected = (
            read_expectations(file, version)
            if file is not None and file.is_file()
            else Expectations((), version)
        )
        if log is not None:
            log.start(subject, opened.greeting.impl)
        answers = _blamed(
            subject, run(opened, counted, expected.skip, whole=whole, wanted=partial(_named, ids))
        )
        told = _kept(answers, seen if update else None)
        try:
            for event in expected.judge(told, whole=whole):
                report.add(event)
                if log is not None:
                    log.add(event, report)
        except KeyboardInterrupt as stop:
            report.interrupted = code_of(stop)
        if log is not None and not report.interrupted:
            log.end(report.exit_code())
    if report.interrupted:
        click.echo("interrupted: what follows, and every report, is what was asked before", err=True)
    elif update and file is not None:
        from ..burnpack.atomic import AtomicFile
        from ..conformance.rewrite import rewrite

        before = len(read_entries(file)) if file.is_file() else 0
        content = rewrite(file, seen, version, whole=whole).encode()
        with AtomicFile(str(file.resolve())) as kept:  # what people wrote in it is not lost to a full disk
            kept.write(content)
            kept.publish()
        click.echo(f"{file}: {before} entries before, {len(read_entries(file))} now", err=True)
    if as_json:
        write_json(report.as_json())
    else:
        print_report(report, whole=not ids)
    return report.exit_code()


def _files_of(subject: str) -> list[Path]:
    """The files that a subject is made of, as far as its name says so."""
    form, _, rest = subject.partition(":")
    words = split_command(rest) if form == "cmd" else []
    if form == "py":
        words = [f"{rest.partition(':')[0].replace('.', '/')}.py"]
    return [path for path in map(Path, words) if path.is_file()]


def _refuse_others(*alone: str) -> None:
    """Refuse options beside those that go together.

    Raises:
        UsageError: Another one was given.
    """
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if given and option.name not in alone:
            raise click.UsageError(f"{option.opts[0]} has no meaning beside --{alone[0].replace('_', '-')}")


def _blamed(subject: str, events: Iterator[Event]) -> Iterator[Event]:
    """The events; the reference understands every step, so what it does not understand is no step.

    Raises:
        CaseError: A case asks for something that is not in the protocol.
    """
    for event in events:
        if subject == "refimpl" and isinstance(event, Result) and event.verdict == ADAPTER_FAULT:
            where = "" if event.step is None else f", field `steps[{event.step}]`"
            raise CaseError(f"case {event.label}{where}: {event.message}")
        yield event


def _kept(events: Iterator[Event], seen: list[Result] | None) -> Iterator[Event]:
    """The events, with the results kept in `seen` as they come."""
    for event in events:
        if seen is not None and isinstance(event, Result):
            seen.append(event)
        yield event


def _check_adapter(command: str, *, sandbox: bool, as_json: bool) -> int:
    """Whether a command speaks the protocol, question by question."""
    from ..conformance.adapter_check import check_adapter

    answers = list(check_adapter(command, sandbox=sandbox))
    wrong = [answer for answer in answers if answer.fault]
    if as_json:
        write_json({"adapter": command, "questions": [msgspec.to_builtins(answer) for answer in answers]})
        return AS_EXPECTED if not wrong else BROKEN
    out = console()
    for answer in answers:
        out.print(plain(f"{'no ' if answer.fault else 'yes'}  {answer.question}"))
        if answer.fault:
            out.print(plain(f"     {answer.fault}"))
            out.print(plain(f"     hint: {answer.hint}"))
    told = f"{len(wrong)} of {len(answers)} answered no" if wrong else "the adapter is right"
    out.print(plain(f"\n{command}: {told}"))
    return AS_EXPECTED if not wrong else BROKEN


def _choose(
    cases: list[Case], chapters: tuple[str, ...], ids: tuple[str, ...], truths: tuple[str, ...]
) -> list[Case]:
    for chapter in chapters:
        if not any(case.chapter == chapter.lower() for case in cases):
            raise click.UsageError(f"there is no case of chapter {chapter!r}")
    for name in ids:
        near = [case for case in cases if name and selected(case.id, name.partition("[")[0])]
        if not any(_named((name,), variant) for case in near for variant in variants(case)):
            raise click.UsageError(f"there is no case {name!r} for Burn {BURN}{_labels(near)}")
    wanted = {chapter.lower() for chapter in chapters}
    chosen = [
        case
        for case in cases
        if case.truth in truths
        and (not wanted or case.chapter in wanted)
        and (not ids or any(selected(case.id, name.partition("[")[0]) for name in ids))
    ]
    if not chosen:
        raise click.UsageError("no case fits all of these options")
    return chosen


def _labels(near: list[Case]) -> str:
    """The variants that one case has instead, a few of them."""
    if len(near) != 1 or not near[0].axes:
        return ""
    labels = [variant.label for variant in variants(near[0])]
    return f": it has {', '.join(labels[:3])}{', ...' if len(labels) > 3 else ''}"


def _named(ids: tuple[str, ...], variant: Variant) -> bool:
    """Whether a variant is meant: by its case, by how that begins, or by values on some of its axes."""
    return not ids or any(_means(name, variant) for name in ids)


def _means(name: str, variant: Variant) -> bool:
    case, bracket, values = name.partition("[")
    if not bracket:
        return selected(variant.case.id, case)
    chosen = set(values.removesuffix("]").split(","))
    return variant.case.id == case and values.endswith("]") and chosen <= set(variant.name.split(","))


@contextmanager
def _progress(cases: list[Case]) -> Iterator[Iterator[Case]]:
    """The cases one by one, with a bar on standard error when that is a terminal."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield iter(cases)
        return
    from rich.progress import Progress

    with Progress(console=terminal, transient=True) as bar:
        yield iter(bar.track(cases, description="cases"))
