"""The quick tier of every matrix of faults: nothing is lost, nothing else escapes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.matrices import CAN_FORK, FORKING, MATRICES
from tests.faults.oracle import NothingLost
from tests.faults.points import Points


@pytest.mark.clause("BPK-24", "BPK-27", "BPK-30", "BPK-31", "BPK-32", "BPK-33", "REC-9", "REC-24", "REC-26")
@pytest.mark.report("BL-17")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # a child makes a few calls and leaves
@pytest.mark.parametrize("name", MATRICES)
def test_nothing_is_lost_and_nothing_else_escapes(name: str, points: Points, folder: Path) -> None:
    if name in FORKING and not CAN_FORK:
        pytest.skip("needs a system with fork")
    matrix, least = MATRICES[name]
    matrix(points, folder)
    if points.notes and not points.total:
        pytest.skip(points.notes[0])

    points.settle(least)


def test_the_quick_tier_tries_at_least_10_000_points() -> None:
    assert sum(least for _, least in MATRICES.values()) >= 10_000


def test_a_find_is_told_and_so_is_a_matrix_that_tried_too_little() -> None:
    points = Points()
    points.add("save: write", 28, 3)
    with pytest.raises(AssertionError, match="3 points, of at least 4"):
        points.settle(4)
    points.find("the old file is gone")
    with pytest.raises(AssertionError, match="the old file is gone"):
        points.settle()
    assert points.tried == {("save: write", "ENOSPC"): 3}


@pytest.fixture
def saved(tmp_path: Path) -> NothingLost:
    (tmp_path / "other").write_bytes(b"of somebody")
    target = tmp_path / "m.bpk"
    target.write_bytes(b"old")
    target.chmod(0o600)
    return NothingLost(target, b"new")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda target: target.write_bytes(b"ne"), "not the old file"),
        (lambda target: target.write_bytes(b"new"), "not the old file"),
        (lambda target: target.unlink(), "not the old file"),
        (lambda target: target.with_name("other").write_bytes(b"x"), "of another was changed"),
        (lambda target: target.with_name("other").unlink(), "files of others are gone"),
        (lambda target: target.with_name("m.bpk.77-0.tmp").write_bytes(b""), "scratch is left"),
        (lambda target: target.with_name("stray").write_bytes(b""), "unknown files are left"),
        (lambda target: target.chmod(0o644), "not the old file"),
    ],
)
def test_the_oracle_sees_whatever_is_wrong_in_the_folder(harm: object, told: str, saved: NothingLost) -> None:
    harm(saved.target)  # type: ignore[operator]
    with pytest.raises(AssertionError, match=told):
        saved.check(KeyError("k"))


def test_the_oracle_sees_a_success_that_is_none_and_an_error_of_another_kind(saved: NothingLost) -> None:
    with pytest.raises(AssertionError, match="the call returned"):
        saved.check(None)
    with pytest.raises(AssertionError, match="KeyError escaped"):
        saved.check(KeyError("k"))


def test_the_oracle_sees_a_descriptor_that_is_left_open(saved: NothingLost) -> None:
    left = os.open(saved.target, os.O_RDONLY)
    with pytest.raises(AssertionError, match="a descriptor is left open"):
        saved.check(KeyboardInterrupt())
    os.close(left)


def test_the_oracle_repeats_the_save_without_the_fault(saved: NothingLost) -> None:
    saved.again = lambda: None
    with pytest.raises(AssertionError, match="repeated without the fault"):
        saved.check(KeyboardInterrupt())
