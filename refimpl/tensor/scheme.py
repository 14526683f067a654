"""How a tensor is quantised: value kind, storage, scale levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from operator import index
from typing import ClassVar, Final

from ..errors import ArgumentTypeError, InvalidArgumentError, PanicError
from ..immutable import Value

MAX_BLOCK_DIMS: Final = 5


class QuantValue(Enum):
    """The kind of a quantised value. `Q8S` is 8 bits over a symmetric range, `F` a full one, `E*` a float.

    Burn: cubecl_common::quant::scheme::QuantValue
    Clauses: QNT-1.
    """

    Q8F = "Q8F"
    E5M2 = "E5M2"
    E4M3 = "E4M3"
    Q4F = "Q4F"
    E2M1 = "E2M1"
    Q2F = "Q2F"
    Q8S = "Q8S"
    Q4S = "Q4S"
    Q2S = "Q2S"

    @property
    def bits(self) -> int:
        """Bits of one value."""
        return _VALUES[self][0]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest code."""
        return _VALUES[self][1]

    @property
    def is_float(self) -> bool:
        """Whether the codes are small floats."""
        return self.value.startswith("E")

    @property
    def is_symmetric(self) -> bool:
        """Whether the range of the codes is symmetric by construction: the `S` kinds only."""
        return self.value.endswith("S")

    @property
    def native_packing(self) -> int:
        """How many values the hardware keeps in one native element."""
        return 2 if self is QuantValue.E2M1 else 1


_VALUES: Final = {
    QuantValue.Q8F: (8, (-128.0, 127.0)),
    QuantValue.Q8S: (8, (-127.0, 127.0)),
    QuantValue.Q4F: (4, (-8.0, 7.0)),
    QuantValue.Q4S: (4, (-7.0, 7.0)),
    QuantValue.Q2F: (2, (-2.0, 1.0)),
    QuantValue.Q2S: (2, (-1.0, 1.0)),
    QuantValue.E4M3: (8, (-448.0, 448.0)),
    QuantValue.E5M2: (8, (-57344.0, 57344.0)),
    QuantValue.E2M1: (4, (-6.0, 6.0)),
}


_STORES: Final = ("Native", "PackedU32", "PackedNative")


@dataclass(frozen=True, slots=True)
class QuantStore:
    """How the codes lie in memory: one byte each, or packed along an axis counted from the innermost.

    >>> QuantStore.packed_u32(0)
    PackedU32(0)

    Burn: cubecl_common::quant::scheme::QuantStore
    Clauses: QNT-2.
    """

    kind: str
    axis: int = 0

    NATIVE: ClassVar[QuantStore]

    def __post_init__(self) -> None:
        if self.kind not in _STORES:
            raise InvalidArgumentError(
                f"a store is one of {', '.join(_STORES)}, got {self.kind!r}",
                clause="QNT-2",
                hint="QuantStore.NATIVE, QuantStore.packed_u32(0) or QuantStore.packed_native(0)",
            )
        object.__setattr__(self, "axis", _axis(self.axis))

    @classmethod
    def packed_u32(cls, axis: int) -> QuantStore:
        """Codes packed low bits first into 32-bit words along `axis`."""
        return cls("PackedU32", axis)

    @classmethod
    def packed_native(cls, axis: int) -> QuantStore:
        """Codes packed as the hardware does along `axis`: two `E2M1` a byte."""
        return cls("PackedNative", axis)

    @property
    def is_packed(self) -> bool:
        """Whether several codes can share one stored element."""
        return self.kind != "Native"

    def __repr__(self) -> str:
        return f"{self.kind}({self.axis})" if self.is_packed else self.kind


def _axis(axis: int) -> int:
    if isinstance(axis, bool) or not hasattr(axis, "__index__") or (axis := index(axis)) < 0:
        raise InvalidArgumentError(
            f"a packing axis is an integer of at least 0, got {axis!r}",
            clause="QNT-2",
            hint="axes are counted from the innermost, which is 0",
        )
    return axis


QuantStore.NATIVE = QuantStore("Native")


class QuantMode(Enum):
    """Scaled values, or indices into a table.

    Burn: cubecl_common::quant::scheme::QuantMode
    Clauses: QNT-3.
    """

    SYMMETRIC = "Symmetric"
    LOOKUP = "Lookup"


class ScaleDtype(Enum):
    """The dtype of a scale level.

    Burn: cubecl_common::quant::scheme::ScaleDtype
    Clauses: QNT-4.
    """

    F32 = "F32"
    F16 = "F16"
    BF16 = "BF16"
    UE8M0 = "UE8M0"
    UE4M3 = "UE4M3"

    @property
    def nbytes(self) -> int:
        """Bytes of one scale."""
        return {"F32": 4, "F16": 2, "BF16": 2, "UE8M0": 1, "UE4M3": 1}[self.value]


class BlockSize(Value):
    """The extents of the block of values that share one scale; leading ones are dropped.

    >>> BlockSize([1, 32]) == BlockSize([32])
    True

    Burn: cubecl_common::quant::scheme::BlockSize
    Clauses: QNT-7.
    """

    __slots__ = ("dims",)

    dims: tuple[int, ...]

    def __init__(self, dims: Iterable[int]) -> None:
        given = tuple(dims) if isinstance(dims, Iterable) else (None,)
        if any(isinstance(d, bool) or not hasattr(d, "__index__") or not 0 <= index(d) <= 255 for d in given):
            raise InvalidArgumentError(
                f"the extents of a block are integers from 0 to 255, got {dims!r}",
                clause="QNT-7",
                hint="BlockSize([1, 32])",
            )
        given = tuple(index(d) for d in given)
        first = next((i for i, d in enumerate(given) if d != 1), len(given))
        if len(given) - first > MAX_BLOCK_DIMS:
            raise PanicError(
                "Tried creating a block size larger than the cap",
                clause="QNT-7",
                hint=f"a block has at most {MAX_BLOCK_DIMS} axes",
            )
        object.__setattr__(self, "dims", given[first:])

    def __eq__(self, other: object) -> bool:
        return self.dims == other.dims if isinstance(other, BlockSize) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)

    def __repr__(self) -> str:
        return f"BlockSize({list(self.dims)})"


@dataclass(frozen=True, slots=True)
class QuantScheme:
    """Everything that says how values become codes, codes bytes, and which scales go with them.

    A scheme with neither `per_tensor` nor `per_block` resolves to one `F32` scale for the whole
    tensor, yet is another scheme than one that names that scale (QNT-5).

    >>> QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    QuantScheme { value: Q8S, store: Native, mode: Symmetric, tensor: Some(F32), block: None }

    Burn: cubecl_common::quant::scheme::QuantScheme
    Clauses: QNT-5, QNT-6.
    """

    value: QuantValue = QuantValue.Q8F
    store: QuantStore = QuantStore("PackedU32", 0)
    mode: QuantMode = QuantMode.SYMMETRIC
    per_tensor: ScaleDtype | None = None
    per_block: tuple[BlockSize, ScaleDtype] | None = None

    def __post_init__(self) -> None:
        kinds = ((self.value, QuantValue), (self.store, QuantStore), (self.mode, QuantMode))
        for given, kind in kinds:
            if not isinstance(given, kind):
                raise ArgumentTypeError(f"expected a {kind.__name__}, got {given!r}", clause="QNT-5")
        if self.per_tensor is not None and not isinstance(self.per_tensor, ScaleDtype):
            raise ArgumentTypeError(
                f"per_tensor is a ScaleDtype or None, got {self.per_tensor!r}", clause="QNT-5"
            )
        kinds_of_block = tuple(map(type, self.per_block)) if isinstance(self.per_block, tuple) else None
        if self.per_block is not None and kinds_of_block != (BlockSize, ScaleDtype):
            raise ArgumentTypeError(
                f"per_block is a pair of BlockSize and ScaleDtype or None, got {self.per_block!r}",
                clause="QNT-5",
            )

    @classmethod
    def nvfp4(cls) -> QuantScheme:
        """Four-bit floats in blocks of 16 with two levels of scales, two codes a byte (QNT-10)."""
        return cls(
            value=QuantValue.E2M1,
            store=QuantStore.packed_native(0),
            per_tensor=ScaleDtype.F32,
            per_block=(BlockSize([16]), ScaleDtype.UE4M3),
        )

    @property
    def is_quantizable(self) -> bool:
        """Whether two levels, if there are two, have narrow block scales and one of F32 above (QNT-10)."""
        narrow = self.per_block is not None and self.per_block[1] in (ScaleDtype.F16, ScaleDtype.UE4M3)
        return not self.has_two_levels or (narrow and self.per_tensor is ScaleDtype.F32)

    @property
    def is_supported(self) -> bool:
        """Whether Burn's Flex device calls it supported: a table of values is not (QNT-3)."""
        return self.is_quantizable and self.mode is QuantMode.SYMMETRIC

    def with_packing_axis(self, axis: int) -> QuantScheme:
        """The scheme packed along another axis, counted from the innermost, if it packs at all."""
        return replace(self, store=replace(self.store, axis=axis)) if self.store.is_packed else self

    def permuted(self, order: list[int]) -> QuantScheme:
        """The scheme of a tensor whose axes stand in `order`: block and packing follow (QNT-33)."""
        rank = len(order)
        scheme = self
        if self.per_block is not None:
            size, dtype = self.per_block
            extents = (1,) * max(0, rank - len(size.dims)) + size.dims[:rank]
            scheme = replace(scheme, per_block=(BlockSize([extents[axis] for axis in order]), dtype))
        packed = rank - 1 - self.store.axis
        return scheme.with_packing_axis(rank - 1 - order.index(packed)) if packed in order else scheme

    @property
    def tensor_scale(self) -> ScaleDtype | None:
        """The dtype of the scale of the whole tensor, where there is one."""
        if self.per_tensor is None and self.per_block is None:
            return ScaleDtype.F32
        return self.per_tensor

    @property
    def scale_dtype(self) -> ScaleDtype:
        """The dtype of the innermost scales."""
        if self.per_block is not None:
            return self.per_block[1]
        return self.tensor_scale or ScaleDtype.F32

    @property
    def has_two_levels(self) -> bool:
        """Whether block scales are themselves scaled by one scale of the tensor."""
        return self.per_block is not None and self.per_tensor is not None

    def __repr__(self) -> str:
        tensor = "None" if self.per_tensor is None else f"Some({self.per_tensor.value})"
        block = "None"
        if self.per_block is not None:
            size, dtype = self.per_block
            block = f"Some(BlockScale {{ size: {size!r}, dtype: {dtype.value} }})"
        return (
            f"QuantScheme {{ value: {self.value.value}, store: {self.store!r}, "
            f"mode: {self.mode.value}, tensor: {tensor}, block: {block} }}"
        )
