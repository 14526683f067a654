"""`refimpl spec`: a clause with the code that is it, its cases and its evidence; lists and searches."""

from __future__ import annotations

import re

import click

from ..conformance.case import Case
from ..conformance.case_file import cases_folder, load_cases, read_case
from ..conformance.clauses import CLAUSE_ID, FAMILIES, Clause, load_clauses, not_applicable
from ..conformance.source import Place, places_of
from .terminal import console, write_json

_TRUTHS = {
    "contract": "what Burn means",
    "pinned": "what 0.23.0-pre.1 does, perhaps by accident",
    "ours": "a decision of this project",
}

#: A case, with or without the variant in brackets.
_CASE = re.compile(r"([a-z]{3})\.([a-z0-9_.]{1,100})(\[.*\])?")
_LEADING_ZEROS = re.compile("-0+(?=[1-9])")
#: Words up to so many letters are left out when nothing has all of them, and so many clauses are named then.
_SHORT = 2
_NEAREST = 8


@click.command("spec")
@click.argument("words", nargs=-1, metavar="[ID | WORDS]...")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Show, list or search the clauses of the specification.

    An id (`PLC-3`) shows the clause with its code, cases and evidence; a family (`PLC`) lists its clauses;
    other words are searched for; without any, the chapters are listed.
    """
    clauses = load_clauses()
    words = tuple(word for given in words for word in given.split())
    asked = [_LEADING_ZEROS.sub("-", word.upper()) for word in words]
    if words and all(CLAUSE_ID.fullmatch(word) for word in asked):
        for word in asked:
            if word not in clauses:
                raise click.UsageError(_no_clause(word, clauses))
        _show([clauses[word] for word in asked], as_json)
        return 0
    if len(words) == 1 and asked[0] in FAMILIES:
        found = [clause for clause in clauses.values() if clause.family == asked[0]]
    elif words:
        found = [clause for clause in clauses.values() if _matches(clause, words)]
        if not found:
            raise click.UsageError(_case(words) or _nothing_found(words, clauses))
    else:
        _chapters(clauses, as_json)
        return 0
    if as_json:
        write_json([_summary(clause) for clause in found])
        return 0
    out = console()
    for clause in found:
        out.print(f"{clause.id:8}{clause.truth:10}{clause.title}")
    return 0


def _matches(clause: Clause, words: tuple[str, ...]) -> bool:
    return _count(clause, words) == len(words)


def _count(clause: Clause, words: tuple[str, ...]) -> int:
    """How many of the words the clause has, in its sentences or in Burn's name for it."""
    text = f"{clause.id} {clause.title} {clause.text} {clause.burn}".lower()
    return sum(word.lower() in text for word in words)


def _no_clause(asked: str, clauses: dict[str, Clause]) -> str:
    family = asked.partition("-")[0]
    known = [clause.id for clause in clauses.values() if clause.family == family]
    if not known:
        return f"there is no clause {asked}: the chapters are {', '.join(FAMILIES)}"
    return f"there is no clause {asked}: {family} has {known[0]} to {known[-1]}"


def _case(words: tuple[str, ...]) -> str:
    """Where to look, when the one word is the id of a case, or the label of a variant."""
    asked = _CASE.fullmatch(words[0])
    file = "" if asked is None else f"{asked[1]}/{asked[2]}.json"
    if len(words) > 1 or not file or not (cases_folder() / file).is_file():
        return ""
    case = read_case(cases_folder() / file, cases_folder())
    return (
        f"{case.id} is a case: spec/cases/{file}; its clauses are {', '.join(case.clauses)}; "
        f"`refimpl conform --case {case.id}` asks it"
    )


def _nothing_found(words: tuple[str, ...], clauses: dict[str, Clause]) -> str:
    """That no clause has all of the words, and the clauses that have most of the longer ones."""
    stems = tuple(word.lower().strip("`?!.,;:\"'").rstrip("s") for word in words if len(word) > _SHORT)
    ranks = {c.id: (_count(c, stems), sum(w in c.title.lower() for w in stems)) for c in clauses.values()}
    nearest = sorted((name for name, rank in ranks.items() if rank[0]), key=ranks.__getitem__, reverse=True)
    lines = [f"{name:8}{clauses[name].title}" for name in nearest[:_NEAREST]]
    return "\n".join([f"no clause has all of: {' '.join(words)}", *(["nearest:"] if lines else []), *lines])


def _summary(clause: Clause) -> dict[str, str]:
    return {"id": clause.id, "truth": clause.truth, "title": clause.title}


def _chapters(clauses: dict[str, Clause], as_json: bool) -> None:
    counts = {family: sum(clause.family == family for clause in clauses.values()) for family in FAMILIES}
    if as_json:
        write_json(counts)
        return
    out = console()
    for family, count in counts.items():
        out.print(f"{family}  {count:3} clauses  spec/{family.lower()}.md")
    out.print("\n`refimpl spec PLC` lists a chapter, `refimpl spec PLC-3` shows a clause.")


def _show(clauses: list[Clause], as_json: bool) -> None:
    cases = load_cases()
    shown = [(clause, places_of(clause.id), _cases_of(clause, cases)) for clause in clauses]
    excused = not_applicable()
    if as_json:
        write_json([_full(*one, excused) for one in shown])
        return
    for index, one in enumerate(shown):
        if index:
            console().print()
        _print(*one, excused)


def _cases_of(clause: Clause, cases: list[Case]) -> list[Case]:
    return [case for case in cases if clause.id in case.clauses]


def _evidence(cases: list[Case]) -> dict[str, int]:
    """How many cases of each provenance support the clause."""
    counts: dict[str, int] = {}
    for case in cases:
        made = case.provenance
        source = f"{made.source} {made.version}" if made.version is not None else made.source
        counts[source] = counts.get(source, 0) + 1
    return counts


def _full(
    clause: Clause, places: list[Place], cases: list[Case], excused: dict[str, str]
) -> dict[str, object]:
    return {
        **_summary(clause),
        "text": clause.text,
        "found": clause.found,
        "burn": clause.burn,
        "chapter": clause.chapter,
        "line": clause.line,
        "code": [{"file": place.file, "line": place.line, "name": place.name} for place in places],
        "cases": [case.id for case in cases],
        "evidence": _evidence(cases),
        "not_applicable": excused.get(clause.id),
    }


def _print(clause: Clause, places: list[Place], cases: list[Case], excused: dict[str, str]) -> None:
    out = console()
    out.print(f"{clause.id}: {clause.title}", style="bold")
    out.print(f"\n{clause.text}\n")
    out.print(f"truth     {clause.truth}: {_TRUTHS[clause.truth]}; {clause.found}")
    out.print(f"burn      {clause.burn}")
    out.print(f"text      spec/{clause.chapter}, line {clause.line}")
    for place in places:
        out.print(f"code      {place}")
    if not places:
        out.print("code      none names it")
    for case in cases:
        out.print(f"case      {case.id}: {case.why}")
    evidence = ", ".join(f"{count} {source}" for source, count in _evidence(cases).items())
    out.print(f"evidence  {evidence or excused.get(clause.id) or 'no case asks this clause'}")
