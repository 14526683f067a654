"""Activations as modules: without parameters, on any device."""

from __future__ import annotations

from typing import Self

from ..module.module import Module
from ..tensor.tensor import Tensor


class Gelu(Module):
    """x/2 (1 + erf(x / sqrt 2)), or its approximation through tanh.

    >>> print(Gelu.new())
    Gelu {
      approximate: false
    }

    Burn: burn_nn::activation::Gelu
    """

    approximate: bool

    @classmethod
    def new(cls) -> Self:
        """The exact one."""
        return cls(approximate=False)

    @classmethod
    def new_approximate(cls) -> Self:
        """The approximation."""
        return cls(approximate=True)

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return input.gelu_approximate() if self.approximate else input.gelu()


class Relu(Module):
    """The element where it is above zero, else zero.

    Burn: burn_nn::activation::Relu
    """

    @classmethod
    def new(cls) -> Self:
        """The one there is."""
        return cls()

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return input.relu()
