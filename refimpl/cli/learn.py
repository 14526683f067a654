"""`refimpl learn`: a bug is planted in the reference; find the clause that it breaks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

import click

from ..conformance.case_file import load_cases
from ..conformance.clauses import CLAUSE_ID, Clause, load_clauses
from ..conformance.planted.catalogue import CATALOGUE
from ..conformance.planted.planting import Bug
from ..conformance.planted.trial import cases_of, noticed
from ..conformance.printable import plain
from ..conformance.result import Result
from ..errors import CaseError
from .terminal import console, write_json

_HELP = """  a clause id, `PLC-3` say   that is the broken rule
  hint                       the next hint, five in all
  ask CASE                   what a case says, or the cases whose id begins so
  give up                    show it
"""


@click.command("learn")
@click.option("--seed", "number", type=int, help="The same seed plants the same bug.")
@click.option("--bug", "name", type=click.Choice([bug.name for bug in CATALOGUE]), help="Plant this one.")
@click.option("--json", "as_json", is_flag=True, help="All hints and the answer as JSON, without asking.")
def command(number: int | None, name: str | None, as_json: bool) -> int:
    """Plant a random bug in the reference of this process, and find the clause that it breaks.

    The cases of the specification notice it; hints show the difference, the case, the sentences of its
    clauses and the place in the code. Nothing on disk is changed.
    """
    chosen = [bug for bug in CATALOGUE if bug.name == name]
    bug = chosen[0] if chosen else random.Random(number).choice(CATALOGUE)
    found = list(noticed(bug, cases_of(bug, load_cases())))
    if not found:
        raise CaseError(f"no case of {bug.clause} notices the bug {bug.name!r}")
    lesson = _Lesson(bug, min(found, key=lambda result: len(json.dumps(result.case.steps))))
    if as_json:
        write_json({"case": lesson.result.label, "hints": list(lesson.hints), "bug": bug})
    else:
        lesson.run()
    return 0


class _Lesson:
    """One bug, the smallest case that notices it, and what the learner has asked so far."""

    def __init__(self, bug: Bug, result: Result) -> None:
        self.bug = bug
        self.result = result
        self.clauses = load_clauses()
        self.hints = self._hints()
        self.out = console()
        self.tries = 0

    def say(self, text: str = "") -> None:
        self.out.print(plain(text), soft_wrap=True)

    def run(self) -> None:
        self.say("One rule of the reference is broken now. Which clause is it?")
        self.say(_HELP)
        ask: Callable[..., str] = click.prompt
        while True:
            try:
                said = ask(">", prompt_suffix=" ", default="", show_default=False).strip()
            except click.Abort:
                said = "give up"
            if self._answer(said):
                return

    def _answer(self, said: str) -> bool:
        """Answer one line; whether that was the end."""
        word = said.upper()
        if said == "give up":
            self._show()
            return True
        if CLAUSE_ID.fullmatch(word):
            return self._guess(word)
        if said in ("hint", ""):
            self.say(next(self.hints, "There are no more hints: guess, or `give up`."))
        elif said.startswith("ask "):
            self._ask(said[4:].strip())
        else:
            self.say(_HELP)
        return False

    def _guess(self, name: str) -> bool:
        self.tries += 1
        clause = self.clauses.get(name)
        if name == self.bug.clause:
            self.say(f"Yes, after {self.tries} {'try' if self.tries == 1 else 'tries'}.")
            self._show()
            return True
        self.say(f"There is no clause {name}." if clause is None else f"No: {name}, {clause.title}, holds.")
        return False

    def _ask(self, prefix: str) -> None:
        asked = [
            variant
            for case in load_cases(prefix=prefix)
            for variant in cases_of(self.bug, [case])
            if variant.case.id == case.id
        ]
        if not asked:
            self.say(f"No case {prefix!r} asks the broken clause.")
            return
        wrong = [result.label for result in noticed(self.bug, asked)]
        self.say(f"{len(asked) - len(wrong)} pass, {len(wrong)} fail: {', '.join(wrong[:5]) or 'none'}")

    def _hints(self) -> Iterator[str]:
        result, case = self.result, self.result.case
        detail = str(result.difference) if result.difference is not None else result.message
        yield f"The smallest difference, in {result.label}, step {result.step}:\n  {detail}"
        steps = "\n".join(f"  {json.dumps(step)}" for step in case.steps)
        yield f"The case, which catches this: {case.why}\n{steps}"
        named = [self.clauses[name] for name in case.clauses if name in self.clauses]
        yield "It asks these clauses:\n" + "\n".join(map(_titled, named))
        yield f"The code is in {self.bug.file}."
        yield f"It is {self.bug.place.partition(':')[2]}, and whoever wrote it believes: {self.bug.belief}"

    def _show(self) -> None:
        clause = self.clauses[self.bug.clause]
        self.say(f"{clause.id}: {clause.title}\n{clause.text}")
        self.say(f"\nPlanted in {self.bug.file}, {self.bug.place.partition(':')[2]}: {self.bug.belief}")
        self.say(f"  right  {self.bug.right}\n  wrong  {self.bug.wrong}")


def _titled(clause: Clause) -> str:
    return f"  {clause.id}: {clause.sentence}"
