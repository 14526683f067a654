"""Loading a record into a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..errors import BurnpackError, RecordIoError
from ..param.param import Param
from ..param.traversal import PathMapper
from ..rust_text import debug_shape
from ..tensor.data import TensorData
from ..tensor.dtype import DType
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .entry import RecordEntry
from .policy import DTypePolicy

V = TypeVar("V", Tensor, IntTensor, BoolTensor)


class RecordMapper(PathMapper):
    """Gives each parameter the entry of its path, once, and remembers what did not fit.

    `missing` holds the paths without an entry and `errors` the entries of another shape, both in traversal
    order; such a parameter is left as it is.

    Burn: burn_core::store::ModuleRecordMapper
    Clauses: REC-15, REC-17, REC-18, REC-19, REC-20, REC-22.
    """

    __slots__ = ("_entries", "_policy", "errors", "missing")

    def __init__(self, entries: Iterable[RecordEntry], policy: DTypePolicy) -> None:
        super().__init__()
        self._entries = {entry.path: entry for entry in entries}
        self._policy = policy
        self.missing: list[str] = []
        self.errors: list[str] = []

    def unused(self) -> list[str]:
        """The paths of the entries that no parameter took, in byte order."""
        return sorted(self._entries)

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """Load a float parameter."""
        return self._load(param, Tensor)

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        """Load an int parameter."""
        return self._load(param, IntTensor)

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        """Load a bool parameter."""
        return self._load(param, BoolTensor)

    def _load(self, param: Param[V], kind: type[V]) -> Param[V]:
        device, shape = param.lazy_device(), param.lazy_shape()
        entry = self._take(shape, lambda: param.val().dtype)
        if entry is None:
            return param
        found, dtype = entry
        return param.transform_for_load(
            kind.from_record_data(_resident(found), device, dtype), found.param_id
        )

    def _take(
        self, shape: tuple[int, ...], module_dtype: Callable[[], DType]
    ) -> tuple[RecordEntry, DType] | None:
        """The entry of the current path and the dtype to load it with, unless there is none that fits."""
        path = self.path
        entry = self._entries.pop(path, None)
        if entry is None:
            self.missing.append(path)
            return None
        casts = self._policy is DTypePolicy.CAST_TO_MODULE
        dtype = module_dtype() if casts else entry.data.dtype
        if entry.data.shape != shape:
            self.errors.append(
                f"{path}: shape mismatch, expected {debug_shape(shape)} "
                f"but record has {debug_shape(entry.data.shape)}"
            )
            return None
        return entry, dtype


def _resident(entry: RecordEntry) -> TensorData:
    """The data of `entry`, read now if it is still in a file."""
    data = entry.data
    if not data.is_deferred:
        return data
    try:
        return TensorData.checked(data.dtype, data.shape, data.bytes)
    except BurnpackError as error:
        raise io_error(error) from error


def io_error(error: BurnpackError) -> RecordIoError:
    """What a container cannot do, as a record says it.

    Clauses: REC-24.
    """
    return RecordIoError(
        error.message,
        clause=error.clause,
        hint=error.hint,
        path=error.path,
        tensor=error.tensor,
        errno=error.errno,
    )
