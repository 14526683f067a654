"""Taking a record of a module."""

from __future__ import annotations

from collections.abc import Callable

from ..param.group import ParamGroup
from ..param.param import Param
from ..param.param_id import ParamId
from ..param.traversal import PathVisitor
from ..tensor.data import TensorData
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .entry import RecordEntry


class Collector(PathVisitor):
    """Takes the save form of every float, int and bool parameter that the group matches, in order.

    A parameter outside the group is not read, so a lazy one stays lazy.

    Burn: burn_core::store::Collector
    Clauses: REC-2, REC-3, REC-4, REC-5, REC-6, REC-8.
    """

    __slots__ = ("_group", "entries")

    def __init__(self, group: ParamGroup | None) -> None:
        super().__init__()
        self._group = group
        self.entries: list[RecordEntry] = []

    def visit_float(self, param: Param[Tensor]) -> None:
        """Take a float parameter, a running state's committed value among them."""
        self._take(param.id, lambda: param.transform_for_save().val().to_data())

    def visit_int(self, param: Param[IntTensor]) -> None:
        """Take an int parameter."""
        self._take(param.id, lambda: param.transform_for_save().val().to_data())

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        """Take a bool parameter."""
        self._take(param.id, lambda: param.transform_for_save().val().to_data())

    def _take(self, id: ParamId, data: Callable[[], TensorData]) -> None:
        path = self.path
        if self._group is None or self._group.matches(id, path):
            self.entries.append(RecordEntry(path, id, data()))
