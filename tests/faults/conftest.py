"""Where faults are tried: a folder in memory, so that thousands of saves do not wait for a disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.points import Points


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that each point empties again."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    made = Path(tempfile.mkdtemp(prefix="refimpl-faults-", dir=memory))
    yield made / "tried"
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def points() -> Points:
    return Points()
