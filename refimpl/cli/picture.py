"""A tensor as a picture: histograms of its values, its codes and its errors, as SVG."""

from __future__ import annotations

from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..tensor.fidelity import errors
from ..tensor.quantized import QuantizedTensor
from ..tensor.tensor import BoolTensor, IntTensor, Tensor

WIDTH: Final = 640
HEIGHT: Final = 180
MARGIN: Final = 48
BINS: Final = 64
#: Values beyond the first are counted times the second: the distance of two of them may be no float.
_LARGE: Final = 1e300
_SHRINK: Final = 2.0**-60


def picture(title: str, tensor: Tensor | IntTensor | BoolTensor, original: Tensor | None = None) -> str:
    """The histograms of `tensor` one below the other; with `original`, that of the errors too."""
    quantized = tensor if isinstance(tensor, QuantizedTensor) else None
    dense = tensor.dequantize() if isinstance(tensor, Tensor) else tensor
    panels = [("values", dense.to_numpy())]
    if quantized is not None:
        scheme = quantized.scheme
        title += f"  {scheme.value.value} {scheme.store!r}"
        panels.append(("codes", _code_numbers(quantized)))
    if original is not None and isinstance(tensor, Tensor):
        panels.append(("errors", errors(original, tensor)))
    height = MARGIN + len(panels) * (HEIGHT + MARGIN)
    body = [
        _panel(name, values, MARGIN + row * (HEIGHT + MARGIN)) for row, (name, values) in enumerate(panels)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>text{font:13px sans-serif;fill:#222}rect.bar{fill:#4a7ab5}line{stroke:#999}</style>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            f'<text x="{MARGIN}" y="24" font-weight="bold">{escape(title)}</text>',
            *body,
            "</svg>\n",
        ]
    )


def _code_numbers(tensor: QuantizedTensor) -> NDArray[Any]:
    """Codes as numbers; those of small floats as what they stand for before scaling."""
    from ..tensor.codes import codec

    table = codec(tensor.scheme.value).table
    numbers: NDArray[Any] = table[tensor.codes().view(np.uint8)]
    return numbers


def _counted(values: NDArray[Any], low: float, high: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many values are in each bin from `low` to `high`, and the edges of the bins.

    Where floats are too far apart to tell the bins from each other, the bins reach further than the values;
    where the distance itself is no float, all of it is made smaller while it is counted.
    """
    large = max(-low, high)
    shrink = _SHRINK if large > _LARGE else 1.0
    low, high, least = low * shrink, high * shrink, 2 * BINS * float(np.spacing(large * shrink))
    if high - low < least:
        middle, reach = (low + high) / 2, max(0.5, least)
        low, high = middle - reach, middle + reach
    counts, edges = np.histogram(values * shrink, bins=BINS, range=(low, high))
    with np.errstate(over="ignore"):
        return counts, edges / shrink


def _panel(name: str, values: NDArray[Any], top: int) -> str:
    flat = values.astype(np.float64).reshape(-1)
    finite = flat[np.isfinite(flat)]
    base = top + HEIGHT
    caption = f"{name}: {flat.size}"
    if finite.size < flat.size:
        caption += f", of them {flat.size - finite.size} not finite"
    if not finite.size:
        return f'<text x="{MARGIN}" y="{top + 14}">{caption}</text>'
    low, high = float(finite.min()), float(finite.max())
    caption += f", from {low:.6g} to {high:.6g}"
    counts, edges = _counted(finite, low, high)
    wide = (WIDTH - 2 * MARGIN) / BINS
    tallest = int(counts.max())
    bars = [
        f'<rect class="bar" x="{MARGIN + i * wide:.2f}" y="{base - h:.2f}" '
        f'width="{wide - 0.5:.2f}" height="{h:.2f}">'
        f"<title>{count} from {edges[i]:.6g} to {edges[i + 1]:.6g}</title></rect>"
        for i, count in enumerate(counts)
        if (h := (HEIGHT - 28) * count / tallest)
    ]
    axis = f'<line x1="{MARGIN}" y1="{base}" x2="{WIDTH - MARGIN}" y2="{base}"/>'
    ends = (
        f'<text x="{MARGIN}" y="{base + 16}">{edges[0]:.6g}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{base + 16}" text-anchor="end">{edges[-1]:.6g}</text>'
    )
    return "\n".join([f'<text x="{MARGIN}" y="{top + 14}">{caption}</text>', *bars, axis, ends])
