"""Everything that is wrong with a container, not only the first thing, and what Burn does with each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, NamedTuple

from ..errors import BurnpackError
from ..tensor.dtype import DType
from .header import (
    FORMAT_VERSION,
    HEADER_SIZE,
    TENSOR_ALIGNMENT,
    align,
    data_section_start,
    decode_header,
)
from .layout import byte_length
from .limits import MAX_FILE_SIZE, MAX_TENSOR_COUNT, MAX_TENSOR_SIZE
from .metadata import Decoder, Descriptor, Metadata, decode_scalar, encode_metadata
from .paths import PathLike, existing, path_text
from .reader import cut_short, range_faults
from .refusal import invalid_header, shown
from .source import FileSource, MemorySource, Source

#: Findings told of each by itself; the rest is counted.
MOST: Final = 10_000
#: Longer metadata, or of more axes, is not written again to see whether Burn would have written it so.
_REWRITTEN: Final = 16 << 20
_REWRITTEN_AXES: Final = 400_000
#: Data is looked at in pieces of so many bytes.
_PIECE: Final = 1 << 20


class Answer(Enum):
    """What Burn does with a file because of one thing that is wrong with it."""

    REFUSES = "refuses"
    PANICS = "panics"
    LOADS_OTHER = "loads something else"
    ACCEPTS = "accepts"


class Finding(NamedTuple):
    """One thing that is wrong.

    `at` is the byte of the file where it stands. `stage` says who meets it: whoever opens the container,
    whoever makes a record of it, or nobody. `text` is the error there: Burn's own where Burn has one.
    """

    at: int
    stage: Literal["open", "record", "none"]
    burn: Answer
    text: str
    tensor: str | None
    clause: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings of a container: those of opening in the order of the reader's checks, then the others.

    `tensors` is how many there are, None where the metadata cannot be read; `left_out` how many findings
    there are beyond those that are told.
    """

    size: int
    tensors: int | None
    findings: tuple[Finding, ...]
    left_out: int

    @property
    def is_broken(self) -> bool:
        """Whether somebody refuses it: this reader, Burn's, or a record."""
        return any(finding.stage != "none" for finding in self.findings)

    @property
    def word(self) -> str:
        """`sound`, `odd` (accepted, and not as Burn writes it) or `broken`."""
        if not self.findings:
            return "sound"
        return "broken" if self.is_broken else "odd"


def verify(path: PathLike | bytes | bytearray | memoryview) -> Verdict:
    """Look for everything that is wrong with a file, or with the bytes of a container.

    The first finding of stage `open` is the error of `open_burnpack`, and there is none exactly where that
    opens; the first of the stages `open` and `record` is the error of `ModuleRecord`.

    Raises:
        BurnpackError: the file cannot be opened or read, or is changed meanwhile: nothing is known then.

    >>> verify(b"NRUB").findings[0].text
    'Invalid header: insufficient bytes'

    Clauses: BPK-18, BPK-19, BPK-20, BPK-21, BPK-22, REC-12.
    """
    source: Source
    if isinstance(path, (bytes, bytearray, memoryview)):
        source = MemorySource(path)
    else:
        source = FileSource(existing(path_text(path)))
    try:
        return _Examination(source).verdict()
    finally:
        source.close()


class _LocatingDecoder(Decoder):
    """Remembers where each tensor stands, and which names come twice."""

    __slots__ = ("places", "repeated")

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.places: dict[str, int] = {}
        self.repeated: list[tuple[int, str, str]] = []

    def tensors(self) -> None:
        tensors = self.found.tensors
        for _ in self.stream.fields():
            at = self.stream.pos
            name = self.kept()
            found = self.descriptor()
            if len(tensors) > MAX_TENSOR_COUNT and name not in tensors:
                self.surplus += 1
                continue
            if name in tensors:
                self.repeated.append((at, name, "tensor"))
            tensors[name] = found
            self.places[name] = at

    def texts(self) -> None:
        for _ in self.stream.fields():
            at = self.stream.pos
            name = self.kept()
            if name in self.found.metadata:
                self.repeated.append((at, name, "text"))
            self.found.metadata[name] = self.kept()
            self.count_entry()

    def scalars(self) -> None:
        for _ in self.stream.fields():
            at = self.stream.pos
            name = self.kept()
            if name in self.found.scalars:
                self.repeated.append((at, name, "scalar"))
            self.found.scalars[name] = decode_scalar(self.stream)
            self.count_entry()


class _Examination:
    """One look through a container, from its first byte to its last."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Finding] = []
        self.left_out = 0
        self.tensors: int | None = None

    def verdict(self) -> Verdict:
        size = self._header()
        if size is not None:
            data = bytes(self.source.read(HEADER_SIZE, size))
            decoder = _LocatingDecoder(data)
            found = self._metadata(decoder)
            if found is not None:
                self.tensors = len(found.tensors)
                start = data_section_start(size)
                self._ranges(found, start, decoder)
                self._limits(found, decoder)
                self._quantised(found, decoder)
                self._spelling(found, decoder, data)
                self._names(found, decoder)
                self._placing(found, start, HEADER_SIZE + size)
                self._bools(found, start)
        return Verdict(self.source.size, self.tensors, tuple(self.findings), self.left_out)

    def _add(
        self,
        at: int,
        burn: Answer,
        text: str,
        clause: str,
        *,
        tensor: str | None = None,
        stage: Literal["open", "record", "none"] = "none",
    ) -> None:
        if len(self.findings) < MOST:
            self.findings.append(Finding(at, stage, burn, text, tensor, clause))
        else:
            self.left_out += 1

    def _refused(self, at: int, error: BurnpackError) -> None:
        """What this reader refuses, which Burn refuses too unless the text is ours."""
        burn = Answer.REFUSES
        if error.kind == "ValidationError" and error.clause == "BPK-7":
            burn = Answer.PANICS  # at the first use of the block
        elif error.hint is not None and error.hint.endswith("Burn has none"):
            burn = Answer.ACCEPTS
        self._add(at, burn, error.message, error.clause or "", tensor=error.tensor, stage="open")

    def _header(self) -> int | None:
        """The size of the metadata, unless there is none to be read."""
        source = self.source
        in_memory = isinstance(source, MemorySource)
        if source.size < HEADER_SIZE:
            self._refused(source.size, invalid_header() if in_memory else cut_short(source))
            return None
        head = bytes(source.read(0, HEADER_SIZE))
        version = int.from_bytes(head[4:6], "little")
        try:
            size = decode_header(head)
        except BurnpackError as error:
            self._refused({"InvalidMagicNumber": 0, "InvalidVersion": 4}.get(error.kind, 6), error)
            if error.kind != "InvalidVersion":
                return None
            try:  # what else is wrong, should the rest be of a version that is known
                size = decode_header(head[:4] + FORMAT_VERSION.to_bytes(2, "little") + head[6:])
            except BurnpackError as another:
                self._refused(6, another)
                return None
        if version < FORMAT_VERSION:
            self._add(4, Answer.ACCEPTS, f"version {version}, which nothing writes", "BPK-18")
        if source.size < HEADER_SIZE + size:
            self._refused(source.size, invalid_header() if in_memory else cut_short(source))
            return None
        return size

    def _metadata(self, decoder: _LocatingDecoder) -> Metadata | None:
        try:
            return decoder.decode()
        except BurnpackError as error:
            self._refused(HEADER_SIZE + decoder.stream.pos, error)
            return None

    def _ranges(self, found: Metadata, start: int, decoder: _LocatingDecoder) -> None:
        for error in range_faults(found, start, self.source):
            at = self.source.size if error.tensor is None else HEADER_SIZE + decoder.places[error.tensor]
            self._refused(at, error)

    def _limits(self, found: Metadata, decoder: _LocatingDecoder) -> None:
        """What is refused when data is read, and when a record is made."""
        size = self.source.size
        if size > MAX_FILE_SIZE and self.source.path is not None:
            self._add(
                0,
                Answer.REFUSES,
                f"Validation error: File size {size} bytes exceeds maximum allowed size of {MAX_FILE_SIZE} "
                "bytes (raise it with `Reader::with_limits`)",
                "BPK-22",
                stage="record",
            )
        for name in sorted(found.tensors):
            length = found.tensors[name].end - found.tensors[name].start
            if length > MAX_TENSOR_SIZE:
                self._add(
                    HEADER_SIZE + decoder.places[name],
                    Answer.REFUSES,
                    f"Validation error: Tensor '{shown(name)}' size {length} exceeds maximum allowed size of "
                    f"{MAX_TENSOR_SIZE} bytes (potential DoS attack; raise it with `Reader::with_limits`)",
                    "BPK-22",
                    tensor=name,
                    stage="record",
                )

    def _quantised(self, found: Metadata, decoder: _LocatingDecoder) -> None:
        """A quantised tensor of another length opens, and panics when a record is made of it."""
        for name in sorted(found.tensors):
            tensor = found.tensors[name]
            length = tensor.end - tensor.start
            needed = byte_length(tensor.dtype, tensor.shape)
            if not tensor.dtype.is_quantized or needed == length:
                continue
            what = (
                f"Quantized layout for shape {list(tensor.shape)} and dtype {tensor.dtype} is invalid"
                if needed is None
                else f"Shape {list(tensor.shape)} with dtype {tensor.dtype} is invalid for input of size "
                f"{length} bytes"
            )
            at = HEADER_SIZE + decoder.places[name]
            self._add(at, Answer.PANICS, what, "REC-12", tensor=name, stage="record")

    def _spelling(self, found: Metadata, decoder: _LocatingDecoder, data: bytes) -> None:
        """What the decoder accepts, and no writer writes."""
        for at, name, kind in decoder.repeated:
            self._add(
                HEADER_SIZE + at,
                Answer.LOADS_OTHER,
                f"a second {kind} of the name '{shown(name)}': the last one wins",
                "BPK-19",
                tensor=name if kind == "tensor" else None,
            )
        used = decoder.stream.pos
        if used < len(data):
            self._add(
                HEADER_SIZE + used,
                Answer.ACCEPTS,
                f"{len(data) - used} bytes after the metadata item, which nobody reads",
                "BPK-19",
            )
        if used <= _REWRITTEN and decoder.dimensions <= _REWRITTEN_AXES:
            written = encode_metadata(found)
            if written != data[:used]:
                self._add(
                    HEADER_SIZE + _first_difference(written, data),
                    Answer.ACCEPTS,
                    "metadata in another form than Burn writes it: an unknown key, another order, or a "
                    "number or length spelled another way",
                    "BPK-4",
                )

    def _names(self, found: Metadata, decoder: _LocatingDecoder) -> None:
        for name in found.tensors:
            if not name.isprintable():
                self._add(
                    HEADER_SIZE + decoder.places[name],
                    Answer.ACCEPTS,
                    f"'{shown(name)}' holds characters that a terminal may obey",
                    "BPK-26",
                    tensor=name,
                )

    def _placing(self, found: Metadata, start: int, metadata_end: int) -> None:
        """Alignment, overlaps, and bytes that belong to nothing, of the ranges that lie in the file."""
        size = self.source.size
        self._padding(metadata_end, min(start, size), "the metadata")
        end, before = 0, ""
        for name, tensor in sorted(_within(found, size - start), key=lambda item: (item[1][2:4], item[0])):
            at, length = start + tensor.start, tensor.end - tensor.start
            if tensor.start % TENSOR_ALIGNMENT:
                text = f"tensor '{shown(name)}' does not begin at a multiple of {TENSOR_ALIGNMENT}"
                self._add(at, Answer.ACCEPTS, text, "BPK-21", tensor=name)
            if tensor.start < end and length:
                text = f"tensor '{shown(name)}' shares bytes with '{shown(before)}'"
                self._add(at, Answer.ACCEPTS, text, "BPK-21", tensor=name)
            elif tensor.start > align(end):
                text = f"{tensor.start - end} bytes before tensor '{shown(name)}' that belong to none"
                self._add(start + end, Answer.ACCEPTS, text, "BPK-21", tensor=name)
            elif tensor.start > end:
                self._padding(start + end, at, f"tensor '{shown(before)}'")
            if tensor.end > end:
                end, before = tensor.end, name
        if size > start + end:
            self._add(
                start + end, Answer.ACCEPTS, f"{size - start - end} bytes after the last tensor", "BPK-21"
            )

    def _bools(self, found: Metadata, start: int) -> None:
        """Native bools that are neither 0 nor 1: Burn keeps such bytes as they are."""
        for name, tensor in _within(found, self.source.size - start):
            if tensor.dtype is not DType.BOOL_NATIVE:
                continue
            for at in range(start + tensor.start, start + tensor.end, _PIECE):
                piece = bytes(self.source.read(at, min(_PIECE, start + tensor.end - at)))
                other = piece.translate(None, b"\0\1")
                if other:
                    text = f"tensor '{shown(name)}' holds a bool of {other[0]}, which is kept as it is"
                    self._add(at + piece.index(other[0]), Answer.ACCEPTS, text, "BPK-21", tensor=name)
                    break

    def _padding(self, first: int, end: int, after: str) -> None:
        padding = bytes(self.source.read(first, end - first)) if end > first else b""
        if padding.strip(b"\0"):
            at = first + len(padding) - len(padding.lstrip(b"\0"))
            self._add(at, Answer.ACCEPTS, f"the padding after {after} is not zero", "BPK-11")


def _within(found: Metadata, available: int) -> Iterable[tuple[str, Descriptor]]:
    return ((n, t) for n, t in found.tensors.items() if t.start <= t.end <= available)


def _first_difference(one: bytes, other: bytes) -> int:
    """Where two texts part, found by halves."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
