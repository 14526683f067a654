"""The three kinds of tensor under their public names."""

from __future__ import annotations

from .bool_tensor import BoolTensor
from .core import AnyTensor
from .float_tensor import Tensor
from .gradient import GradState
from .int_tensor import IntTensor
from .quantized import QuantizedTensor

__all__ = ["AnyTensor", "BoolTensor", "GradState", "IntTensor", "QuantizedTensor", "Tensor"]
