"""How near a quantised tensor is to the values it was made from, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TensorError
from .quantized import QuantizedTensor
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The errors of the values, in their own unit, and the bits that one value takes, scales included."""

    max_error: float
    mean_error: float
    bits_per_value: float

    def __str__(self) -> str:
        return (
            f"max error {self.max_error:.6g}, mean error {self.mean_error:.6g}, "
            f"{self.bits_per_value:.4g} bits a value"
        )


def errors(original: Tensor, quantized: Tensor) -> NDArray[Any]:
    """What each value of `quantized` is above the one of `original`, in f64.

    Raises:
        TensorError: the shapes differ.
    """
    if original.shape != quantized.shape:
        raise TensorError(
            f"a tensor of shape {list(quantized.shape)} was not made of one of {list(original.shape)}",
            hint="compare a tensor with the one it was quantised from",
        )
    wide = [t.dequantize().to_numpy().astype(np.float64) for t in (quantized, original)]
    with np.errstate(invalid="ignore"):
        difference: NDArray[Any] = wide[0] - wide[1]
    return difference


def fidelity(original: Tensor, quantized: Tensor) -> Fidelity:
    """The greatest and the mean absolute error of `quantized`, and its size.

    >>> scheme = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE)
    >>> weights = Tensor.from_data([127.0, 0.4, -1.0], Device("cpu"))
    >>> print(fidelity(weights, weights.quantize_dynamic(scheme)))
    max error 0.4, mean error 0.133333, 18.67 bits a value

    Raises:
        TensorError: the shapes differ.

    Clauses: QNT-21, QNT-28.
    """
    distance = np.abs(errors(original, quantized))
    stored = quantized.to_data().nbytes if isinstance(quantized, QuantizedTensor) else 0
    nbytes = stored or quantized.size * quantized.dtype.itemsize
    if not distance.size:
        return Fidelity(0.0, 0.0, 0.0)
    return Fidelity(float(distance.max()), float(distance.mean()), 8 * nbytes / distance.size)
