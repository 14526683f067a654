from __future__ import annotations

import pytest

from refimpl.conformance.versions import key, within


def test_versions_are_ordered_as_cargo_orders_them() -> None:
    ordered = [
        "0.9",
        "0.23.0-alpha",
        "0.23.0-pre.1",
        "0.23.0-pre.2",
        "0.23.0-pre.10",
        "0.23.0",
        "0.23.1",
        "1",
    ]

    assert sorted(ordered, key=key) == ordered


@pytest.mark.parametrize(
    ("version", "bounds", "kept"),
    [
        ("0.23.0-pre.1", "*", True),
        ("anything", " * ", True),
        ("anything", ">=0", False),
        ("0.23.0-pre.1", ">=0.23.0-pre.1, <0.24", True),
        ("0.24.0", ">=0.23.0-pre.1, <0.24", False),
        ("0.23.0", "==0.23", True),
        ("0.23.0", "!=0.23", False),
        ("0.23.0", ">0.22,<=0.23.0", True),
        ("0.23.0+flex", "==0.23.0", True),
    ],
)
def test_a_version_keeps_all_bounds_or_none(version: str, bounds: str, kept: bool) -> None:
    assert within(version, bounds) is kept


@pytest.mark.parametrize(
    "bounds", ["", "0.23", "*, <1", "~0.23", ">=", ">=x", ">=1-", ">=1-a..b", ">=1+.", ">=0.1 <0.2"]
)
def test_bounds_that_cannot_be_read_are_refused(bounds: str) -> None:
    with pytest.raises(ValueError, match=r"no bound|no version"):
        within("0.23.0", bounds)
