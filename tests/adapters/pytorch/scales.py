"""Scales: from the values of a tensor, and rounded up to the dtype that they are kept in."""

from __future__ import annotations

from typing import Any

import torch

from .data import Step
from .outcome import LackingError
from .schemes import VALUES, Scheme, extents

#: The dtypes of scales that PyTorch has, and a whole number as wide.
KEPT_AS: dict[str, tuple[torch.dtype, torch.dtype]] = {
    "F32": (torch.float32, torch.int32),
    "F16": (torch.float16, torch.int16),
    "BF16": (torch.bfloat16, torch.int16),
    "UE4M3": (torch.float8_e4m3fn, torch.uint8),
    "UE8M0": (torch.float8_e8m0fnu, torch.uint8),
}
#: In the place of a scale that is zero or no number.
LEAST = 2.0**-126


def kept_as(name: str) -> tuple[torch.dtype, torch.dtype]:
    if name not in KEPT_AS:
        raise LackingError(f"scales of {name}")
    return KEPT_AS[name]


def greatest(name: str) -> float:
    return float(torch.finfo(kept_as(name)[0]).max)


def blocks(tensor: torch.Tensor, sizes: list[int] | None) -> tuple[torch.Tensor, list[int], list[int]]:
    """The tensor with each axis split in two; the axes to reduce, and the shape of the grid."""
    if sizes is None:
        return tensor, list(range(tensor.dim())), [1]
    if any(size == 0 or dim % size for dim, size in zip(tensor.shape, sizes, strict=True)):
        raise LackingError("a block that does not divide the tensor")
    grid = [dim // size for dim, size in zip(tensor.shape, sizes, strict=True)]
    split = [part for pair in zip(grid, sizes, strict=True) for part in pair]
    return tensor.reshape(split), [2 * axis + 1 for axis in range(tensor.dim())], grid


def range_of(scheme: Scheme, tensor: torch.Tensor, calibration: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The least and the greatest value of the tensor, or of each block."""
    split, axes, grid = blocks(tensor, extents(scheme, tensor.dim()))
    if not tensor.numel():
        raise LackingError("the range of an empty tensor")
    if calibration == "AbsMean":
        if scheme.two_level:
            raise LackingError("a mean in two levels")
        mean = (split.abs().mean(dim=axes) if axes else split.abs()).reshape(grid)
        return -mean, mean
    low = split.amin(dim=axes) if axes else split
    high = split.amax(dim=axes) if axes else split
    return low.reshape(grid), high.reshape(grid)


def scales_of(
    scheme: Scheme, low: torch.Tensor, high: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The scale of each range, and in two levels that of the whole."""
    _, least, most = VALUES[scheme.value]
    peak = torch.where(low.abs() < high.abs(), high.abs(), low.abs())
    scales = (peak * 2) / torch.tensor(most - least, dtype=peak.dtype)
    if not scheme.two_level:
        return scales, None
    if greatest(scheme.scale_dtype) > greatest("F16"):
        raise LackingError(f"two levels of {scheme.scale_dtype}")
    single = scales.float()
    whole = (single.max() / greatest(scheme.scale_dtype)).clamp(min=LEAST).reshape(1)
    return (single / whole).to(peak.dtype), whole


def raised(scales: torch.Tensor, name: str) -> torch.Tensor:
    """Each scale as the least number of the dtype that is no smaller, back in f32."""
    dtype, bits = kept_as(name)
    single = scales.float()
    if name == "F32":
        return single
    if name == "UE8M0":
        part, exponent = torch.frexp(single)
        power = torch.ldexp(torch.ones_like(single), exponent - (part == 0.5).int()).clamp(
            2.0**-127, 2.0**127
        )
        power = torch.where(single == torch.inf, 2.0**127, power)
        return torch.where(single <= 0, 2.0**-127, torch.where(single.isnan(), single, power))
    near = single.clamp(max=greatest(name)).to(dtype)
    above = (near.view(bits) + torch.where(near.float() < 0, -1, 1).to(bits)).view(dtype).float()
    up = torch.where(near.float() < single, above, near.float())
    return torch.where(single >= greatest(name), greatest(name), torch.where(single.isnan(), single, up))


def usable(scales: torch.Tensor, name: str) -> torch.Tensor:
    """The scales as codes are divided by them: what is zero or no number is replaced."""
    up = raised(scales, name)
    instead = raised(torch.tensor(LEAST), name)
    return torch.where((up > 0) & up.isfinite(), up, instead)


def told_of(step: Step) -> Step:
    """`quant.scale`."""
    name = step["dtype"]
    scales = torch.stack([single(one) for one in step["scales"]])
    return {
        "bytes": kept_as(name)[0].itemsize,
        "max": singles(torch.tensor([greatest(name)]))[0],
        "round_up": singles(raised(scales, name)),
    }


def single(written: Any) -> torch.Tensor:
    """A single float of a request: its bytes in hexadecimal digits, or a number."""
    if isinstance(written, str) and len(written) == 8:
        return torch.frombuffer(bytearray.fromhex(written), dtype=torch.float32)[0].clone()
    return torch.tensor(float(written), dtype=torch.float32)


def singles(scales: torch.Tensor) -> list[str]:
    """Single floats of a result: the bytes of each f32."""
    words = scales.float().reshape(-1).contiguous().view(torch.uint8).reshape(-1, 4).tolist()
    return [bytes(word).hex() for word in words]
