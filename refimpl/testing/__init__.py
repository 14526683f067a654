"""For tests of other projects: Hypothesis strategies, and the cases as pytest items (`--refimpl-subject`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .strategies import groups, modules, placements, records

__all__ = ["groups", "modules", "placements", "records"]


def __getattr__(name: str) -> Any:
    """Strategies are imported when one is used: the pytest plugin beside them needs no Hypothesis."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".strategies", __name__), name)
