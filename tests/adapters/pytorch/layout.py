"""The bytes of a quantised tensor: its values, its scales, the scale of the whole."""

from __future__ import annotations

import math

import torch

from .data import hex_of
from .outcome import LackingError
from .scales import kept_as
from .schemes import VALUES, Scheme, extents


def layout(scheme: Scheme, codes: torch.Tensor, scales: torch.Tensor, whole: torch.Tensor | None) -> str:
    """The bytes, as hexadecimal digits."""
    axis = axis_of(scheme, codes.dim())
    values = hex_of(codes) if axis is None else packed(scheme, swapped(codes, axis))
    kept = ordered(scheme, scales, axis).to(kept_as(scheme.scale_dtype)[0])
    return values + hex_of(kept) + ("" if whole is None else hex_of(whole))


def parsed(
    scheme: Scheme, content: bytes, shape: list[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """The codes, the scales and the scale of the whole that stand in such bytes."""
    axis = axis_of(scheme, len(shape))
    sizes = extents(scheme, len(shape))
    if sizes is not None and (0 in sizes or len(scheme.block[0]) > len(shape)):  # type: ignore[index]
        raise LackingError("a block without an extent, or of more axes than the tensor")
    grid = [1] if sizes is None else [-(-dim // size) for dim, size in zip(shape, sizes, strict=True)]
    if not math.prod(grid):
        raise LackingError("blocks of nothing")
    dtype = kept_as(scheme.scale_dtype)[0]
    last = 4 if scheme.two_level else 0
    start = len(content) - last - math.prod(grid) * dtype.itemsize
    turned = shape if axis is None else list(swapped(torch.empty(shape), axis).shape)
    size = math.prod(shape) if axis is None else row_bytes(scheme, turned) * math.prod(turned[:-1])
    if start != size:
        raise LackingError("bytes of another length than the layout")
    values, kept = content[:start], content[start : len(content) - last]
    codes = bytes_as(values, torch.int8).reshape(shape) if axis is None else unpacked(scheme, values, turned)
    scales = bytes_as(kept, dtype).reshape(list(ordered(scheme, torch.empty(grid), axis).shape))
    return (
        codes if axis is None else swapped(codes, axis).contiguous(),
        ordered(scheme, scales, axis).float().contiguous(),
        bytes_as(content[len(content) - 4 :], torch.float32) if last else None,
    )


def axis_of(scheme: Scheme, rank: int) -> int | None:
    """The axis along which codes are packed, from the innermost; None where each has a byte of its own."""
    name, axis = scheme.store
    if name == "Native":
        return None
    if axis >= max(rank, 1):
        raise LackingError("packing along an axis that is not there")
    return axis


def swapped(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    return tensor.transpose(tensor.dim() - 1 - axis, -1) if tensor.dim() else tensor


def ordered(scheme: Scheme, scales: torch.Tensor, axis: int | None) -> torch.Tensor:
    """The grid as it is written, or back: where rows are packed it is turned with them."""
    return scales if scheme.block is None or not axis else swapped(scales, axis)


def word(scheme: Scheme) -> tuple[int, int, int]:
    """The bits of a word, the bits of a code, and how many codes a word holds."""
    bits = VALUES[scheme.value][0]
    width = 32 if scheme.store[0] == "PackedU32" else bits * (2 if scheme.value == "E2M1" else 1)
    return width, bits, width // bits


def row_bytes(scheme: Scheme, shape: list[int]) -> int:
    width, _, count = word(scheme)
    return -(-(shape[-1] if shape else 1) // count) * max(width // 8, 1)


def packed(scheme: Scheme, codes: torch.Tensor) -> str:
    """Codes side by side in words, the first in the lowest bits; each row fills its last word with zeros."""
    width, bits, count = word(scheme)
    rows = codes.reshape(-1, codes.shape[-1]) if codes.dim() and codes.numel() else codes.reshape(1, -1)
    padded = torch.nn.functional.pad(rows.to(torch.int64) & ((1 << bits) - 1), (0, -rows.shape[1] % count))
    words = (padded.reshape(rows.shape[0], -1, count) << (torch.arange(count) * bits)).sum(-1)
    octets = [(words >> (8 * place)) & 0xFF for place in range(max(width // 8, 1))]
    return hex_of(torch.stack(octets, dim=-1).to(torch.uint8))


def unpacked(scheme: Scheme, content: bytes, shape: list[int]) -> torch.Tensor:
    """The codes in such words: whole numbers with their sign, the bits of others as they are."""
    width, bits, count = word(scheme)
    octets = bytes_as(content, torch.uint8).to(torch.int64).reshape(-1, max(width // 8, 1))
    words = (octets << (torch.arange(octets.shape[1]) * 8)).sum(-1)
    codes = (words[:, None] >> (torch.arange(count) * bits)) & ((1 << bits) - 1)
    if scheme.value != "E2M1":
        codes = codes - ((codes >> (bits - 1)) << bits)
    length = shape[-1] if shape else 1
    rows = codes.reshape(math.prod(shape[:-1]), -(-length // count) * count)
    return rows[:, :length].reshape(shape).to(torch.int8)


def bytes_as(content: bytes, dtype: torch.dtype) -> torch.Tensor:
    return (
        torch.frombuffer(bytearray(content), dtype=dtype).clone() if content else torch.empty(0, dtype=dtype)
    )
