"""Element types in metadata: what each is in CBOR, both ways."""

from __future__ import annotations

from typing import Final

from ..errors import BurnpackError
from ..immutable import value_of
from ..tensor.dtype import DType
from ..tensor.scheme import (
    MAX_BLOCK_DIMS,
    BlockSize,
    QuantMode,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
)
from .cbor import ARRAY, MAP, NULL, UINT, head, integer, text
from .refusal import validation
from .stream import Stream, semantic

#: The variants of burn_std::DType in its order; the last two carry a payload.
_DENSE: Final = (
    "F64", "F32", "Flex32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8",
)  # fmt: skip
_VARIANTS: Final = (*_DENSE, "Bool", "QFloat")
_STORES: Final = ("Native", "U8", "U32")
_VALUES: Final = tuple(v.value for v in QuantValue)
_QUANT_STORES: Final = ("Native", "PackedNative", "PackedU32")
_MODES: Final = tuple(m.value for m in QuantMode)
_SCALES: Final = tuple(s.value for s in ScaleDtype)


_SCHEME_FIELDS: Final = ("value", "store", "mode", "tensor", "block")
_BLOCK_FIELDS: Final = ("size", "dtype")
_SIZE_FIELDS: Final = ("storage", "len")


def encode_dtype(dtype: DType) -> bytes:
    """A dtype as serde derives it: a text, or a map of the variant to its payload.

    >>> encode_dtype(DType.F32).hex(), encode_dtype(DType.BOOL_NATIVE).hex()
    ('63463332', 'a164426f6f6c664e6174697665')

    Clauses: BPK-7.
    """
    if dtype.scheme is not None:
        return head(MAP, 1) + text("QFloat") + _encode_scheme(dtype.scheme)
    if dtype.is_bool:
        return head(MAP, 1) + text("Bool") + text(dtype.name[len("Bool(") : -1])
    return text(dtype.name)


def decode_dtype(stream: Stream) -> DType:
    """The dtype that comes next.

    Clauses: BPK-7, BPK-19.
    """
    variant = stream.variant(_VARIANTS)
    if variant == "Bool":
        found = DType.parse(f"Bool({stream.variant(_STORES)})")
        stream.end_variant()
    elif variant == "QFloat":
        found = DType.qfloat(_decode_scheme(stream))
    else:
        found = DType.parse(variant)
    stream.end_variant()
    return found


def _encode_scheme(scheme: QuantScheme) -> bytes:
    store = text(scheme.store.kind)
    if scheme.store.is_packed:
        store = head(MAP, 1) + store + integer(scheme.store.axis)
    per_tensor, per_block = bytes((NULL,)), bytes((NULL,))
    if scheme.per_tensor is not None:
        per_tensor = text(scheme.per_tensor.value)
    if scheme.per_block is not None:
        per_block = _encode_block(*scheme.per_block)
    return b"".join(
        (
            head(MAP, 5),
            text("value"), text(scheme.value.value),
            text("store"), store,
            text("mode"), text(scheme.mode.value),
            text("tensor"), per_tensor,
            text("block"), per_block,
        )
    )  # fmt: skip


def _encode_block(size: BlockSize, dtype: ScaleDtype) -> bytes:
    storage = (*size.dims, *(1,) * (MAX_BLOCK_DIMS - len(size.dims)))
    return b"".join(
        (
            head(MAP, 2),
            text("size"), head(MAP, 2),
            text("storage"), head(ARRAY, MAX_BLOCK_DIMS), *(head(UINT, d) for d in storage),
            text("len"), head(UINT, len(size.dims)),
            text("dtype"), text(dtype.value),
        )
    )  # fmt: skip


def _decode_scheme(stream: Stream) -> QuantScheme:
    value: QuantValue | None = None
    store: QuantStore | None = None
    mode: QuantMode | None = None
    per_tensor: ScaleDtype | None = None
    per_block: tuple[BlockSize, ScaleDtype] | None = None
    seen: set[str] = set()
    for _ in stream.fields():
        match once(stream, seen, _SCHEME_FIELDS):
            case "value":
                value = QuantValue(_unit(stream, _VALUES))
            case "store":
                store = _decode_store(stream)
            case "mode":
                mode = QuantMode(_unit(stream, _MODES))
            case "tensor":
                per_tensor = None if stream.none() else ScaleDtype(_unit(stream, _SCALES))
            case "block":
                per_block = None if stream.none() else _decode_block(stream)
            case _:
                stream.skip()
    if value is None:
        raise missing("value")
    if store is None:
        raise missing("store")
    if mode is None:
        raise missing("mode")
    return QuantScheme(value, store, mode, per_tensor, per_block)


def _decode_store(stream: Stream) -> QuantStore:
    kind = stream.variant(_QUANT_STORES)
    store = QuantStore(kind) if kind == "Native" else QuantStore(kind, stream.uint())
    stream.end_variant()
    return store


def _decode_block(stream: Stream) -> tuple[BlockSize, ScaleDtype]:
    size: BlockSize | None = None
    dtype: ScaleDtype | None = None
    seen: set[str] = set()
    for _ in stream.fields():
        match once(stream, seen, _BLOCK_FIELDS):
            case "size":
                size = _decode_size(stream)
            case "dtype":
                dtype = ScaleDtype(_unit(stream, _SCALES))
            case _:
                stream.skip()
    if size is None:
        raise missing("size")
    if dtype is None:
        raise missing("dtype")
    return size, dtype


def _decode_size(stream: Stream) -> BlockSize:
    storage: tuple[int, ...] | None = None
    length: int | None = None
    seen: set[str] = set()
    for _ in stream.fields():
        match once(stream, seen, _SIZE_FIELDS):
            case "storage":
                storage = stream.tuple(MAX_BLOCK_DIMS, bits=8)
            case "len":
                length = stream.uint(bits=8)
            case _:
                stream.skip()
    if storage is None:
        raise missing("storage")
    if length is None:
        raise missing("len")
    if length > MAX_BLOCK_DIMS:
        # Burn reads it and panics at the first use of the block.
        raise validation(
            f"a block size of {length} axes is stored in {MAX_BLOCK_DIMS}",
            clause="BPK-7",
            hint="damaged file",
        )
    # As stored: a block spelled with leading ones keeps them, as a layout is refused by its rank (QNT-30).
    return value_of(BlockSize, {"dims": storage[:length]})


def _unit(stream: Stream, names: tuple[str, ...]) -> str:
    name = stream.variant(names)
    stream.end_variant()
    return name


def once(stream: Stream, seen: set[str], names: tuple[str, ...]) -> str | None:
    """The next field's name, or None for one that is none of `names`; a field comes once.

    Clauses: BPK-19.
    """
    name = stream.identifier()
    if name not in names:
        return None
    if name in seen:
        raise semantic(f"duplicate field `{name}`")
    seen.add(name)
    return name


def missing(name: str) -> BurnpackError:
    """A field that must be there is not."""
    return semantic(f"missing field `{name}`")
