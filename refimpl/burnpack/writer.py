"""Writing a container: everything is planned and checked before the first byte is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ArgumentTypeError, BurnpackError, InvalidArgumentError, ResourceError
from ..tensor.data import TensorData
from .header import align, data_section_start, encode_header
from .layout import byte_length
from .limits import (
    MAX_DIMENSIONS,
    MAX_FILE_SIZE,
    MAX_METADATA_SIZE,
    MAX_TENSOR_COUNT,
    MAX_TENSOR_SIZE,
    MAX_USER_ENTRIES,
)
from .metadata import Descriptor, Metadata, encode_metadata
from .reader import check_length
from .refusal import serialization, shown, validation
from .scalar import Scalar, scalar

Item = tuple[str, TensorData, int | None]
Buffer = bytes | bytearray | memoryview

_U64: Final = (1 << 64) - 1
#: Small pieces are joined into writes of about this many bytes; larger ones are written as they lie.
_BATCH: Final = 1 << 20
_JOINED: Final = 1 << 16
#: Errors whose message has a detail, before which the tensor is named.
_WITH_DETAIL: Final = frozenset(
    (
        "MetadataSerializationError",
        "MetadataDeserializationError",
        "IoError",
        "TensorBytesSizeMismatch",
        "ValidationError",
    )
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The layout of a container, made from lengths alone: no deferred tensor is asked for its bytes.

    Clauses: BPK-11, BPK-14, BPK-15.
    """

    metadata: bytes
    items: tuple[tuple[str, TensorData, int], ...]
    data_size: int

    @property
    def size(self) -> int:
        """The bytes of the whole container."""
        return data_section_start(len(self.metadata)) + self.data_size

    def emit(self, write: Callable[[Buffer], None]) -> None:
        """Give the container to `write`, piece by piece and in order.

        A deferred tensor is asked once, in its turn, when what comes before it is written; its bytes are
        dropped before the next one's are made.

        Raises:
            BurnpackError: a deferred tensor fails, or gives another number of bytes than it said.

        Clauses: BPK-17.
        """
        held = bytearray(encode_header(len(self.metadata)) + self.metadata)
        held += bytes(data_section_start(len(self.metadata)) - len(held))
        at = 0
        for name, data, start in self.items:
            held += bytes(start - at)
            at = start + data.nbytes
            if data.is_deferred or data.nbytes > _JOINED:
                write(held)
                held = bytearray()
                write(_drawn(name, data) if data.is_deferred else data.bytes)
                continue
            held += data.bytes
            if len(held) > _BATCH:
                write(held)
                held = bytearray()
        write(held)


def plan(
    entries: Iterable[Item],
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, Scalar | bool | int | float] | None = None,
) -> Plan:
    """Lay out `entries` in their order, each at the next multiple of 256, and check all of it.

    Raises:
        BurnpackError: a length that contradicts its shape, a name twice, or anything that no reader would
            accept: more than 100,000 tensors, more than 100 MiB of metadata, a tensor of more than 10 GiB,
            a quantised tensor without a layout (deviations, where Burn writes what it cannot read).
        ArgumentTypeError, InvalidArgumentError: an entry of another form.

    Burn: burn_pack::Writer::plan
    Clauses: BPK-11, BPK-12, BPK-13, BPK-14, BPK-16.
    """
    tensors: dict[str, Descriptor] = {}
    items: list[tuple[str, TensorData, int]] = []
    axes = end = 0
    if not isinstance(entries, Iterable):
        raise ArgumentTypeError(
            f"the entries are several, one after the other, got {type(entries).__name__}", clause="BPK-6"
        )
    for entry in entries:
        name, data, param_id = _checked(entry)
        dtype, shape, nbytes = data.dtype, data.shape, data.nbytes
        if byte_length(dtype, shape) != nbytes:
            _refuse_length(name, data)
        if nbytes > MAX_TENSOR_SIZE:
            raise _too_large(name, nbytes)
        if not nbytes and max(shape) > _U64:
            raise InvalidArgumentError(
                f"an extent of tensor '{shown(name)}' is from 0 to 2^64-1, got {max(shape)}", clause="BPK-6"
            )
        if name in tensors:
            raise validation(f"Duplicate tensor name '{shown(name)}'", clause="BPK-13", tensor=name)
        start = align(end)
        end = start + nbytes
        axes += len(shape)
        tensors[name] = Descriptor(dtype, shape, start, end, param_id)
        items.append((name, data, start))
    found = Metadata(tensors, _texts(metadata), _scalars(scalars))
    _check_limits(found, axes, end)
    try:
        encoded = encode_metadata(found)
    except UnicodeEncodeError as error:
        raise _surrogate(error.object) from None
    if len(encoded) > MAX_METADATA_SIZE:
        raise validation(
            f"Metadata size {len(encoded)} exceeds maximum allowed size of {MAX_METADATA_SIZE} bytes "
            "(potential DoS attack)",
            clause="BPK-16",
            hint="no reader would open the file",
        )
    return Plan(encoded, tuple(items), end)


def _checked(entry: object) -> Item:
    """An entry of the right types, its numbers of 64 bits."""
    if not isinstance(entry, (tuple, list)) or len(entry) != 3:
        raise _no_entry(entry)
    name, data, param_id = entry
    if not isinstance(name, str) or not isinstance(data, TensorData):
        raise _no_entry(entry)
    if param_id is not None:
        if not isinstance(param_id, int) or isinstance(param_id, bool):
            raise _no_entry(entry)
        if not 0 <= param_id <= _U64:
            raise InvalidArgumentError(
                f"the parameter id of '{shown(name)}' is from 0 to 2^64-1, got {int(param_id)}",
                clause="BPK-6",
            )
    return name, data, param_id


def _no_entry(entry: object) -> ArgumentTypeError:
    parts = entry if isinstance(entry, (tuple, list)) else ()
    kinds = f"({', '.join(type(part).__name__ for part in parts)})" if parts else ""
    hint = "TensorData.from_array(array) holds the values of a NumPy array"
    if any(hasattr(part, "to_data") for part in parts):
        hint = "tensor.to_data() gives the TensorData of a tensor"
    elif isinstance(entry, str):
        hint = "of a mapping: [(name, data, None) for name, data in mapping.items()]"
    return ArgumentTypeError(
        f"an entry is a tuple of a name, its TensorData and its parameter id or None, got "
        f"{type(entry).__name__}{kinds}",
        clause="BPK-6",
        hint=hint,
    )


def _refuse_length(name: str, data: TensorData) -> None:
    """Say why `data` cannot be written under its shape and dtype."""
    check_length(name, data.dtype, data.shape, data.nbytes)
    needed = byte_length(data.dtype, data.shape)
    raise validation(
        f"tensor '{shown(name)}' of shape {list(data.shape)} and dtype {data.dtype} "
        + ("has no layout" if needed is None else f"has {data.nbytes} bytes but its layout needs {needed}"),
        clause="QNT-30",
        tensor=name,
        hint="no reader could read it: block and packed axis must fit the tensor's axes",
    )


def _check_limits(found: Metadata, axes: int, data_size: int) -> None:
    """Refuse what the readers' limits would: Burn writes it, and cannot read it (deviation, BPK-20)."""
    if len(found.tensors) > MAX_TENSOR_COUNT:
        raise validation(
            f"File contains {len(found.tensors)} tensors, exceeding maximum of {MAX_TENSOR_COUNT} "
            "(potential DoS attack)",
            clause="BPK-20",
            hint="no reader would open the file; write several files",
        )
    if data_size > MAX_FILE_SIZE:
        raise validation(
            f"File size {data_size} bytes exceeds maximum allowed size of {MAX_FILE_SIZE} bytes "
            "(raise it with `Reader::with_limits`)",
            clause="BPK-22",
            hint="write several files",
        )
    if axes > MAX_DIMENSIONS or len(found.metadata) + len(found.scalars) > MAX_USER_ENTRIES:
        raise validation(
            f"the metadata holds more than {MAX_DIMENSIONS} axes or {MAX_USER_ENTRIES} texts and scalars",
            clause="BPK-20",
            hint="our own reader would refuse the file",
        )


def _too_large(name: str, nbytes: int) -> BurnpackError:
    return validation(
        f"Tensor '{shown(name)}' size {nbytes} exceeds maximum allowed size of {MAX_TENSOR_SIZE} "
        "bytes (potential DoS attack; raise it with `Reader::with_limits`)",
        clause="BPK-22",
        tensor=name,
        hint="no reader with its default limits would read it; split the tensor",
    )


def _mapping(given: Mapping[str, Any] | None, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    try:
        return dict(given)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{what} is a mapping by name, got {type(given).__name__}", clause="BPK-8"
        ) from None


def _texts(metadata: Mapping[str, str] | None) -> dict[str, str]:
    given = _mapping(metadata, "metadata")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ArgumentTypeError(
                f"metadata maps texts to texts, got {type(name).__name__} to {type(value).__name__}",
                clause="BPK-8",
                hint="numbers and bools are scalars",
            )
    return given


def _scalars(scalars: Mapping[str, Scalar | bool | int | float] | None) -> dict[str, Scalar]:
    given = _mapping(scalars, "scalars")
    for name in given:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"the name of a scalar is text, got {type(name).__name__}", clause="BPK-8"
            )
    return {name: scalar(value) for name, value in given.items()}


def _surrogate(text: object) -> BurnpackError:
    return serialization(
        f"'{shown(str(text))}' holds a lone surrogate, which UTF-8 cannot write",
        clause="BPK-5",
        tensor=str(text),
    )


def _drawn(name: str, data: TensorData) -> Buffer:
    """The bytes of a deferred tensor, as many as it said; whatever fails names the tensor (BPK-17)."""
    try:
        drawn = data.bytes
    except BurnpackError as error:
        prefix, _, detail = error.message.partition(": ")
        if error.kind not in _WITH_DETAIL:
            raise
        raise BurnpackError(
            f"{prefix}: tensor '{shown(name)}': {detail}",
            kind=error.kind,
            clause="BPK-17",
            path=error.path,
            tensor=name,
            errno=error.errno,
            hint=error.hint,
        ) from error
    except MemoryError as error:
        raise ResourceError(
            f"not enough memory for the {data.nbytes} bytes of tensor '{shown(name)}'"
        ) from error
    except Exception as error:
        raise BurnpackError(
            f"I/O error: tensor '{shown(name)}': {type(error).__name__}: {shown(str(error))}",
            kind="IoError",
            clause="BPK-17",
            tensor=name,
        ) from error
    if len(drawn) != data.nbytes:
        raise BurnpackError(
            f"Tensor bytes size mismatch: tensor '{shown(name)}': deferred source has inconsistent length "
            f"(expected {data.nbytes}, got {len(drawn)})",
            kind="TensorBytesSizeMismatch",
            clause="BPK-17",
            tensor=name,
        )
    return drawn
