"""`pytest --refimpl-subject=SUBJECT`: each variant of each case is a test item."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..conformance.expectations import Expectations
    from ..conformance.result import Result
    from ..conformance.runner import Runner
    from ..conformance.subject import Subject
    from ..conformance.variants import Variant

_RUNNER: pytest.StashKey[Runner] = pytest.StashKey()
_KNOWN: pytest.StashKey[Expectations] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("refimpl", "conformance to Burn's module system")
    group.addoption("--refimpl-subject", metavar="SUBJECT", help="Ask this subject the cases of refimpl.")
    group.addoption("--refimpl-case", metavar="ID", default="", help="Only the cases whose id begins so.")


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the cases to whatever else was collected."""
    subject = config.getoption("--refimpl-subject")
    if not subject:
        return
    from ..conformance.case_file import load_cases
    from ..conformance.clauses import asked_truths
    from ..conformance.variants import variants

    truths = asked_truths(subject)
    cases = [case for case in load_cases(prefix=config.getoption("--refimpl-case")) if case.truth in truths]
    if not cases:
        raise pytest.UsageError(f"refimpl has no case {config.getoption('--refimpl-case')!r}")
    for case in cases:
        for variant in variants(case):
            items.append(CaseItem.from_parent(session, name=variant.label, variant=variant))  # noqa: PERF401


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """The subject is started before the first test and ended after the last."""
    name = session.config.getoption("--refimpl-subject")
    if not name or session.config.option.collectonly:
        return (yield)
    with ExitStack() as stack:
        _start(stack, name, session.config.stash)
        return (yield)


def _start(stack: ExitStack, name: str, stash: pytest.Stash) -> None:
    from ..conformance.expectations import Expectations, expectations_file, read_expectations
    from ..conformance.printable import plain
    from ..conformance.runner import Runner
    from ..conformance.subject import open_subject
    from ..errors import RefimplError

    try:
        subject: Subject = stack.enter_context(open_subject(name))
    except RefimplError as error:
        hint = "" if error.hint is None else f" ({error.hint})"
        said = " ".join(f"{error}{hint}".split())
        raise pytest.UsageError(plain(f"--refimpl-subject={name}: {said}")) from None
    version = subject.greeting.impl.version
    file = expectations_file(name)
    known = Expectations((), version) if file is None else read_expectations(file, version)
    stash[_KNOWN], stash[_RUNNER] = known, Runner(subject, known.skip)


class CaseFailedError(Exception):
    """A result that is no pass; pytest shows its text without a traceback."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class CaseItem(pytest.Item):
    """One variant of one case."""

    def __init__(self, *, variant: Variant, **fields: Any) -> None:
        super().__init__(**fields)
        self.variant = variant

    def runtest(self) -> None:
        """Ask and judge, as `refimpl conform` does."""
        from ..conformance.result import Result
        from ..conformance.verdict import PASS, SKIP, STRICT, UNSUPPORTED

        name = self.config.getoption("--refimpl-subject")
        events = self.config.stash[_RUNNER].events(iter((self.variant,)))
        judged = self.config.stash[_KNOWN].judge(events, whole=False)
        result = next(event for event in judged if isinstance(event, Result))
        if result.verdict == SKIP or (result.verdict == UNSUPPORTED and name not in STRICT):
            pytest.skip(result.message)
        if result.verdict == PASS:
            return
        if result.expected:
            pytest.xfail(result.expected)
        raise CaseFailedError(_text(name, result))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The clause, the difference and the command that repeats it."""
        if isinstance(excinfo.value, CaseFailedError):
            return excinfo.value.text
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where pytest says that the test is."""
        return "refimpl", None, self.name


def _text(subject: str, result: Result) -> str:
    from ..conformance.clauses import load_clauses
    from ..conformance.printable import plain
    from ..conformance.report import repeat

    clauses = load_clauses()
    lines = [f"{result.verdict}: {result.label}"]
    lines += [f"{name}: {clauses[name].sentence}" for name in result.case.clauses if name in clauses]
    lines.append(" ".join(str(said) for said in (result.difference, result.message) if said))
    lines.append(f"again: {repeat(subject, result.label)}")
    return plain("\n".join(lines))
