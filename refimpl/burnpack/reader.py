"""Reading a container: the metadata now, each tensor when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Final, NoReturn, Self

from ..errors import ArgumentTypeError, BurnpackError, TensorNotFoundError
from ..immutable import Value
from ..tensor.data import TensorData
from ..tensor.dtype import DType
from .header import HEADER_SIZE, data_section_start, decode_header
from .layout import byte_length
from .limits import ReaderLimits
from .metadata import Descriptor, Metadata, decode_metadata
from .refusal import invalid_header, io, shown, validation
from .scalar import Scalar
from .source import FileSource, MemorySource, Source

_U64: Final = (1 << 64) - 1


class Entry(Value):
    """One tensor of a container: what the metadata says of it, and its data on request.

    Burn: burn_pack::Tensor
    Clauses: BPK-6, BPK-24.
    """

    __slots__ = ("_pack", "dtype", "end", "name", "param_id", "shape", "start")

    _pack: Pack
    name: str
    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int
    param_id: int | None

    def __new__(cls, pack: Pack, name: str, found: Descriptor) -> Self:
        """The tensor `name` of `pack`; use `pack[name]`."""
        made: Self = object.__new__(cls._open)
        made._pack, made.name = pack, name
        made.dtype, made.shape, made.start, made.end, made.param_id = found
        made.__class__ = cls
        return made

    @property
    def nbytes(self) -> int:
        """The length of the data, known without reading it."""
        return self.end - self.start

    @property
    def data(self) -> TensorData:
        """The data, read now: from a file into fresh memory, from memory without a copy.

        Raises:
            BurnpackError: the file or the tensor is past the limits, the file was changed, or the system
                refuses.

        Clauses: BPK-22, BPK-24.
        """
        return TensorData.checked(self.dtype, self.shape, memoryview(self._pack._read(self)))

    def pieces(self, size: int = 1 << 24) -> Iterator[bytes | memoryview]:
        """The data in pieces of up to `size` bytes, for whoever need not hold all of it.

        Raises:
            BurnpackError: as `data`.
        """
        pack = self._pack
        pack._check(self)
        for start in range(self.start, self.end, size):
            length = min(size, self.end - start)
            yield pack._source.read(pack.data_start + start, length, self.name)

    def __reduce__(self) -> NoReturn:
        raise _not_pickled("an entry of an open container")

    def __repr__(self) -> str:
        return f"Entry({self.name!r}, {self.dtype}, {list(self.shape)}, param_id={self.param_id})"


class Pack(Value, Mapping[str, Entry]):
    """An open container: its entries by name, in byte order of the names.

    It accepts what Burn's reader accepts: overlapping, misaligned and repeated tensors, gaps, trailing
    bytes, version 0.

    Burn: burn_pack::Reader
    Clauses: BPK-18 to BPK-25.
    """

    __slots__ = ("_limits", "_source", "_start", "_tensors", "metadata", "scalars")

    _source: Source
    _limits: ReaderLimits
    _start: int
    _tensors: dict[str, Descriptor]
    metadata: Mapping[str, str]
    scalars: Mapping[str, Scalar]

    def __new__(cls, source: Source, limits: ReaderLimits | None = None) -> Self:
        """Read the header and the metadata; use `open_burnpack`.

        Raises:
            BurnpackError: it is no burnpack container, or a broken one.
        """
        metadata_size, found = _read_metadata(source)
        made: Self = object.__new__(cls._open)
        made._source = source
        made._limits = ReaderLimits() if limits is None else limits
        made._start = data_section_start(metadata_size)
        _check_ranges(found, made._start, source)
        names = sorted(found.tensors)
        made._tensors = {name: found.tensors[name] for name in names}
        made.metadata = MappingProxyType(dict(sorted(found.metadata.items())))
        made.scalars = MappingProxyType(dict(sorted(found.scalars.items())))
        made.__class__ = cls
        return made

    @property
    def path(self) -> str | None:
        """The file, or None for a container in memory."""
        return self._source.path

    @property
    def size(self) -> int:
        """The bytes of the whole container."""
        return self._source.size

    @property
    def data_start(self) -> int:
        """Where the data section begins."""
        return self._start

    def __getitem__(self, name: str) -> Entry:
        found = self._tensors.get(name)
        if found is None:
            raise TensorNotFoundError(
                f"Tensor not found: {shown(str(name))}",
                kind="TensorNotFound",
                clause="BPK-23",
                path=self.path,
                tensor=str(name),
            )
        return Entry(self, name, found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def check_limits(self) -> None:
        """Refuse a file or a tensor past the limits, as reading it would.

        Clauses: BPK-22.
        """
        self._check_file()
        for entry in self.values():
            self._check_tensor(entry)

    def close(self) -> None:
        """Close the file; what was read stays."""
        self._source.close()

    def _read(self, entry: Entry) -> bytes | memoryview:
        self._check(entry)
        return self._source.read(self._start + entry.start, entry.nbytes, entry.name)

    def _check(self, entry: Entry) -> None:
        self._check_file()
        self._check_tensor(entry)

    def _check_file(self) -> None:
        size, most = self._source.size, self._limits.max_file_size
        if size > most and self.path is not None:
            raise validation(
                f"File size {size} bytes exceeds maximum allowed size of {most} bytes "
                "(raise it with `Reader::with_limits`)",
                clause="BPK-22",
                path=self.path,
                hint="open_burnpack(path, limits=ReaderLimits(max_file_size=...))",
            )

    def _check_tensor(self, entry: Entry) -> None:
        most = self._limits.max_tensor_size
        if entry.nbytes > most:
            raise validation(
                f"Tensor '{shown(entry.name)}' size {entry.nbytes} exceeds maximum allowed size of {most} "
                "bytes (potential DoS attack; raise it with `Reader::with_limits`)",
                clause="BPK-22",
                tensor=entry.name,
                path=self.path,
                hint="open_burnpack(path, limits=ReaderLimits(max_tensor_size=...))",
            )

    def __reduce__(self) -> NoReturn:
        raise _not_pickled("an open container")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "memory" if self.path is None else repr(self.path)
        return f"<burnpack of {len(self)} tensors in {where}>"


def _not_pickled(what: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{what} cannot be pickled", clause="BPK-24", hint="pickle `entry.data`, or the file's name"
    )


def _read_metadata(source: Source) -> tuple[int, Metadata]:
    """The header, then the metadata: no more is read, and no more allocated than the file has."""
    if isinstance(source, FileSource):
        head = source.head(HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            raise cut_short(source)
    else:
        head = bytes(source.read(0, HEADER_SIZE))
    size = decode_header(head)
    if source.size < HEADER_SIZE + size:
        if isinstance(source, MemorySource):
            raise invalid_header()
        raise cut_short(source)
    return size, decode_metadata(bytes(source.read(HEADER_SIZE, size)))


def cut_short(source: Source) -> BurnpackError:
    """A file that ends before its metadata does (BPK-18)."""
    return io(
        "failed to fill whole buffer",
        clause="BPK-18",
        path=source.path,
        hint="the file ends before its metadata does: it is cut, or no burnpack file",
    )


def _check_ranges(found: Metadata, start: int, source: Source) -> None:
    """Every range against its dtype and shape, then the last end against the file.

    When the decoder saw nothing unusual, one comparison says that all of it holds.

    Clauses: BPK-12, BPK-20.
    """
    if found.plain and start + found.end <= source.size:
        return
    for fault in range_faults(found, start, source):
        raise fault


def range_faults(found: Metadata, start: int, source: Source) -> Iterator[BurnpackError]:
    """Every reason to refuse a range, in the order of the checks: the first is the one that is told.

    Clauses: BPK-12, BPK-20.
    """
    last: int | None = None
    for name in sorted(found.tensors):
        tensor = found.tensors[name]
        first, end = start + tensor.start, start + tensor.end
        if first > _U64 or end > _U64:
            yield _corrupted(name, "overflow", source)
            continue
        if end < first:
            yield _corrupted(name, f"end {end} < start {first}", source)
            continue
        fault = length_fault(name, tensor.dtype, tensor.shape, end - first, path=source.path)
        if fault is not None:
            yield fault
        last = end if last is None else max(last, end)
    if last is not None and source.size < last:
        yield validation(
            f"File truncated: expected at least {last} bytes, got {source.size} bytes",
            clause="BPK-20",
            path=source.path,
            hint="the download or copy stopped early: get the file again",
        )


def _corrupted(name: str, what: str, source: Source) -> BurnpackError:
    return validation(
        f"Tensor '{shown(name)}' has corrupted offset data: {what}",
        clause="BPK-20",
        tensor=name,
        path=source.path,
    )


def check_length(
    name: str, dtype: DType, shape: tuple[int, ...], length: int, *, path: str | None = None
) -> None:
    """A dense tensor has as many bytes as its shape and dtype need; a quantised one is not asked.

    Burn: burn_pack::base::validate_tensor_byte_len
    Clauses: BPK-12.
    """
    fault = length_fault(name, dtype, shape, length, path=path)
    if fault is not None:
        raise fault


def length_fault(
    name: str, dtype: DType, shape: tuple[int, ...], length: int, *, path: str | None = None
) -> BurnpackError | None:
    """Why `check_length` refuses, or None (BPK-12)."""
    if dtype.is_quantized:
        return None
    needed = byte_length(dtype, shape)
    if needed == length:
        return None
    if needed is None:
        what = (
            f"tensor '{shown(name)}' byte length calculation overflows u64 for shape {list(shape)} "
            f"and dtype {dtype}"
        )
    else:
        what = (
            f"tensor '{shown(name)}' declares {length} bytes but its shape {list(shape)} and dtype {dtype} "
            f"need {needed}"
        )
    return validation(what, clause="BPK-12", tensor=name, path=path)
