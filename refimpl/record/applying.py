"""From the entries of a record to a module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..param.param import Param
from ..param.traversal import PathMapper
from ..rust_text import debug_shape
from .collecting import RecordEntry
from .policy import DTypePolicy


class Applier(PathMapper):
    """Puts each entry into the parameter at its path, and notes what did not find its other half.

    Of two entries at one path the last one counts. An entry whose shape does not fit is used up: it is
    neither missing nor left over.

    Burn: burn_core::store::ModuleRecordMapper
    Clauses: REC-15, REC-17, REC-18, REC-19, REC-20, REC-22.
    """

    def __init__(self, entries: Iterable[RecordEntry], policy: DTypePolicy) -> None:
        super().__init__()
        self._entries = {entry.path: entry for entry in entries}
        self._policy = policy
        self.missing: list[str] = []
        self.errors: list[str] = []

    @property
    def unused(self) -> list[str]:
        """The paths that no parameter asked for, by their bytes."""
        return sorted(self._entries, key=lambda path: path.encode("utf-8", "surrogatepass"))

    def map_float(self, param: Param[Any]) -> Param[Any]:
        """`param` with its entry, where there is one that fits."""
        path = self.path
        entry = self._entries.pop(path, None)
        if entry is None:
            self.missing.append(path)
            return param
        shape = param.lazy_shape()
        # Burn asks for the module's dtype before it looks at the shape, which initialises the parameter.
        dtype = entry.data.dtype if self._policy is DTypePolicy.FROM_RECORD else param.val().dtype
        if entry.data.shape != shape:
            expected, held = debug_shape(shape), debug_shape(entry.data.shape)
            self.errors.append(f"{path}: shape mismatch, expected {expected} but record has {held}")
            return param
        tensor = param.kind.from_record_data(entry.data, param.lazy_device(), dtype)
        return param.transform_for_load(tensor, entry.param_id)

    map_int = map_bool = map_float
