from __future__ import annotations

import pytest

from refimpl.conformance.outcome import Outcome


def test_an_outcome_is_exactly_one_of_its_forms() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Outcome()
