"""The element types of tensors and of files."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final

import ml_dtypes
import numpy as np

from ..errors import ArgumentTypeError, UnsupportedDTypeError
from .scheme import QuantScheme


class Kind(Enum):
    """The families of element types; a tensor of each has its own class."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    QUANTIZED = "quantized"


@dataclass(frozen=True, slots=True)
class DType:
    """The type of the elements of a tensor, under Burn's name for it.

    Every dtype but the quantised ones is one object, so `is` and `==` agree.

    >>> DType.F32, DType.BOOL_U8, DType.F32.itemsize
    (F32, Bool(U8), 4)

    Burn: burn_std::DType
    Clauses: BPK-7, BPK-10.
    """

    name: str
    kind: Kind = field(compare=False)
    itemsize: int = field(compare=False)
    scheme: QuantScheme | None = field(default=None, compare=False)

    F64: ClassVar[DType]
    F32: ClassVar[DType]
    FLEX32: ClassVar[DType]
    F16: ClassVar[DType]
    BF16: ClassVar[DType]
    I64: ClassVar[DType]
    I32: ClassVar[DType]
    I16: ClassVar[DType]
    I8: ClassVar[DType]
    U64: ClassVar[DType]
    U32: ClassVar[DType]
    U16: ClassVar[DType]
    U8: ClassVar[DType]
    BOOL_NATIVE: ClassVar[DType]
    BOOL_U8: ClassVar[DType]
    BOOL_U32: ClassVar[DType]

    @classmethod
    def qfloat(cls, scheme: QuantScheme) -> DType:
        """The dtype of tensors quantised by `scheme`."""
        if not isinstance(scheme, QuantScheme):
            raise ArgumentTypeError(
                f"a quantised dtype is that of a QuantScheme, got {scheme!r}",
                clause="QNT-5",
                hint="DType.qfloat(QuantScheme(value=QuantValue.Q8S))",
            )
        return cls(f"QFloat({scheme!r})", Kind.QUANTIZED, 0, scheme)

    @classmethod
    def parse(cls, name: str) -> DType:
        """The dense dtype of that name, as `repr` writes it.

        Raises:
            UnsupportedDTypeError: there is none.
        """
        found = _BY_NAME.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnsupportedDTypeError(
                f"no dtype is called {name!r}", clause="BPK-7", hint=f"dtypes are {', '.join(_BY_NAME)}"
            )
        return found

    @classmethod
    def of(cls, dtype: Any) -> DType:
        """The dtype of arrays of the NumPy dtype `dtype`.

        Raises:
            UnsupportedDTypeError: Burn has no such elements (complex numbers, text, objects, ...).
        """
        try:
            found = None if dtype is None else _OF_NUMPY.get(np.dtype(dtype))  # to NumPy None is float64
        except TypeError:
            found = None
        if found is None:
            raise UnsupportedDTypeError(
                f"elements of NumPy's dtype {dtype} have no dtype of Burn",
                clause="BPK-7",
                hint=f"cast the array first, for example to one of {', '.join(_BY_NAME)}",
            )
        return found

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of one element, little-endian; a quantised tensor is stored as bytes."""
        return _NUMPY.get(self.name, _BYTE)

    @property
    def is_float(self) -> bool:
        """Whether the elements are dense floats."""
        return self.kind is Kind.FLOAT

    @property
    def is_int(self) -> bool:
        """Whether the elements are integers, signed or not."""
        return self.kind is Kind.INT

    @property
    def is_bool(self) -> bool:
        """Whether the elements are booleans, in any of the three stores."""
        return self.kind is Kind.BOOL

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are codes with scales."""
        return self.scheme is not None

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self

    def __reduce__(self) -> tuple[object, tuple[object]]:
        return (DType.parse, (self.name,)) if self.scheme is None else (DType.qfloat, (self.scheme,))

    def __repr__(self) -> str:
        return self.name


# name, kind, bytes of an element, NumPy's name of it
_TABLE: Final = (
    ("F64", Kind.FLOAT, 8, np.dtype("<f8")),
    ("F32", Kind.FLOAT, 4, np.dtype("<f4")),
    ("Flex32", Kind.FLOAT, 4, np.dtype("<f4")),
    ("F16", Kind.FLOAT, 2, np.dtype("<f2")),
    ("BF16", Kind.FLOAT, 2, np.dtype(ml_dtypes.bfloat16)),
    ("I64", Kind.INT, 8, np.dtype("<i8")),
    ("I32", Kind.INT, 4, np.dtype("<i4")),
    ("I16", Kind.INT, 2, np.dtype("<i2")),
    ("I8", Kind.INT, 1, np.dtype("i1")),
    ("U64", Kind.INT, 8, np.dtype("<u8")),
    ("U32", Kind.INT, 4, np.dtype("<u4")),
    ("U16", Kind.INT, 2, np.dtype("<u2")),
    ("U8", Kind.INT, 1, np.dtype("u1")),
    ("Bool(Native)", Kind.BOOL, 1, np.dtype("?")),
    ("Bool(U8)", Kind.BOOL, 1, np.dtype("u1")),
    ("Bool(U32)", Kind.BOOL, 4, np.dtype("<u4")),
)
_BYTE: Final = np.dtype("u1")
_NUMPY: Final = {name: dtype for name, _, _, dtype in _TABLE}
_BY_NAME: Final = {name: DType(name, kind, size) for name, kind, size, _ in _TABLE}
_OF_NUMPY: Final = {
    dtype: _BY_NAME[name] for name, _, _, dtype in _TABLE if name not in ("Flex32", "Bool(U8)", "Bool(U32)")
}
for _name, _dtype in _BY_NAME.items():
    setattr(DType, _name.upper().replace("(", "_").rstrip(")"), _dtype)
