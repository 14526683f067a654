"""In which dtype a parameter takes what a record holds."""

from __future__ import annotations

from enum import Enum


class DTypePolicy(Enum):
    """As the record stores it, or cast to the dtype that the parameter has.

    Burn: burn_core::store::DTypePolicy
    Clauses: REC-1, REC-19.
    """

    FROM_RECORD = "FromRecord"
    CAST_TO_MODULE = "CastToModule"
