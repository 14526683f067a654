"""A module's parameters as one value, which files hold."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from ..burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from ..burnpack.layout import byte_length
from ..burnpack.paths import PathLike, path_text
from ..burnpack.reader import Entry, Pack
from ..errors import ArgumentTypeError, BurnpackError, PanicError, RecordIoError, RecordValidationError
from ..immutable import Value, value_of
from ..param.group import ParamGroup, checked_group
from ..param.param_id import ParamId
from ..param.traversal import ModuleNode
from ..rust_text import debug_bool, debug_strs
from ..tensor.arguments import check_bool
from ..tensor.data import TensorData
from .applying import RecordMapper, io_error
from .collecting import Collector
from .entry import RecordEntry
from .policy import DTypePolicy

M = TypeVar("M", bound=ModuleNode)

#: How many times its own size a container may unfold to when its entries overlap.
_UNFOLDING: Final = 4


class ModuleRecord(Value):
    """An ordered list of parameters by path, and four options that say how it is loaded.

    Taken from a module with `into_record`, or read with `load` and `from_bytes`. Records never change: an
    option gives another record of the same entries. A record that was loaded keeps its file open, and reads
    an entry when it is needed; it is a context manager.

    Burn: burn_core::store::ModuleRecord
    Clauses: REC-1.
    """

    __slots__ = ("_allow_partial", "_allow_unused", "_dtype_policy", "_entries", "_pack", "_validate")

    _entries: tuple[RecordEntry, ...]
    _pack: Pack | None
    _dtype_policy: DTypePolicy
    _allow_partial: bool
    _allow_unused: bool
    _validate: bool

    def __init__(self) -> None:
        raise ArgumentTypeError(
            "a ModuleRecord is not made by calling the class",
            clause="REC-1",
            hint="use module.into_record(), ModuleRecord.load(path) or ModuleRecord.from_bytes(data)",
        )

    @classmethod
    def _make(cls, entries: Iterable[RecordEntry], pack: Pack | None = None) -> Self:
        facts = {
            "_entries": tuple(entries),
            "_pack": pack,
            "_dtype_policy": DTypePolicy.FROM_RECORD,
            "_allow_partial": False,
            "_allow_unused": False,
            "_validate": True,
        }
        return value_of(cls, facts)

    def _with(self, name: str, value: object) -> Self:
        facts = {slot: getattr(self, slot) for slot in ModuleRecord.__slots__}
        return value_of(type(self), facts | {name: value})

    def __reduce__(self) -> tuple[Any, ...]:
        self._check_claims()  # every entry is read for it; then no file belongs to the record
        facts = {slot: getattr(self, slot) for slot in ModuleRecord.__slots__}
        return value_of, (type(self), facts | {"_pack": None})

    @classmethod
    def collect(cls, module: ModuleNode, group: ParamGroup | None = None) -> Self:
        """The record of the parameters of `module`, or of those that `group` matches.

        Burn: ModuleRecord::from_module
        Clauses: REC-2, REC-6.
        """
        collector = Collector(None if group is None else checked_group(group))
        module.visit(collector)
        return cls._make(collector.entries)

    # --- What it holds --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        """A record is one even when it is empty: `is_empty` asks for that."""
        return True

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not self._entries

    @property
    def dtype_policy(self) -> DTypePolicy:
        """Which dtypes the module gets when this is loaded."""
        return self._dtype_policy

    @property
    def entries(self) -> tuple[RecordEntry, ...]:
        """Path, parameter id and data of each: in traversal order, or by name if the record was read."""
        return self._entries

    def __repr__(self) -> str:
        return (
            f"ModuleRecord {{ num_tensors: {len(self)}, dtype_policy: {self._dtype_policy.value}, "
            f"allow_partial: {debug_bool(self._allow_partial)}, "
            f"allow_unused: {debug_bool(self._allow_unused)}, validate: {debug_bool(self._validate)} }}"
        )

    # --- How it is loaded -----------------------------------------------------------------------------

    def with_dtype_policy(self, policy: DTypePolicy) -> Self:
        """The record loaded with the dtypes that `policy` names."""
        if not isinstance(policy, DTypePolicy):
            raise ArgumentTypeError(f"a dtype policy is a DTypePolicy, got {policy!r}", clause="REC-1")
        return self._with("_dtype_policy", policy)

    def cast_to_module_dtype(self) -> Self:
        """The record cast to the dtypes of the module when it is loaded."""
        return self.with_dtype_policy(DTypePolicy.CAST_TO_MODULE)

    def allow_partial(self, allow: bool) -> Self:
        """The record, which need not have an entry for every parameter of the module."""
        return self._with("_allow_partial", _checked(allow))

    def allow_unused(self, allow: bool) -> Self:
        """The record, which may have entries that no parameter of the module takes."""
        return self._with("_allow_unused", _checked(allow))

    def validate(self, validate: bool) -> Self:
        """The record, whose entries of another shape are refused, or silently left out without this."""
        return self._with("_validate", _checked(validate))

    def apply(self, module: M) -> M:
        """`module` with the entries of this record, each read once into memory of its own.

        Where several things are wrong, the first of these is told: an entry of another shape, a parameter
        without an entry, an entry without a parameter.

        Raises:
            RecordValidationError: the record does not fit the module.
            RecordIoError: an entry cannot be read from the file.
            PanicError: an entry of a kind that the parameter cannot hold.

        Burn: ModuleRecord::apply
        Clauses: REC-14, REC-15, REC-16.
        """
        self._check_claims()
        mapper = RecordMapper(self._entries, self._dtype_policy)
        loaded = module.map(mapper)
        if self._validate and mapper.errors:
            raise RecordValidationError(
                f"Apply errors: {debug_strs(mapper.errors)}",
                clause="REC-17",
                hint="take a record of the same shapes; validate(False) keeps the old values there",
            )
        if not self._allow_partial and mapper.missing:
            raise RecordValidationError(
                f"Missing tensors: {debug_strs(mapper.missing)}",
                clause="REC-16",
                hint="allow_partial(True) keeps what the module has there",
            )
        if not self._allow_unused and (unused := mapper.unused()):
            raise RecordValidationError(
                f"Unused tensors: {debug_strs(unused)}",
                clause="REC-16",
                hint="allow_unused(True) loads the rest",
            )
        return loaded

    def _check_claims(self) -> None:
        """Refuse entries that lie over each other so often that a small file would fill the memory."""
        if self._pack is None:
            return
        claimed = sum(entry.data.nbytes for entry in self._entries)
        if claimed > _UNFOLDING * self._pack.size:
            raise RecordIoError(
                f"the entries claim {claimed} bytes together, the container has {self._pack.size}",
                clause="REC-14",
                path=self._pack.path,
                hint="its entries overlap; read the ones you need with open_burnpack",
            )

    # --- Files and bytes ------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """The record of a burnpack file, whose metadata is read now; entries by name.

        Raises:
            RecordIoError: it cannot be read, or is no burnpack container.
            PanicError: a quantised entry has another length than its scheme and shape need.

        Burn: ModuleRecord::load
        Clauses: REC-10, REC-11, REC-12, REC-13, REC-14, REC-26.
        """
        name = path_text(path)
        try:
            return cls._from_pack(open_burnpack(name))
        except BurnpackError as error:
            raise io_error(error) from error

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The record of a burnpack container in memory; entries by name.

        Raises:
            RecordIoError: it is no burnpack container.
            PanicError: a quantised entry has another length than its scheme and shape need.

        Burn: ModuleRecord::from_bytes
        Clauses: REC-10, REC-11, REC-12.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"a record is made from bytes, got {type(data).__name__}",
                clause="REC-10",
                hint="ModuleRecord.load reads a file",
            )
        try:
            # A copy of what can change: the arrays of a loaded module lie in these bytes.
            return cls._from_pack(open_burnpack(bytes(data)))
        except BurnpackError as error:
            raise io_error(error) from error

    @classmethod
    def _from_pack(cls, pack: Pack) -> Self:
        try:
            pack.check_limits()
            return cls._make([_entry(entry) for entry in pack.values()], pack)
        except BaseException:
            pack.close()
            raise

    def into_bytes(self) -> bytes:
        """The record as a burnpack container, entries in the order of the record.

        Raises:
            RecordIoError: two entries have one path.

        Burn: ModuleRecord::into_bytes
        Clauses: REC-9.
        """
        try:
            return burnpack_bytes(_items(self._entries))
        except BurnpackError as error:
            raise io_error(error) from error

    def save(self, path: PathLike) -> None:
        """Write the record to a file, which is at every moment wholly the old one or wholly the new one.

        Raises:
            RecordIoError: it was not written and the old file is as it was, unless the message says that
                the new one was saved.

        Burn: ModuleRecord::save
        Clauses: REC-9, REC-13.
        """
        try:
            write_burnpack(path, _items(self._entries))
        except BurnpackError as error:
            raise io_error(error) from error

    def close(self) -> None:
        """Close the file of a loaded record; entries not read yet can then not be read."""
        if self._pack is not None:
            self._pack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _checked(option: bool) -> bool:
    check_bool(option, "an option of a record", "REC-1")
    return option


def _items(entries: Iterable[RecordEntry]) -> Iterable[tuple[str, TensorData, int]]:
    return [(entry.path, entry.data, entry.param_id) for entry in entries]


def _entry(found: Entry) -> RecordEntry:
    """An entry of a container, its data still there; one without an id gets a fresh one (REC-11, REC-12)."""
    if found.dtype.is_quantized:
        needed = byte_length(found.dtype, found.shape)
        if needed is None:
            raise PanicError(
                f"Quantized layout for shape {list(found.shape)} and dtype {found.dtype} is invalid",
                clause="REC-12",
            )
        if needed != found.nbytes:
            raise PanicError(
                f"Shape {list(found.shape)} with dtype {found.dtype} is invalid for input of size "
                f"{found.nbytes} bytes",
                clause="REC-12",
                hint=f"its layout needs {needed} bytes",
            )
    param_id = ParamId.new() if found.param_id is None else ParamId.from_int(found.param_id)
    data = TensorData.deferred(found.dtype, found.shape, found.nbytes, partial(_read, found))
    return RecordEntry(found.name, param_id, data)


def _read(found: Entry) -> memoryview:
    return found.data.bytes
