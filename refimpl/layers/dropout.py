"""Elements set to zero at random while training."""

from __future__ import annotations

import math
from typing import Self

from ..errors import PanicError
from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..param.flag import Flag
from ..param.param import Param
from ..tensor.random import Distribution
from ..tensor.tensor import Tensor


class Dropout(Module):
    """Zero with probability `prob`, else scaled by 1 / (1 - prob): while training, and the input otherwise.

    It trains where the input is on an autodiff device and the flag `training` is on; `freeze` turns it off.

    Burn: burn_nn::Dropout
    Clauses: FLG-2.
    """

    prob: float
    training: Param[Flag]

    @classmethod
    def init(cls, prob: float) -> Self:
        """A layer whose flag is on.

        Raises:
            PanicError: `prob` is not in [0, 1).

        Burn: burn_nn::DropoutConfig::init
        """
        if not (math.isfinite(prob) and 0.0 <= prob < 1.0):
            raise PanicError(
                f"Dropout probability must be finite and in the range [0, 1), but got {prob:g}",
                hint="0.1 sets a tenth of the elements to zero",
            )
        return cls(prob=prob, training=Param.from_bool(True))

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements, or nothing outside training.

        Shapes:
            input and result [...].
        """
        if not self.training.is_enabled() or not input.is_autodiff or self.prob == 0.0:
            return input
        keep = 1.0 - self.prob
        return input * input.random_like(Distribution.bernoulli(keep)) * (1.0 / keep)

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The probability, and the flag where it is off."""
        content = content.add("prob", self.prob)
        return content if self.training.is_enabled() else content.add("training", self.training)
