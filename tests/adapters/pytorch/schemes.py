"""Schemes of quantisation: what a request asks for, and how results name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .data import Step
from .outcome import LackingError

#: By value: the bits of a code, the least and the greatest number.
VALUES: dict[str, tuple[int, float, float]] = {
    "Q8F": (8, -128, 127),
    "Q8S": (8, -127, 127),
    "Q4F": (4, -8, 7),
    "Q4S": (4, -7, 7),
    "Q2F": (2, -2, 1),
    "Q2S": (2, -1, 1),
    "E4M3": (8, -448, 448),
    "E5M2": (8, -57344, 57344),
    "E2M1": (4, -6, 6),
}


@dataclass(frozen=True)
class Scheme:
    value: str
    #: `Native`, `PackedU32` or `PackedNative`, and the axis along which codes are packed, from the innermost.
    store: tuple[str, int]
    mode: str
    #: The dtype of the scale of the whole tensor.
    tensor: str | None
    #: The extents of a block, without leading ones, and the dtype of its scale.
    block: tuple[tuple[int, ...], str] | None

    @property
    def scale_dtype(self) -> str:
        return self.block[1] if self.block is not None else self.tensor or "F32"

    @property
    def two_level(self) -> bool:
        return self.block is not None and self.tensor is not None

    def __str__(self) -> str:
        name, axis = self.store
        store = name if name == "Native" else f"{name}({axis})"
        tensor = "None" if self.tensor is None else f"Some({self.tensor})"
        block = "None"
        if self.block is not None:
            size = ", ".join(map(str, self.block[0]))
            block = f"Some(BlockScale {{ size: BlockSize([{size}]), dtype: {self.block[1]} }})"
        parts = f"value: {self.value}, store: {store}, mode: {self.mode}, tensor: {tensor}, block: {block}"
        return f"QuantScheme {{ {parts} }}"


def scheme_of(spec: Any) -> Scheme:
    """SCHEME of a request."""
    if not isinstance(spec, dict) or "serde" in spec:
        raise LackingError("a scheme in the form of another library")
    if spec.get("preset") not in (None, "nvfp4"):
        raise LackingError(f"preset {spec['preset']}")
    made: Step = {
        "value": "Q8F",
        "store": {"PackedU32": 0},
        "mode": "Symmetric",
        "tensor": None,
        "block": None,
    }
    if "preset" in spec:
        block = {"size": [16], "dtype": "UE4M3"}
        made |= {"value": "E2M1", "store": {"PackedNative": 0}, "tensor": "F32", "block": block}
    made |= spec
    store = made["store"]
    ((name, axis),) = [("Native", 0)] if store == "Native" else store.items()
    if made["mode"] != "Symmetric" or made["value"] not in VALUES:
        raise LackingError(f"quantisation by {made['mode']} of {made['value']}")
    if made["block"] is not None and made["tensor"] not in (None, "F32"):
        raise LackingError(f"two levels, the upper one of {made['tensor']}")
    block = made["block"]
    if block is not None:
        size = list(block["size"])
        while size and size[0] == 1:
            del size[0]
        block = (tuple(size), block["dtype"])
    return Scheme(made["value"], (name, axis), made["mode"], made["tensor"], block)


def extents(scheme: Scheme, rank: int) -> list[int] | None:
    """How far a block reaches along each axis; None without blocks."""
    if scheme.block is None:
        return None
    size = scheme.block[0]
    return list(size[:rank]) if len(size) > rank else [1] * (rank - len(size)) + list(size)
