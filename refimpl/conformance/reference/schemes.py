"""SCHEME, and what is told of schemes, value kinds, blocks and scale dtypes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import RefimplError
from ...tensor import quantizing, scales
from ...tensor.blocks import BlockLayout, aligned
from ...tensor.scheme import BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from .args import Args, items, number, wholes
from .dtypes import read_scheme
from .faults import StepError


def scheme(spec: Any) -> QuantScheme:
    """The default scheme or a preset, then each part that is named."""
    if not isinstance(spec, dict):
        raise StepError(f"{spec!r} is no scheme")
    if "serde" in spec:
        return _from_serde(spec["serde"])
    base = QuantScheme.nvfp4() if spec.get("preset") == "nvfp4" else QuantScheme()
    named = {key: spec[key] for key in _PARTS if spec.get(key) is not None}
    try:
        return replace(base, **{_PARTS[key][0]: _PARTS[key][1](form) for key, form in named.items()})
    except (KeyError, ValueError) as error:
        if isinstance(error, RefimplError):
            raise
        raise StepError(f"{spec!r} is no scheme: {error}") from None


def _store(form: Any) -> QuantStore:
    if form == "Native":
        return QuantStore.NATIVE
    ((kind, axis),) = form.items()
    return (QuantStore.packed_u32 if kind == "PackedU32" else QuantStore.packed_native)(axis)


#: Each part of SCHEME: the field it sets, and how it is read.
_PARTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "value": ("value", QuantValue),
    "store": ("store", _store),
    "mode": ("mode", QuantMode),
    "block": ("per_block", lambda form: (BlockSize(form["size"]), ScaleDtype(form["dtype"]))),
    "tensor": ("per_tensor", ScaleDtype),
}


def _from_serde(form: Any) -> QuantScheme:
    try:
        return read_scheme(json.loads(form) if isinstance(form, str) else form)
    except (KeyError, TypeError, ValueError, RefimplError) as error:
        raise StepError(str(error), "Serde") from None


def scheme_json(made: QuantScheme) -> dict[str, Any]:
    """What can be told of a scheme."""
    bits = made.value.bits
    stored = {"Native": bits, "PackedU32": 32}.get(made.store.kind, bits * made.value.native_packing)
    whole = made.per_tensor if made.has_two_levels else None
    return {
        "debug": repr(made),
        "serde": _serde(made),
        "scale_dtype": made.scale_dtype.value,
        "tensor_scale": None if made.tensor_scale is None else made.tensor_scale.value,
        "global_scale_dtype": None if whole is None else whole.value,
        "num_levels": 2 if made.has_two_levels else 1,
        "num_quants": stored // bits,
        "quantizable": made.is_quantizable,
        "supported": made.is_supported,
    }


def _serde(made: QuantScheme) -> dict[str, Any]:
    block = None
    if made.per_block is not None:
        dims = list(made.per_block[0].dims)
        storage = dims + [1] * (5 - len(dims))
        block = {"size": {"storage": storage, "len": len(dims)}, "dtype": made.per_block[1].value}
    store: Any = made.store.kind
    return {
        "value": made.value.value,
        "store": {store: made.store.axis} if made.store.is_packed else store,
        "mode": made.mode.value,
        "tensor": None if made.per_tensor is None else made.per_tensor.value,
        "block": block,
    }


def value_json(name: str) -> dict[str, Any]:
    """What can be told of a value kind."""
    value = QuantValue(name)
    return {
        "bits": value.bits,
        "range": list(value.range),
        "is_symmetric": value.is_symmetric,
        "is_float": value.is_float,
        "native_packing": value.native_packing,
    }


def bits(values: Any) -> list[str]:
    """Each f32 as the hex of its little-endian bytes."""
    flat = np.asarray(values, "<f4").reshape(-1)
    return [flat[i : i + 1].tobytes().hex() for i in range(flat.size)]


def singles(args: Args, key: str) -> Any:
    """Numbers, or eight hex digits of the little-endian bytes of an f32."""
    read = [np.float32(number(one)) if not _is_hex(one) else _single(one) for one in items(args, key)]
    return np.array(read, np.float32)


def _is_hex(one: Any) -> bool:
    return isinstance(one, str) and len(one) == 8


def _single(one: str) -> Any:
    return np.frombuffer(bytes.fromhex(one), "<f4")[0]


def scale_json(args: Args) -> dict[str, Any]:
    """What can be told of a scale dtype, and scales rounded up to it."""
    dtype = ScaleDtype(args["dtype"])
    return {
        "bytes": dtype.nbytes,
        "max": bits(scales.max_representable(dtype))[0],
        "round_up": bits(scales.round_up(singles(args, "scales"), dtype)),
    }


def block_json(args: Args) -> dict[str, Any]:
    """A block of values, and how it stands on a shape."""
    size, shape = BlockSize(args["dims"]), tuple(wholes(args, "shape"))
    block = aligned(size, len(shape))
    return {
        "debug": repr(size),
        "aligned": list(block),
        "grid": list(BlockLayout(shape, block).grid),
        "equal": size == BlockSize(args["equals"]) if args.get("equals") is not None else None,
    }


def layout_json(args: Args) -> dict[str, Any]:
    """The length of serialised data, and the shape of the scales."""
    made, shape = scheme(args["scheme"]), tuple(wholes(args, "shape"))
    grid: tuple[int, ...] = (1,)
    if made.per_block is not None:
        grid = BlockLayout(shape, aligned(made.per_block[0], len(shape))).grid
    return {"len": quantizing.byte_length(made, shape), "scales": list(grid)}
