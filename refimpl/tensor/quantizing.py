"""Quantising and dequantising, a tile at a time: no temporary array is as large as the tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, TensorError
from . import packing, scales
from .blocks import BlockLayout
from .calibration import QParams, check_scheme
from .codes import BYTES, Scratch, codec
from .scheme import QuantScheme, ScaleDtype
from .stored_length import stored_length

F32: Final = np.dtype("<f4")
#: Values of one tile: its f32 copy and its codes stay in the cache.
TILE: Final = 1 << 16


def encode(values: NDArray[Any], scheme: QuantScheme, q_params: QParams) -> NDArray[Any]:
    """The serialised bytes of `values`: codes, scales, and of two levels the scale of the whole.

    Everything is f32: a value is divided by its scale, clamped, then rounded to a code.

    Raises:
        TensorError: the parameters do not fit the scheme, or the scheme does not fit the shape.

    Burn: burn_flex::ops::qtensor::quantize
    Clauses: QNT-17, QNT-18, QNT-24, QNT-25, QNT-28, QNT-29, QNT-30.
    """
    check_scheme(scheme)
    if not isinstance(q_params, QParams):
        raise ArgumentTypeError(
            f"a tensor is quantised with QParams, got {q_params!r}",
            clause="QNT-24",
            hint="compute_q_params(scheme, range) gives them, and quantize_dynamic does it all",
        )
    packing.check_axis(scheme, values.ndim)
    blocks = grid(scheme, values.shape)
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    given = np.asarray(q_params.scales.to_numpy()).reshape(-1)
    if not given.size:
        raise no_scale()
    with np.errstate(all="ignore"):
        stored = scales.validated(given.astype(F32), scheme.scale_dtype)
    whole = _whole(scheme, q_params)
    layout = BlockLayout.of(values.shape, scheme)
    if scheme.per_block is None:
        stored = stored[:1]
    elif stored.size != layout.num_blocks:
        raise TensorError(
            f"a grid of {list(blocks)} blocks takes {layout.num_blocks} scales, got {stored.size}",
            clause="QNT-25",
        )
    divisor = stored if whole is None else whole * stored
    tail = [scales.to_bytes(packing.stored_order(stored, blocks, scheme), scheme.scale_dtype)]
    if whole is not None:
        tail.append(whole.reshape(1).view(np.uint8))
    if packing.is_flat(scheme, values.shape):
        return _encode_flat(values, scheme, layout, divisor, tail)
    codes = np.empty(values.size, np.uint8)
    for _ in _encoded(values, scheme, layout, divisor, codes):
        pass
    return np.concatenate([packing.pack(codes.reshape(values.shape), scheme), *tail])


def decode(data: NDArray[Any], scheme: QuantScheme, shape: tuple[int, ...], out: NDArray[Any]) -> None:
    """Fill `out`, of `shape` and any float dtype, with the values of the serialised bytes `data`.

    Burn: burn_flex::ops::qtensor::dequantize
    Clauses: QNT-21, QNT-22, QNT-30.
    """
    codes, stored, whole = parts(data, scheme, shape)
    layout = BlockLayout.covering(shape, scheme)
    if not layout.divides:
        with np.errstate(all="ignore"):
            factor = layout.each(stored if whole is None else whole * stored)
            out[...] = codec(scheme.value).table[packing.unpack(codes, scheme, shape)] * factor
        return
    if packing.is_flat(scheme, shape):
        table, each = _decoder(scheme)
    else:
        codes = packing.unpack(codes, scheme, shape).reshape(-1)
        table, each = codec(scheme.value).table, 1
    flat = out.reshape(-1)
    with np.errstate(all="ignore"):
        factor = stored if whole is None else whole * stored
        if table is None and factor.size == 1 and out.dtype == F32:
            # NumPy's own blocks pass once over a new array; tiles of ours take a tenth longer.
            np.multiply(codes.view(np.int8), factor, out=flat, dtype=F32, casting="unsafe")
            return
        for at, piece, scale in _tiles(out, layout, factor):
            tile = flat[at : at + piece.size] if out.dtype == F32 else np.empty(piece.size, F32)
            _look_up(codes[at // each : (at + piece.size) // each], table, tile)
            shaped = tile.reshape(piece.shape)
            np.multiply(shaped, scale, out=shaped)
            if out.dtype != F32:
                flat[at : at + piece.size] = tile


def has_row_tiles(scheme: QuantScheme, shape: tuple[int, ...]) -> bool:
    """Whether a run of rows can be decoded without what comes before it."""
    return packing.is_flat(scheme, shape) and BlockLayout.covering(shape, scheme).divides


def row_step(scheme: QuantScheme, shape: tuple[int, ...], about: int) -> int:
    """A number of rows near `about` that cuts no block."""
    extent = 1 if scheme.per_block is None else BlockLayout.of(shape, scheme).block[0]
    return max(extent, about // extent * extent)


def row_decoder(
    data: NDArray[Any], scheme: QuantScheme, shape: tuple[int, ...]
) -> Callable[[int, NDArray[Any]], None]:
    """What fills an array with the rows from a given one on, which cut no block (`row_step`)."""
    codes, stored, whole = parts(data, scheme, shape)
    table, each = _decoder(scheme)
    with np.errstate(all="ignore"):
        factor = stored if whole is None else whole * stored
    values = math.prod(shape[1:])

    def fill(start: int, out: NDArray[Any]) -> None:
        _look_up(codes[start * values // each : (start + len(out)) * values // each], table, out.reshape(-1))
        if factor.size == 1:
            np.multiply(out, factor.reshape(1), out=out)
            return
        layout = BlockLayout.of(out.shape, scheme)
        first = start // layout.block[0] * math.prod(layout.grid[1:])
        shaped = out.reshape(layout.folded()[0])
        np.multiply(shaped, layout.spread(factor[first : first + layout.num_blocks]), out=shaped)

    return fill


@cache
def _decoder(scheme: QuantScheme) -> tuple[NDArray[Any] | None, int]:
    """The values of a stored byte as one element of a table, and how many; no table for a plain integer."""
    codes, word = packing.word_codes(scheme)
    each = codes // word
    if scheme.value.bits == 8 and not scheme.value.is_float:
        return None, 1
    values = codec(scheme.value).table[packing.unpack_flat(BYTES, scheme)]
    wide = {1: F32, 2: np.complex64, 4: np.complex128}[each]  # as many bytes as the values of one stored byte
    return values.view(wide), each


def _look_up(codes: NDArray[Any], table: NDArray[Any] | None, out: NDArray[Any]) -> None:
    """Fill `out`, f32 and one axis, with the values of stored bytes."""
    if table is None:
        np.copyto(out, codes.view(np.int8))
    else:
        table.take(codes, out=out.view(table.dtype), mode="clip")


def grid(scheme: QuantScheme, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the scales: `[1]`, or one a block (QNT-9)."""
    return (1,) if scheme.per_block is None else BlockLayout.covering(shape, scheme).grid


def byte_length(scheme: QuantScheme, shape: tuple[int, ...]) -> int:
    """How many bytes the serialised form takes: words, scales, and of two levels the scale of the whole.

    >>> byte_length(QuantScheme(per_tensor=ScaleDtype.F32), (3, 5))  # two words a row, and a scale
    28

    Raises:
        TensorError: there is no such layout.

    Clauses: QNT-28, QNT-29, QNT-30.
    """
    length = stored_length(scheme, shape)
    if length is None:
        raise TensorError(
            f"Quantized layout for shape {list(shape)} and dtype QFloat({scheme!r}) is invalid",
            clause="QNT-30",
            hint="a block has no more axes than its tensor and no extent of 0, and a packed axis exists",
        )
    return length


def parts(
    data: NDArray[Any], scheme: QuantScheme, shape: tuple[int, ...]
) -> tuple[NDArray[Any], NDArray[Any], np.float32 | None]:
    """The stored codes, the scales in grid order (f32) and the scale of the whole (QNT-28)."""
    layout = BlockLayout.covering(shape, scheme)
    count = 1 if scheme.per_block is None else layout.num_blocks
    end = data.size
    whole = None
    if scheme.has_two_levels and scheme.per_tensor is not None:
        end -= scheme.per_tensor.nbytes
        whole = scales.from_bytes(data[end:], scheme.per_tensor)[0]
    start = end - count * scheme.scale_dtype.nbytes
    stored = scales.from_bytes(data[start:end], scheme.scale_dtype)
    return data[:start], packing.grid_order(stored, layout.grid, scheme), whole


def as_kept(data: NDArray[Any], scheme: QuantScheme, shape: tuple[int, ...]) -> NDArray[Any]:
    """Serialised bytes as Burn keeps what it reads: zeros in the bits of no code, quiet NaNs for scales.

    Clauses: QNT-28, QNT-29.
    """
    codes, stored, whole = parts(data, scheme, shape)
    if packing.has_padding(scheme, shape):
        clean = packing.pack(packing.unpack(codes, scheme, shape), scheme)
    elif not np.isnan(stored).any():
        return data
    else:
        clean = codes
    end = data.size - (0 if whole is None else whole.nbytes)
    return np.concatenate([clean, scales.quieted(data[codes.size : end], scheme.scale_dtype), data[end:]])


def _encode_flat(
    values: NDArray[Any],
    scheme: QuantScheme,
    layout: BlockLayout,
    divisor: NDArray[Any],
    tail: list[NDArray[Any]],
) -> NDArray[Any]:
    codes, word = packing.word_codes(scheme)
    ratio = codes // word
    size = values.size // ratio
    whole = np.empty(size + sum(part.size for part in tail), np.uint8)
    plain = whole[:size] if not scheme.store.is_packed else None
    for at, found in _encoded(values, scheme, layout, divisor, plain):
        if plain is None:
            packed = packing.pack_flat(found, scheme)
            whole[at // ratio : at // ratio + packed.size] = packed
    for part in tail:
        whole[size : size + part.size] = part
        size += part.size
    return whole


def _encoded(
    values: NDArray[Any],
    scheme: QuantScheme,
    layout: BlockLayout,
    divisor: NDArray[Any],
    out: NDArray[Any] | None = None,
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Runs of codes, in `out` if it is given, and where each starts: divide, clamp, round (QNT-18)."""
    low, high = map(np.float32, scheme.value.range)
    code, scratch = codec(scheme.value), Scratch(0)
    with np.errstate(all="ignore"):
        for at, piece, scale in _tiles(values, layout, divisor):
            if piece.size > scratch.values.size:
                scratch = Scratch(piece.size)
            flat = scratch.values[: piece.size]
            np.divide(piece, scale, out=flat.reshape(piece.shape))
            np.clip(flat, low, high, out=flat)
            codes = scratch.codes[: piece.size] if out is None else out[at : at + piece.size]
            code.encode(flat, scratch, codes)
            yield at, codes


def _tiles(
    values: NDArray[Any], layout: BlockLayout, scale: NDArray[Any]
) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Runs of values in row-major order: where each starts, the run as f32, and the scales that meet it."""
    if scale.size == 1:
        flat = values.reshape(-1)
        for at in range(0, flat.size, TILE):
            yield at, np.asarray(flat[at : at + TILE], F32), scale.reshape(1)
        return
    folded, _ = layout.folded()
    view, spread = values.reshape(folded), layout.spread(scale)
    each = math.prod(folded[1:])
    rows = max(1, TILE // each)
    for row in range(0, folded[0], rows):
        yield row * each, np.asarray(view[row : row + rows], F32), spread[row : row + rows]


def check_scales(scheme: QuantScheme, shape: tuple[int, ...]) -> None:
    """Refuse stored scales that Burn does not take: none at all, or one of the whole tensor that is no f32.

    Raises:
        TensorError: as above.

    Clauses: QNT-25, QNT-31.
    """
    if 0 in grid(scheme, shape):
        raise no_scale()
    _check_levels(scheme)


def no_scale() -> TensorError:
    """An empty tensor in blocks has none."""
    return TensorError("quantized tensor must have at least one scale factor", clause="QNT-25")


def _check_levels(scheme: QuantScheme) -> None:
    if scheme.has_two_levels and scheme.per_tensor is not ScaleDtype.F32:
        raise TensorError(
            f"a two-level scheme stores its per-tensor scale as f32, got {scheme!r}",
            clause="QNT-31",
            hint="per_tensor=ScaleDtype.F32",
        )


def _whole(scheme: QuantScheme, q_params: QParams) -> np.float32 | None:
    """The scale of the whole tensor, checked against the scheme (QNT-24, QNT-31)."""
    given = q_params.global_scale
    if (given is not None) is not scheme.has_two_levels:
        raise TensorError(
            f"{scheme!r} does not match a per-tensor scale of {None if given is None else list(given.shape)}",
            clause="QNT-24",
            hint="take the parameters from compute_q_params of the same scheme",
        )
    if given is None:
        return None
    if given.size != 1:
        raise TensorError(
            f"the per-tensor scale must have exactly one element, got {list(given.shape)}", clause="QNT-24"
        )
    if repr(given.dtype) != "F32":
        raise TensorError(f"the per-tensor scale must be an f32 tensor, got {given.dtype}", clause="QNT-24")
    _check_levels(scheme)
    return np.float32(scales.validated(given.to_numpy().reshape(-1), ScaleDtype.F32)[0])
