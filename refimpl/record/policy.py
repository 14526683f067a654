"""Which dtype a loaded parameter gets."""

from __future__ import annotations

from enum import Enum


class DTypePolicy(Enum):
    """Whether loading keeps the dtype of the record or that of the module.

    Burn: burn_core::store::DTypePolicy
    Clauses: REC-1, REC-19.
    """

    #: The parameter takes the dtype of the record's entry.
    FROM_RECORD = "FromRecord"
    #: The entry is cast to the dtype the parameter has, which initialises a lazy one.
    CAST_TO_MODULE = "CastToModule"
