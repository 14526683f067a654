"""Tensors of the protocol as tensors of PyTorch, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from .outcome import LackingError

Step = dict[str, Any]

DTYPES: dict[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u64": torch.uint64,
    "u32": torch.uint32,
    "u16": torch.uint16,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
#: Bytes up to which a result is written whole.
WHOLE = 65_536
DEFAULTS = {"float": "f32", "int": "i64", "bool": "bool"}


def dtype_of(name: Any) -> torch.dtype:
    if not isinstance(name, str) or name not in DTYPES:
        raise LackingError(f"dtype {name}")
    return DTYPES[name]


def data(spec: Step, kind: str, seed: int) -> torch.Tensor:
    """DATA of a request."""
    name = spec.get("dtype") or DEFAULTS[kind]
    dtype, values = dtype_of(name), spec.get("values")
    shape = spec["shape"] if "shape" in spec else [len(values)] if values is not None else [2]
    if "hex" in spec:
        if not spec["hex"]:
            return torch.empty(shape, dtype=dtype)
        content = bytearray.fromhex(spec["hex"])
        if len(content) != torch.Size(shape).numel() * dtype.itemsize:
            raise LackingError("bytes that do not fill a shape")
        return torch.frombuffer(content, dtype=dtype).clone().reshape(shape)
    if values is None:
        values = formula(int(spec.get("seed", seed)), shape, name)
    if kind == "float":
        return torch.tensor([float(one) for one in values], dtype=torch.float64).to(dtype).reshape(shape)
    if kind == "bool":
        return torch.tensor([float(one) != 0 for one in values]).to(dtype).reshape(shape)
    whole = [int(one) for one in values]
    if name == "u64":
        whole = [one - (1 << 64) if one >= 1 << 63 else one for one in whole]
    return torch.tensor(whole, dtype=torch.int64).to(dtype).reshape(shape)


def formula(seed: int, shape: list[int], dtype: str) -> list[float]:
    """The values of the protocol's formula."""
    numbers = [(7 * seed + 3 * i) % 17 for i in range(torch.Size(shape).numel())]
    if dtype == "bool":
        return [u % 2 for u in numbers]
    if dtype.startswith("u"):
        return list(numbers)
    return [u - 8 for u in numbers] if dtype.startswith("i") else [(u - 8) / 4 for u in numbers]


def hex_of(tensor: torch.Tensor) -> str:
    """The bytes of a tensor, row by row."""
    plain = tensor.detach().contiguous().reshape(-1)
    return bytes(plain.view(torch.uint8).tolist()).hex() if plain.numel() else ""


def told(tensor: torch.Tensor) -> Step:
    """Tensor data of a result."""
    return written_as(NAMES[tensor.dtype], tensor.shape, hex_of(tensor))


def written_as(dtype: str, shape: Sequence[int], written: str) -> Step:
    """Bytes of a dtype and shape, given in hexadecimal digits, as results write them."""
    form: Step = {"dtype": dtype, "shape": list(shape)}
    if len(written) <= 2 * WHOLE:
        return {**form, "hex": written}
    content = bytes.fromhex(written)
    return {**form, "nbytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def kind_of(dtype: torch.dtype) -> str:
    if dtype == torch.bool:
        return "bool"
    return "float" if dtype.is_floating_point else "int"
