"""The closed lists of kinds by which outcomes tell panics and errors apart."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Of a broken contract; `spec/protocol.md` says of each when.
PanicKind: TypeAlias = Literal[
    "Placement", "CapacityOverflow", "Gradient", "Device", "DeviceMismatch", "Tensor", "DType", "Cast",
    "Layout", "Quantized", "Rank", "LazyInit", "Moved", "ParamId", "Load", "Display", "User",
    "Capture", "Other",
]  # fmt: skip
#: Of a returned error.
ErrorKind: TypeAlias = Literal[
    "RecordIo", "RecordValidation", "InvalidHeader", "InvalidMagicNumber", "InvalidVersion",
    "MetadataSerializationError", "MetadataDeserializationError", "IoError", "TensorNotFound",
    "TensorBytesSizeMismatch", "ValidationError", "AlreadyExists", "InvalidPattern", "InvalidParamId",
    "Scalar", "Serde", "Io", "Protocol",
]  # fmt: skip
