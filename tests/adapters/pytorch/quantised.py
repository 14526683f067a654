"""Quantised values by their formula, in PyTorch's arithmetic and its dtypes of 8 bits.

PyTorch's own quantised tensors are deprecated, and know neither blocks nor floating-point codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .build import records_nothing
from .data import Step, data, hex_of, told, written_as
from .layout import layout, parsed
from .outcome import LackingError
from .scales import blocks, range_of, scales_of, singles, told_of, usable
from .schemes import VALUES, Scheme, extents, scheme_of
from .tensors import shown
from .trace import Answer, Trace

#: The numbers of E2M1 by their code, and the middle of each two.
FOURS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
MIDDLES = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
BYTES = {"E4M3": torch.float8_e4m3fn, "E5M2": torch.float8_e5m2}


@dataclass(frozen=True)
class Quantised:
    scheme: Scheme
    #: One byte a value.
    codes: torch.Tensor
    #: As they are divided by, in the shape of the grid.
    scales: torch.Tensor
    whole: torch.Tensor | None
    #: Whether it was made of an inference tensor.
    plain: bool

    def effective(self) -> torch.Tensor:
        """The scale of each value."""
        scales = self.scales if self.whole is None else self.scales * self.whole
        sizes = extents(self.scheme, self.codes.dim())
        if sizes is None:
            return scales.reshape(-1)[0]
        for axis, size in enumerate(sizes):
            # The edge of the tensor may cut off a block.
            scales = scales.repeat_interleave(size, dim=axis).narrow(axis, 0, self.codes.shape[axis])
        return scales

    def dequantised(self) -> torch.Tensor:
        with torch.inference_mode(self.plain):
            return self.effective() * decoded(self.scheme, self.codes)

    def shown(self) -> Step:
        text = layout(self.scheme, self.codes, self.scales, self.whole)
        value = written_as(f"QFloat({self.scheme})", self.codes.shape, text)
        grad = "plain" if self.plain else "untracked"
        device = "d0" if self.plain else "d0+autodiff"
        return {"kind": "float", "rank": self.codes.dim(), "device": device, "grad": grad, "value": value}


def encoded(scheme: Scheme, values: torch.Tensor) -> torch.Tensor:
    """The code of each value that has been divided by its scale."""
    _, least, most = VALUES[scheme.value]
    held = values.clamp(least, most)
    if scheme.value in BYTES:
        return held.to(BYTES[scheme.value]).view(torch.int8)
    if scheme.value == "E2M1":
        size = held.abs().nan_to_num(nan=6)
        low = torch.bucketize(size, MIDDLES)
        # Half way between two the even code is taken.
        half = (low < 7) & (size == MIDDLES[low.clamp(max=6)]) & (low % 2 == 1)
        sign = held.signbit() & ~held.isnan()
        return (low + half.int() + 8 * sign.int()).to(torch.int8)
    return held.round().nan_to_num(nan=0).to(torch.int8)


def decoded(scheme: Scheme, codes: torch.Tensor) -> torch.Tensor:
    """The number of each code, as f32."""
    if scheme.value in BYTES:
        return codes.view(BYTES[scheme.value]).float()
    if scheme.value == "E2M1":
        size = FOURS[(codes & 7).long()]
        return torch.where((codes & 8) != 0, -size, size)
    return codes.float()


def quantised(
    scheme: Scheme, tensor: torch.Tensor, scales: torch.Tensor, whole: torch.Tensor | None
) -> Quantised:
    sizes = extents(scheme, tensor.dim())
    grid = blocks(tensor, sizes)[2]
    if scales.numel() != torch.Size(grid).numel() or not scales.numel():
        raise LackingError("other scales than one a block")
    kept = usable(scales.reshape(grid), scheme.scale_dtype)
    whole = None if whole is None else usable(whole, "F32")
    empty = Quantised(scheme, tensor, kept, whole, tensor.is_inference())
    codes = encoded(scheme, tensor.detach().float() / empty.effective())
    return Quantised(scheme, codes, kept, whole, tensor.is_inference())


def calibrated(scheme: Scheme, tensor: torch.Tensor, calibration: str = "MinMax") -> Quantised:
    return quantised(scheme, tensor, *scales_of(scheme, *range_of(scheme, tensor, calibration)))


def source(trace: Trace, step: Step) -> torch.Tensor:
    """The float tensor that a step works on."""
    held = trace.get(step, "on", (torch.Tensor, Quantised))
    if isinstance(held, Quantised):
        raise LackingError("a range of what is quantised")
    return held.detach()  # type: ignore[no-any-return]


def given(trace: Trace, spec: Any) -> torch.Tensor:
    """A float tensor that a step names or writes."""
    return (
        trace.get({"on": spec}, "on", torch.Tensor).detach()
        if isinstance(spec, str)
        else data(spec, "float", 0)
    )


def ranged(trace: Trace, step: Step) -> Step:
    tensor = source(trace, step)
    low, high = range_of(scheme_of(step["scheme"]), tensor, step.get("calibration", "MinMax"))
    return {"min": told(low), "max": told(high)}


def parameters(trace: Trace, step: Step) -> Step:
    scheme = scheme_of(step["scheme"])
    if "min" in step:
        low, high = given(trace, step["min"]), given(trace, step["max"])
    else:
        low, high = range_of(scheme, source(trace, step), step.get("calibration", "MinMax"))
    scales, whole = scales_of(scheme, low, high)
    return {"scales": told(scales), "global": None if whole is None else told(whole)}


def quantise(trace: Trace, step: Step) -> Step:
    scheme, tensor = scheme_of(step["scheme"]), source(trace, step)
    with torch.inference_mode(tensor.is_inference()):
        if "scales" in step:
            whole = given(trace, step["global"]) if step.get("global") is not None else None
            if (whole is not None) is not scheme.two_level:
                raise LackingError("a scale of the whole without two levels, or the other way round")
            if whole is not None and (whole.numel() != 1 or whole.dtype != torch.float32):
                raise LackingError("a scale of the whole that is not one f32")
            made = quantised(scheme, tensor, given(trace, step["scales"]), whole)
        else:
            made = calibrated(scheme, tensor, step.get("calibration", "MinMax"))
    return kept(trace, step, made)


def dynamic(trace: Trace, step: Step) -> Step:
    held = trace.get(step, "on", (torch.Tensor, Quantised))
    tensor = held.dequantised() if isinstance(held, Quantised) else held.detach()
    with torch.inference_mode(tensor.is_inference()):
        return kept(trace, step, calibrated(scheme_of(step["scheme"]), tensor))


def dequantise(trace: Trace, step: Step) -> Step:
    held = trace.get(step, "on", (torch.Tensor, Quantised))
    tensor = held.dequantised() if isinstance(held, Quantised) else held
    if "as" in step:
        trace.store(step, tensor)
    return shown(tensor)


def kept(trace: Trace, step: Step, made: Quantised) -> Step:
    result = made.shown()
    if "as" in step:
        trace.store(step, made)
    return result


def read(trace: Trace, step: Step) -> Step:
    scheme = scheme_of(step["scheme"])
    codes, scales, whole = parsed(scheme, bytes.fromhex(step["hex"]), step["shape"])
    return kept(
        trace, step, Quantised(scheme, codes, scales, whole, records_nothing(step.get("device", "d0")))
    )


def parts(trace: Trace, step: Step) -> Step:
    held: Quantised = trace.get(step, "on", Quantised)
    return {
        "codes": hex_of(held.codes),
        "grid": list(held.scales.shape),
        "scales": singles(held.scales),
        "global": None if held.whole is None else singles(held.whole)[0],
    }


QUANTISED: dict[str, Answer] = {
    "quant.scale": lambda _, step: told_of(step),
    "quant.range": ranged,
    "quant.params": parameters,
    "quant.quantize": quantise,
    "quant.dynamic": dynamic,
    "quant.dequantize": dequantise,
    "quant.from_bytes": read,
    "quant.parts": parts,
}
