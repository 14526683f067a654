"""From a module to the entries of its record."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..param.group import ParamGroup
from ..param.param import Param
from ..param.param_id import ParamId
from ..param.traversal import PathVisitor
from ..tensor.data import TensorData


class RecordEntry(NamedTuple):
    """One parameter of a record: where it stands, who it is, what it holds."""

    path: str
    param_id: ParamId
    data: TensorData


class Collector(PathVisitor):
    """Takes the stored form of every float, int and bool parameter, in traversal order.

    A group is asked before a parameter is read, so that no other is initialised.

    Burn: burn_core::store::Collector
    Clauses: REC-2, REC-3, REC-4, REC-5, REC-6.
    """

    def __init__(self, group: ParamGroup | None) -> None:
        super().__init__()
        self._group = group
        self.entries: list[RecordEntry] = []

    def visit_float(self, param: Param[Any]) -> None:
        """Record `param`, unless the group leaves it out."""
        path = self.path
        if self._group is None or self._group.matches(param.id, path):
            self.entries.append(RecordEntry(path, param.id, param.transform_for_save().base().to_data()))

    visit_int = visit_bool = visit_float
