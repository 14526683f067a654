"""Mutants on trial: each in a process forked for it, so that nothing of it is left and nothing hangs."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from refimpl.conformance.planted.planting import exchanged
from refimpl.conformance.runner import ask
from refimpl.conformance.subject import Subject
from refimpl.conformance.variants import Variant
from refimpl.conformance.verdict import PASS
from tests.mutants.mutate import Mutant
from tests.mutants.reach import forget

#: A variant takes a few milliseconds, of a case with a cost that many times more; a mutant that computes so
#: long for one runs for ever.
SECONDS = 3.0
#: So many times longer it may wait: on a busy machine, for the processor, and not only for what never comes.
_WAITING = 20
#: What a mutant may take of the machine before it fails as it would anywhere.
_MEMORY = 4 << 30
_FILE = 64 << 20

_NUMBER = struct.Struct("=q")
_NOTICED, _SURVIVED, _BROKEN = 0, 1, 2


class Trial(NamedTuple):
    """A mutant and the numbers of the variants that it is put to, in this order."""

    mutant: Mutant
    asked: Sequence[int]


def tried(
    trials: Sequence[Trial], subject: Subject, variants: Sequence[Variant], workers: int
) -> Iterator[tuple[int, int | None]]:
    """The place of each trial with the number of the first variant that noticed, as they end.

    A mutant that ends its process, or does not end, was noticed by the variant that was being asked.

    Raises:
        RuntimeError: The trial itself failed.
    """
    waiting = iter(range(len(trials)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        running: dict[int, tuple[int, mmap.mmap]] = {}
        while True:
            for place in waiting:
                cell = mmap.mmap(-1, _NUMBER.size)
                running[_forked(trials[place], subject, variants, cell, folder)] = place, cell
                if len(running) >= workers:
                    break
            if not running:
                return
            pid, status = os.wait()
            if pid not in running:
                continue
            place, cell = running.pop(pid)
            (number,) = _NUMBER.unpack(cell[:])
            code = os.waitstatus_to_exitcode(status)
            if code == _BROKEN:
                raise RuntimeError(f"the trial of {trials[place].mutant.name} failed")
            yield place, None if code == _SURVIVED else number


def _forked(trial: Trial, subject: Subject, variants: Sequence[Variant], cell: mmap.mmap, folder: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = _BROKEN
    try:
        _confine(folder)
        code = _NOTICED if _is_noticed(trial, subject, variants, cell) else _SURVIVED
    finally:
        os._exit(code)


def _confine(folder: str) -> None:
    """What a mutant writes stays in the folder; nothing of it is seen, and nothing of it lasts."""
    tempfile.tempdir = folder
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _is_noticed(trial: Trial, subject: Subject, variants: Sequence[Variant], cell: mmap.mmap) -> bool:
    with exchanged(trial.mutant.function, trial.mutant.code):
        cell[:] = _NUMBER.pack(trial.asked[0])
        _allow(SECONDS)
        try:
            forget()
        except Exception:
            return True  # what is made at import cannot be made: every variant that needs it fails
        for number in trial.asked:
            cell[:] = _NUMBER.pack(number)
            _allow(SECONDS * variants[number].case.cost)
            if ask(subject, variants[number]).verdict != PASS:
                return True
    return False


def _allow(seconds: float) -> None:
    """End the process when it has computed so long from now, or waited many times longer."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _WAITING)
