"""How quickly the cases are read, put to the reference and to real Burn, and how quickly random ones are."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat

from refimpl.conformance.case import Case
from refimpl.conformance.case_file import load_cases, of_size
from refimpl.conformance.fuzz import campaign
from refimpl.conformance.result import Result
from refimpl.conformance.runner import run
from refimpl.conformance.subject import Subject, open_subject
from tests.bench.figure import Figure, least, span, without_collector

#: So many cases one after another may not make the process grow.
MANY = 100_000
#: A case of more steps is no small one.
FEW_STEPS = 20
#: Seconds of random questions, for each kind.
FUZZ_SECONDS = 10.0


def figures() -> Iterator[Figure]:
    cases = load_cases()
    (read,) = least(load_cases, rounds=3)
    yield Figure(f"read {len(cases)} cases", read, 1.0, "s", span(read))
    for size, bound in (("smoke", 5.0), ("core", 60.0)):
        with open_subject("refimpl") as subject:
            wall, _, count = put(subject, of_size(cases, size))
        yield Figure(f"{size} in process", wall, bound, "s", f"{count} variants, {span(wall / count)} each")
    yield from _small(cases)
    if shutil.which("cargo") is None:
        print("skipped: real Burn over the pipe, and fuzzing against it (needs cargo)", file=sys.stderr)
    else:
        yield from _piped(cases)
        yield from _random()
    yield _growth()


def put(subject: Subject, cases: Iterable[Case]) -> tuple[float, float, int]:
    """Put all cases to a subject: seconds, seconds of our own CPU, and how many variants there were."""
    with without_collector():
        wall, own, count = time.perf_counter(), time.process_time(), 0
        for event in run(subject, cases):
            count += isinstance(event, Result)
        return time.perf_counter() - wall, time.process_time() - own, count


def small(cases: list[Case]) -> list[Case]:
    """Those of few steps and one deadline's length, without files and large tensors, five times."""
    short = [case for case in cases if case.cost == 1 and len(case.steps) <= FEW_STEPS]
    return [case for case in short if case.chapter not in ("bpk", "rec") and ".large." not in case.id] * 5


def _small(cases: list[Case]) -> Iterator[Figure]:
    with open_subject("refimpl") as subject:
        wall, _, count = put(subject, small(cases))
    yield _each("small cases in process", wall, count, 1500)


def _piped(cases: list[Case]) -> Iterator[Figure]:
    with open_subject("burn") as subject:
        wall, own, count = put(subject, small(cases))
    yield _each("small cases to real Burn over the pipe", wall, count, 3000)
    yield Figure("a small case over the pipe, our own CPU", own / count * 1e6, 100.0, "us", span(own))


def _random() -> Iterator[Figure]:
    for what, scope, wanted in (
        ("small scopes against real Burn", "small", 1500),
        ("drawn traces against real Burn", "traces", 100),
    ):
        with open_subject("refimpl") as reference, open_subject("burn") as subject:
            budget = campaign.Budget(FUZZ_SECONDS, None)
            asked = campaign.Campaign("burn", reference, subject, budget, 0)
            asked.run((scope,))
        if asked.findings:
            raise AssertionError(f"{what}: {list(asked.findings)}")
        yield _each(what, asked.questions / asked.rate, asked.questions, wanted)


def _each(what: str, seconds: float, count: int, wanted: int) -> Figure:
    """A time for each of them, with the rate that is wanted."""
    beside = f"{count / seconds:.0f} a second of {wanted} wanted"
    return Figure(what, seconds / count * 1e6, 1e6 / wanted, "us", beside)


CHILD = f"""
import sys
from tests.bench.conformance import resident
print(*resident({MANY}))
"""


def resident(many: int) -> tuple[float, float]:
    """MiB held after a tenth of so many cases, and after all of them."""
    cases = [case for case in load_cases() if case.chapter == "plc"]
    found = []
    with open_subject("refimpl") as subject:
        endless = run(subject, chain.from_iterable(repeat(cases)), whole=False)
        for count in (many // 10, many - many // 10):
            for _ in islice(endless, count):
                pass
            with open("/proc/self/status") as status:
                found.append(int(status.read().split("VmRSS:")[1].split()[0]) / 1024)
    return found[0], found[1]


def _growth() -> Figure:
    done = subprocess.run([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, check=True)
    early, late = map(float, done.stdout.split())
    beside = f"{early:.0f} MiB after a tenth of them, {late:.0f} MiB at the end"
    return Figure(f"growth over {MANY} cases", late - early, 8.0, "MiB", beside)
