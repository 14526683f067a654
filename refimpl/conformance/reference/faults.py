"""How a step ends when it does not end well: from the class of an exception to the kind of an outcome."""

from __future__ import annotations

from typing import Any, Final

from ...errors import (
    AlreadyQuantizedError,
    BurnpackError,
    CapacityOverflowError,
    DeviceError,
    DeviceMismatchError,
    DisplayError,
    GradientError,
    InvalidPatternError,
    LazyInitError,
    MovedError,
    PanicError,
    ParamIdError,
    PlacementError,
    RecordError,
    RefimplError,
    TensorError,
    UnsupportedDTypeError,
)


class StepError(Exception):
    """An error of the protocol's own: a bad argument, a missing handle, what the file system refuses."""

    def __init__(self, text: str, kind: str = "Protocol") -> None:
        super().__init__(text)
        self.kind = kind


class CasePanicError(Exception):
    """A panic that the case asked for."""


class LackingError(Exception):
    """What this subject does not have, with the capability it stands under."""

    def __init__(self, capability: str, text: str) -> None:
        super().__init__(text)
        self.capability = capability


#: The first class that fits; a table of words tells apart what shares a class.
_PANICS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (CasePanicError, "User"),
    (AlreadyQuantizedError, "Quantized"),
    (CapacityOverflowError, "CapacityOverflow"),
    (PlacementError, "Placement"),
    (GradientError, "Gradient"),
    (DeviceMismatchError, "DeviceMismatch"),
    (DeviceError, "Device"),
    (LazyInitError, "LazyInit"),
    (MovedError, "Moved"),
    (DisplayError, "Display"),
    (UnsupportedDTypeError, "DType"),
    (TensorError, "Tensor"),
)
_WORDS: Final = (
    ("Failed to load", "Load"),
    ("out of range for slice of length 8", "ParamId"),
    ("cannot be represented", "Cast"),
    ("InvalidBitPattern", "Cast"),
    ("Expected float dtype", "DType"),
    ("Unsupported data conversion", "DType"),
    ("is invalid for input of size", "Layout"),
    ("Quantized layout for shape", "Layout"),
    ("entered unreachable code", "Quantized"),
    ("got quantized", "Quantized"),
    ("AbsMean calibration", "Quantized"),
    ("reach f32's range", "Quantized"),
    ("per-tensor scale", "Quantized"),
    ("scale factor", "Quantized"),
    ("never negative", "Quantized"),
    (" scales, got ", "Quantized"),
    ("evenly divisible by block", "Quantized"),
    ("whole number of BlockSize", "Quantized"),
    ("a store packed along dim", "Quantized"),
    ("Quantized tensors are not supported", "Quantized"),
    ("Should be Float primitive kind", "Quantized"),
    ("cannot reduce an empty tensor", "Quantized"),
    ("LoRA rank must be", "Rank"),
)


def panic_kind(error: Exception) -> str:
    """The kind of a panic."""
    text = str(error)
    if type(error) in (PanicError, TensorError):
        for words, kind in _WORDS:
            if words in text:
                return kind
    for cls, kind in _PANICS:
        if isinstance(error, cls):
            return kind
    return "Other"


def outcome(error: Exception) -> dict[str, Any]:
    """The outcome of a step that raised `error`.

    Raises:
        Exception: `error` itself, if it is none that a step may raise: a fault of refimpl.
    """
    text = str(error)
    match error:
        case StepError():
            return {"error": {"kind": error.kind, "text": text}}
        case LackingError():
            return {"unsupported": {"capability": error.capability, "text": text}}
        case CasePanicError() | PanicError():
            return {"panic": {"kind": panic_kind(error), "text": text}}
        case RecordError():
            return {"error": {"kind": f"Record{error.variant}", "text": text}}
        case BurnpackError():
            return {"error": {"kind": error.kind, "text": text}}
        case InvalidPatternError():
            return {"error": {"kind": "InvalidPattern", "text": text}}
        case ParamIdError():
            return {"error": {"kind": "InvalidParamId", "text": text}}
        case RefimplError():
            return {"error": {"kind": "Protocol", "text": f"{type(error).__name__}: {text}"}}
        case OSError():
            return {"error": {"kind": "Io", "text": text}}
    raise error
