"""Activations: the functions between the layers of a network."""

from __future__ import annotations

import math
from typing import Any, Final, Self

from .arguments import as_dim
from .dtype import DType
from .float_arithmetic import FloatArithmetic

_F32: Final = DType.F32
_SQRT_2: Final = math.sqrt(2.0)
_SQRT_2_OVER_PI: Final = math.sqrt(2.0 / math.pi)


class Activations(FloatArithmetic):
    """A tensor of floats that the activations can be applied to; F16 and BF16 go through F32."""

    __slots__ = ()

    def relu(self) -> Self:
        """The element where it is above zero, else zero; NaN stays."""
        xp = self._space.xp
        return self._with(self._run(lambda x: xp.where((x > 0) | (x != x), x, xp.zeros_like(x)), self._array))

    def gelu(self) -> Self:
        """x/2 (1 + erf(x / sqrt 2)).

        Burn: burn_tensor::activation::gelu
        """
        return self._map(lambda x: 0.5 * x * (1.0 + self._erf(x / _SQRT_2)))

    def sigmoid(self) -> Self:
        """1 / (1 + exp -x), computed so that nothing overflows."""
        xp = self._space.xp

        def logistic(x: Any) -> Any:
            e = xp.exp(-xp.abs(x))
            return xp.where(x >= 0, 1.0 / (1.0 + e), e / (1.0 + e))

        return self._map(logistic)

    def softmax(self, dim: int) -> Self:
        """Exp x divided by its sum along axis `dim`, the greatest element taken off first.

        Burn: burn_tensor::activation::softmax
        """
        axis, xp = as_dim(dim, self.rank, "Softmax"), self._space.xp
        reduce, dtype = self._space.reduce, _F32 if self.dtype.itemsize == 2 else self.dtype
        if self.shape[axis] == 0:
            return self._with(self._array)

        def normalised(x: Any) -> Any:
            e = xp.exp(x - reduce("max", x, axis, dtype))
            return e / reduce("sum", e, axis, dtype)

        return self._map(normalised)

    def log_softmax(self, dim: int) -> Self:
        """The logarithm of `softmax`: x less the greatest, less the logarithm of the sum of exponentials.

        Burn: burn_tensor::activation::log_softmax
        """
        axis = as_dim(dim, self.rank, "Log Softmax")
        if self.shape[axis] == 0:
            return self._with(self._array)
        shifted = self - self.max_dim(axis)
        return shifted - shifted.exp().sum_dim(axis).log()

    def gelu_approximate(self) -> Self:
        """`gelu` through tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).

        Burn: burn_tensor::activation::gelu_approximate
        """
        within = (self + self**3.0 * 0.044715) * _SQRT_2_OVER_PI
        return self * (within.tanh() + 1.0) * 0.5

    def quiet_softmax(self, dim: int) -> Self:
        """The exponential divided by one more than the sum of exponentials along axis `dim`.

        So all elements may be nearly zero.

        Burn: burn_tensor::activation::quiet_softmax
        """
        axis = as_dim(dim, self.rank, "Quiet Softmax")
        greatest = self.max_dim(axis)
        greatest = greatest.mask_fill(greatest.equal(-math.inf), 0.0)
        exponentials = (self - greatest).exp()
        return exponentials / (exponentials.sum_dim(axis) + (-greatest).exp())
