"""Every matrix of faults, with the least number of points that the quick tier tries in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.faults import crash, memory, race, reading, saving, truth
from tests.faults.points import Points

Matrix = Callable[[Points, Path], None]

#: In the order of the report.
MATRICES: Final[dict[str, tuple[Matrix, int]]] = {
    "save: each errno at each call": (saving.every_errno_at_every_call, 1000),
    "save: full at each byte": (saving.full_at_every_byte, 8900),
    "save: short writes": (saving.short_writes, 60),
    "save: a write that takes nothing": (saving.nothing_is_taken, 4),
    "save: deferred tensors that fail": (saving.failing_providers, 200),
    "save: odd targets and folders": (saving.odd_places, 50),
    "save: power lost": (crash.lost_power, 150),
    "save: killed": (crash.killed, 100),
    "save: interrupted at a call": (crash.interrupted, 50),
    "save: interrupted between instructions": (crash.interrupted_between_instructions, 300),
    "save: two writers and a reader": (race.writers_and_reader, 20),
    "read: each errno at each call": (reading.every_errno_at_every_call, 900),
    "read: short reads": (reading.short_reads, 30),
    "read: a file that changes": (reading.a_file_that_changes, 350),
    "open: odd paths": (reading.odd_paths, 80),
    "open: no descriptor left": (reading.no_descriptors_left, 5),
    "memory: each allocation": (memory.allocation_fails, 0),
    "memory: ceilings": (memory.ceilings, 80),
    "truth: real calls": (truth.real_calls, 0),
    "truth: a shim": (truth.shim, 0),
}
#: What needs `fork`.
FORKING: Final = (
    "save: killed",
    "save: interrupted at a call",
    "memory: each allocation",
    "memory: ceilings",
)
CAN_FORK: Final = hasattr(os, "fork")
