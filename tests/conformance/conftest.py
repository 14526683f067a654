"""A subject in a process of its own that takes many requests at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.conformance.process import ProcessSubject

FLIGHT = Path(__file__).with_name("flight.py")


@pytest.fixture
def flight(tmp_path: Path) -> Iterator[ProcessSubject]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    subject = ProcessSubject([sys.executable, str(FLIGHT), str(tmp_path)], str(scratch))
    yield subject
    subject.close()
