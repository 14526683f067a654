"""The metadata of a container: one CBOR map of tensors, user texts and scalars."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..errors import BurnpackError
from ..tensor.dtype import DType
from .cbor import ARRAY, MAP, TEXT, UINT, boolean, float_, head, integer, text
from .dtypes import decode_dtype, encode_dtype, missing, once
from .layout import byte_length
from .limits import MAX_DIMENSIONS, MAX_TENSOR_COUNT, MAX_USER_ENTRIES, WIDE_TEXT_ALLOWANCE
from .refusal import validation
from .scalar import BoolScalar, FloatScalar, IntScalar, Scalar, UIntScalar
from .stream import Stream


class Descriptor(NamedTuple):
    """What the metadata says of one tensor; offsets count from the data section.

    Burn: burn_pack::base::TensorDescriptor
    Clauses: BPK-6.
    """

    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int
    param_id: int | None


@dataclass(slots=True)
class Metadata:
    """Everything that is not data.

    `plain` says that every range is as long as its dtype and shape need, `end` where the last one ends.

    Burn: burn_pack::base::Metadata
    Clauses: BPK-4, BPK-5, BPK-8.
    """

    tensors: dict[str, Descriptor] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    plain: bool = True
    end: int = 0


_UINT: Final = rb"[\x00-\x17]|\x18.|\x19..|\x1a.{4}|\x1b.{8}"
#: A descriptor of a dense dtype as every writer writes it. What comes before its offsets repeats from
#: tensor to tensor, so it is decoded once for each form it takes.
_WRITTEN: Final = re.compile(
    rb"((?:\xa3|(\xa4))\x65dtype(?:\xa1\x64Bool)?[\x62-\x66][A-Za-z0-9]+?"
    rb"\x65shape[\x80-\x8f](?:%b){0,15}\x6cdata_offsets\x82)(%b)(%b)(?(2)\x68param_id(%b)|)"
    % (_UINT, _UINT, _UINT, _UINT),
    re.DOTALL,
)
_SECTIONS: Final = ("tensors", "metadata", "scalars")
_FIELDS: Final = ("dtype", "shape", "data_offsets", "param_id")


def encode_metadata(found: Metadata) -> bytes:
    """The metadata byte for byte as Burn writes it: names in byte order, empty maps left out.

    Raises:
        UnicodeEncodeError: a lone surrogate in a name or a text.

    Clauses: BPK-4, BPK-5, BPK-6, BPK-8.
    """
    parts = [head(MAP, 1 + bool(found.metadata) + bool(found.scalars)), text("tensors")]
    parts += (head(MAP, len(found.tensors)), *_encode_tensors(found.tensors))
    if found.metadata:
        parts += (text("metadata"), head(MAP, len(found.metadata)))
        for name in sorted(found.metadata):
            parts += (text(name), text(found.metadata[name]))
    if found.scalars:
        parts += (text("scalars"), head(MAP, len(found.scalars)))
        for name in sorted(found.scalars):
            parts += (text(name), head(MAP, 1), *_encode_scalar(found.scalars[name]))
    return b"".join(parts)


def _encode_tensors(tensors: Mapping[str, Descriptor]) -> Iterable[bytes]:
    forms: dict[tuple[DType, tuple[int, ...], bool], bytes] = {}
    parts: list[bytes] = []
    for name in sorted(tensors):
        dtype, shape, start, end, param_id = tensors[name]
        key = (dtype, shape, param_id is None)
        form = forms.get(key)
        if form is None:
            form = forms[key] = b"".join(
                (
                    head(MAP, 3 + (param_id is not None)),
                    text("dtype"), encode_dtype(dtype),
                    text("shape"), head(ARRAY, len(shape)), *(head(UINT, extent) for extent in shape),
                    text("data_offsets"), head(ARRAY, 2),
                )
            )  # fmt: skip
        raw = name.encode()
        parts += (head(TEXT, len(raw)), raw, form, head(UINT, start), head(UINT, end))
        if param_id is not None:
            parts += (b"\x68param_id", head(UINT, param_id))
    return parts


def _encode_scalar(value: Scalar) -> tuple[bytes, bytes]:
    match value:
        case IntScalar(number):
            return text("Int"), integer(number)
        case UIntScalar(number):
            return text("UInt"), integer(number)
        case FloatScalar(number):
            return text("Float"), float_(number)
        case BoolScalar(truth):
            return text("Bool"), boolean(truth)


def decode_metadata(data: bytes) -> Metadata:
    """What `data` says, read as Burn reads it; what lies after the one item is ignored.

    Nothing is allocated from a number that the data claims, and unknown fields are skipped unseen.

    Raises:
        BurnpackError: no CBOR, other CBOR than metadata, or more than the limits allow.

    Burn: burn_pack::reader::parse_metadata
    Clauses: BPK-19, BPK-20.
    """
    return Decoder(data).decode()


class Decoder:
    """Decodes one metadata item, counting what it unfolds to; `stream` is where it stands."""

    __slots__ = ("dimensions", "entries", "found", "stream", "surplus", "wide")

    def __init__(self, data: bytes) -> None:
        self.stream = Stream(data)
        self.found = Metadata()
        self.entries = self.dimensions = self.wide = 0
        self.surplus = 0  # tensors past the limit, which are read and not kept

    def decode(self) -> Metadata:
        """All of it."""
        stream, found = self.stream, self.found
        seen: set[str] = set()
        for _ in stream.fields():
            match once(stream, seen, _SECTIONS):
                case "tensors":
                    self.tensors()
                case "metadata":
                    self.texts()
                case "scalars":
                    self.scalars()
                case _:
                    stream.skip()
        if "tensors" not in seen:
            raise missing("tensors")
        count = len(found.tensors) + self.surplus
        if count > MAX_TENSOR_COUNT:
            raise validation(
                f"File contains {count} tensors, exceeding maximum of {MAX_TENSOR_COUNT} "
                "(potential DoS attack)",
                clause="BPK-20",
            )
        return found

    def texts(self) -> None:
        """The user's texts by name."""
        for _ in self.stream.fields():
            name = self.kept()
            self.found.metadata[name] = self.kept()
            self.count_entry()

    def scalars(self) -> None:
        """The scalars by name."""
        for _ in self.stream.fields():
            name = self.kept()
            self.found.scalars[name] = decode_scalar(self.stream)
            self.count_entry()

    def tensors(self) -> None:
        """The tensors by name: in the form they are written, or any other."""
        stream, tensors, written = self.stream, self.found.tensors, _WRITTEN.match
        forms: dict[bytes, tuple[DType, tuple[int, ...], int | None]] = {}
        new = tuple.__new__  # a third of the time of calling Descriptor
        for _ in stream.fields():
            name = self.kept()
            match = written(stream.data, stream.pos)
            known = forms.get(match[1]) if match else None
            if match and known:
                dtype, shape, needed = known
                _, _, low, high, number = match.groups()
                start = int.from_bytes(low[1:] or low, "big")
                stop = int.from_bytes(high[1:] or high, "big")
                if number is not None:
                    number = int.from_bytes(number[1:] or number, "big")
                found = new(Descriptor, (dtype, shape, start, stop, number))
                stream.pos = match.end()
            else:
                found = self.descriptor()
                needed = byte_length(found.dtype, found.shape)
            if len(tensors) == MAX_TENSOR_COUNT and name not in tensors:
                self.surplus += 1
                continue
            if match:
                forms[match[1]] = found.dtype, found.shape, needed
            tensors[name] = found
            self.found.end = max(self.found.end, found.end)
            if found.end - found.start != needed or found.dtype.is_quantized:
                self.found.plain = False

    def descriptor(self) -> Descriptor:
        """The descriptor of a tensor in any form CBOR allows."""
        stream = self.stream
        dtype: DType | None = None
        shape: tuple[int, ...] | None = None
        offsets: tuple[int, ...] | None = None
        param_id: int | None = None
        seen: set[str] = set()
        for _ in stream.fields():
            match once(stream, seen, _FIELDS):
                case "dtype":
                    dtype = decode_dtype(stream)
                case "shape":
                    shape = tuple(self.dims())
                case "data_offsets":
                    offsets = stream.tuple(2)
                case "param_id":
                    param_id = None if stream.none() else stream.uint()
                case _:
                    stream.skip()
        if dtype is None:
            raise missing("dtype")
        if shape is None:
            raise missing("shape")
        if offsets is None:
            raise missing("data_offsets")
        return Descriptor(dtype, shape, offsets[0], offsets[1], param_id)

    def dims(self) -> Iterable[int]:
        """The extents of a shape."""
        for extent in self.stream.uints():
            self.dimensions += 1
            if self.dimensions > MAX_DIMENSIONS:
                raise _too_much(f"shapes of more than {MAX_DIMENSIONS} axes together")
            yield extent

    def kept(self) -> str:
        """A text that stays; one character past Latin makes every character of it wider."""
        value = self.stream.string()
        if not value.isascii():
            self.wide += sys.getsizeof(value)
            if self.wide > WIDE_TEXT_ALLOWANCE + len(self.stream.data):
                raise _too_much("texts that unfold to more than the metadata's own size")
        return value

    def count_entry(self) -> None:
        """One more text or scalar."""
        self.entries += 1
        if self.entries > MAX_USER_ENTRIES:
            raise _too_much(f"more than {MAX_USER_ENTRIES} texts and scalars")


def decode_scalar(stream: Stream) -> Scalar:
    """The scalar that comes next (BPK-8)."""
    found: Scalar
    match stream.variant(("Int", "UInt", "Float", "Bool")):
        case "Int":
            found = IntScalar(stream.int64())
        case "UInt":
            found = UIntScalar(stream.uint())
        case "Float":
            found = FloatScalar(stream.float64())
        case _:
            found = BoolScalar(stream.boolean())
    stream.end_variant()
    return found


def _too_much(what: str) -> BurnpackError:
    return validation(
        f"the metadata holds {what}",
        clause="BPK-20",
        hint="a limit of this reader, so that a small file cannot fill the memory; Burn has none",
    )
