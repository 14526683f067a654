"""What a module saves and loads: its parameters by path, and how strictly they must fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from types import TracebackType
from typing import Self, TypeVar

from ..burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from ..burnpack.layout import byte_length
from ..burnpack.reader import Entry, Pack
from ..errors import ArgumentTypeError, BurnpackError, PanicError, RecordIoError, RecordValidationError
from ..param.group import ParamGroup
from ..param.param_id import ParamId
from ..param.traversal import ModuleNode
from ..rust_text import debug_bool, debug_strs
from ..tensor.data import TensorData
from .applying import Applier
from .collecting import Collector, RecordEntry
from .policy import DTypePolicy

M = TypeVar("M", bound=ModuleNode)


@dataclass(frozen=True, eq=False, repr=False)
class ModuleRecord:
    """An ordered list of entries, and four options that say how it is applied.

    The options are never saved. A record of a file keeps the file open and reads an entry when it is
    asked for; `close` it, or use it in a `with`.

    Burn: burn_core::store::ModuleRecord
    Clauses: REC-1, REC-7, REC-14.
    """

    _entries: tuple[RecordEntry, ...] = ()
    dtype_policy: DTypePolicy = DTypePolicy.FROM_RECORD
    _allow_partial: bool = False
    _allow_unused: bool = False
    _validate: bool = True
    _pack: Pack | None = field(default=None)

    # --- Where a record comes from -----------------------------------------------------------------------

    @classmethod
    def collect(cls, node: ModuleNode, group: ParamGroup | None = None) -> Self:
        """The record of the parameters of `node`, or of those that `group` selects; initialises them.

        Burn: ModuleRecord::from_module
        Clauses: REC-2, REC-3, REC-4, REC-5, REC-6, REC-8.
        """
        collector = Collector(group)
        node.visit(collector)
        return cls(tuple(collector.entries))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The record in the bytes of a burnpack container, its entries by ascending name.

        Raises:
            RecordIoError: the bytes are no container that Burn reads.
            PanicError: a quantised entry has another length than its dtype and shape say (REC-12).

        Burn: ModuleRecord::from_bytes
        Clauses: REC-10, REC-11, REC-12, REC-26.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"from_bytes takes the bytes of a container, got {type(data).__name__}",
                clause="REC-10",
                hint="ModuleRecord.load(path) reads a file",
            )
        with _as_record_error():
            return cls._of_pack(open_burnpack(bytes(data)))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The record in a file; `.bpk` is added to a bare name that does not exist.

        The metadata is read now, each entry when it is asked for, from the file that was opened.

        Raises:
            RecordIoError: the file cannot be opened, or is no container that Burn reads.
            PanicError: a quantised entry has another length than its dtype and shape say (REC-12).

        Burn: ModuleRecord::load
        Clauses: REC-10, REC-11, REC-12, REC-13, REC-14, REC-26.
        """
        if isinstance(path, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"load takes the path of a file, got {type(path).__name__}",
                clause="REC-13",
                hint="ModuleRecord.from_bytes(data) reads the bytes of a container",
            )
        with _as_record_error():
            return cls._of_pack(open_burnpack(path))

    @classmethod
    def _of_pack(cls, pack: Pack) -> Self:
        try:
            return cls(tuple(_entry(name, pack[name]) for name in pack), _pack=pack)
        except BaseException:
            pack.close()
            raise

    # --- Where it goes -----------------------------------------------------------------------------------

    def into_bytes(self) -> bytes:
        """The burnpack container of the record, entries in record order.

        Raises:
            RecordIoError: two entries have one path.

        Burn: ModuleRecord::into_bytes
        Clauses: REC-9.
        """
        with _as_record_error():
            return burnpack_bytes((e.path, e.data, int(e.param_id)) for e in self._entries)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the container to a file, all or nothing; `.bpk` is added to a bare name.

        Raises:
            RecordIoError: it cannot be written; an older file is as it was.

        Burn: ModuleRecord::save
        Clauses: REC-9, REC-13.
        """
        with _as_record_error():
            write_burnpack(path, ((e.path, e.data, int(e.param_id)) for e in self._entries))

    def apply(self, node: M) -> M:
        """`node` with the entries in place of its parameters.

        What does not fit is an error in this order: shapes, if the record validates; parameters without an
        entry, unless it may be partial; entries without a parameter, unless some may be unused.

        Raises:
            RecordValidationError: as above.
            RecordIoError: an entry can no longer be read.
            PanicError: an entry of a kind that the parameter cannot hold (REC-20, REC-21).

        Burn: ModuleRecord::apply
        Clauses: REC-14, REC-15, REC-16, REC-17, REC-18, REC-22, REC-28.
        """
        applier = Applier(self._entries, self.dtype_policy)
        with _as_record_error():
            applied = node.map(applier)
        if self._validate and applier.errors:
            raise RecordValidationError(
                f"Apply errors: {debug_strs(applier.errors)}",
                clause="REC-16",
                hint="`validate(False)` keeps the module's value where a shape does not fit",
            )
        if not self._allow_partial and applier.missing:
            raise RecordValidationError(
                f"Missing tensors: {debug_strs(applier.missing)}",
                clause="REC-16",
                hint="`allow_partial(True)` keeps the module's value where the record has none",
            )
        if not self._allow_unused and applier.unused:
            raise RecordValidationError(
                f"Unused tensors: {debug_strs(applier.unused)}",
                clause="REC-16",
                hint="`allow_unused(True)` leaves entries that no parameter asks for",
            )
        return applied

    # --- Options -----------------------------------------------------------------------------------------

    def with_dtype_policy(self, policy: DTypePolicy) -> Self:
        """The record with another rule for dtypes (REC-19)."""
        return replace(self, dtype_policy=DTypePolicy(policy))

    def cast_to_module_dtype(self) -> Self:
        """The record with `DTypePolicy.CAST_TO_MODULE` (REC-1)."""
        return self.with_dtype_policy(DTypePolicy.CAST_TO_MODULE)

    def allow_partial(self, allow: bool) -> Self:
        """The record, for modules with parameters that it does not hold (REC-16)."""
        return replace(self, _allow_partial=bool(allow))

    def allow_unused(self, allow: bool) -> Self:
        """The record, for modules without parameters that it holds (REC-16)."""
        return replace(self, _allow_unused=bool(allow))

    def validate(self, validate: bool) -> Self:
        """The record, with or without the check of shapes (REC-16, REC-17)."""
        return replace(self, _validate=bool(validate))

    # --- Looking -----------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[RecordEntry, ...]:
        """Path, parameter id and data of each entry, in record order."""
        return self._entries

    def is_empty(self) -> bool:
        """Whether there is no entry at all."""
        return not self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return (
            f"ModuleRecord {{ num_tensors: {len(self)}, dtype_policy: {self.dtype_policy.value}, "
            f"allow_partial: {debug_bool(self._allow_partial)}, "
            f"allow_unused: {debug_bool(self._allow_unused)}, validate: {debug_bool(self._validate)} }}"
        )

    def close(self) -> None:
        """Close the file of a loaded record; its entries can no longer be read."""
        if self._pack is not None:
            self._pack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _entry(name: str, entry: Entry) -> RecordEntry:
    """An entry of a container as one of a record; without an id it gets a fresh one (REC-11, REC-12)."""
    dtype, shape, nbytes = entry.dtype, tuple(entry.shape), entry.nbytes
    if dtype.is_quantized:
        needed = byte_length(dtype, shape)
        if needed is None:
            raise PanicError(
                f"Quantized layout for shape {list(shape)} and dtype {dtype} is invalid",
                clause="REC-12",
                hint=f"entry {name!r} was written by something else than Burn",
            )
        if needed != nbytes:
            raise PanicError(
                f"Shape {list(shape)} with dtype {dtype} is invalid for input of size {nbytes} bytes",
                clause="REC-12",
                hint=f"entry {name!r} needs {needed} bytes",
            )
    param_id = ParamId.new() if entry.param_id is None else ParamId.from_int(entry.param_id)
    return RecordEntry(name, param_id, TensorData.deferred(dtype, shape, nbytes, lambda: entry.data.bytes))


@contextmanager
def _as_record_error() -> Iterator[None]:
    """An error of the container as Burn's `RecordError::Io` shows it (REC-24)."""
    try:
        yield
    except BurnpackError as error:
        raise RecordIoError(
            error.message,
            clause=error.clause,
            hint=error.hint,
            path=error.path,
            tensor=error.tensor,
            errno=error.errno,
        ) from error
