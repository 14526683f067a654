"""`pytest --refimpl-subject=SUBJECT`: each variant of each case is a test item."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..conformance.result import Result
    from ..conformance.subject import Subject
    from ..conformance.variants import Variant

_SUBJECT: pytest.StashKey[Subject] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("refimpl", "conformance to Burn's module system")
    group.addoption("--refimpl-subject", metavar="SUBJECT", help="Ask this subject the cases of refimpl.")
    group.addoption("--refimpl-case", metavar="ID", default="", help="Only the cases whose id begins so.")


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the cases to whatever else was collected."""
    if not config.getoption("--refimpl-subject"):
        return
    from ..conformance.case_file import load_cases
    from ..conformance.variants import variants

    cases = load_cases(prefix=config.getoption("--refimpl-case"))
    if not cases:
        raise pytest.UsageError(f"refimpl has no case {config.getoption('--refimpl-case')!r}")
    for case in cases:
        for variant in variants(case):
            items.append(CaseItem.from_parent(session, name=variant.label, variant=variant))  # noqa: PERF401


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """The subject is started before the first test and ended after the last."""
    name = session.config.getoption("--refimpl-subject")
    if not name:
        return (yield)
    from ..conformance.subject import open_subject

    with open_subject(name) as session.config.stash[_SUBJECT]:
        return (yield)


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
        """Ask, and judge."""
        from ..conformance.runner import ask
        from ..conformance.verdict import PASS, SUBJECT_FAULTS, UNSUPPORTED

        subject = self.config.stash[_SUBJECT]
        result = ask(subject, self.variant)
        if result.verdict in SUBJECT_FAULTS:
            subject.restart()
        if result.verdict == UNSUPPORTED:
            pytest.skip(result.message)
        if result.verdict != PASS:
            raise CaseFailedError(_text(self.config.getoption("--refimpl-subject"), result))

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

    clauses = load_clauses()
    lines = [f"{result.verdict}: {result.label}"]
    lines += [f"{name}: {clauses[name].sentence}" for name in result.case.clauses if name in clauses]
    lines.append(str(result.difference) if result.difference is not None else result.message)
    lines.append(f"again: refimpl conform --subject '{subject}' --case {result.case.id}")
    return "\n".join(lines)
