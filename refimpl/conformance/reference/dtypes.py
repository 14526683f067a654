"""The protocol's names of dtypes, and Burn's serde form of quantised ones."""

from __future__ import annotations

from typing import Any, Final

from ...errors import RefimplError
from ...tensor.dtype import DType
from ...tensor.scheme import BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from .args import only
from .faults import StepError

_NAMES: Final = {
    "f64": DType.F64,
    "f32": DType.F32,
    "flex32": DType.FLEX32,
    "f16": DType.F16,
    "bf16": DType.BF16,
    "i64": DType.I64,
    "i32": DType.I32,
    "i16": DType.I16,
    "i8": DType.I8,
    "u64": DType.U64,
    "u32": DType.U32,
    "u16": DType.U16,
    "u8": DType.U8,
    "bool": DType.BOOL_NATIVE,
    "bool_u8": DType.BOOL_U8,
    "bool_u32": DType.BOOL_U32,
}
_NAME_OF: Final = {dtype: name for name, dtype in _NAMES.items()}


def dtype_name(dtype: DType) -> str:
    """The protocol's name of a dtype."""
    return _NAME_OF.get(dtype, dtype.name)


def read_dtype(value: Any) -> DType:
    """The dtype of a name, or of Burn's serde form of a quantised one."""
    if isinstance(value, dict):
        try:
            return DType.qfloat(read_scheme(value["QFloat"]))
        except (KeyError, TypeError, ValueError, RefimplError) as error:
            raise StepError(f"{value!r} is no quantised dtype: {error}") from None
    found = _NAMES.get(value) if isinstance(value, str) else None
    if found is None:
        raise StepError(f"{value!r} names no dtype")
    return found


def read_scheme(form: dict[str, Any]) -> QuantScheme:
    """A scheme in Burn's serde form."""
    tensor, block = form.get("tensor"), form.get("block")
    return QuantScheme(
        value=QuantValue(form["value"]),
        store=_store(form["store"]),
        mode=QuantMode(form["mode"]),
        per_tensor=None if tensor is None else ScaleDtype(tensor),
        per_block=None if block is None else (_size(block["size"]), ScaleDtype(block["dtype"])),
    )


def _store(form: Any) -> QuantStore:
    if form == "Native":
        return QuantStore.NATIVE
    kind, axis = only(form, "store")
    return QuantStore(kind, axis)


def _size(form: dict[str, Any]) -> BlockSize:
    return BlockSize(form["storage"][: form["len"]])
