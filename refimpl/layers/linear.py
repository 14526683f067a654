"""The affine map of the last axis."""

from __future__ import annotations

from enum import Enum
from typing import Self

from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..param.param import Param
from ..tensor.device import Device
from ..tensor.module_functions import linear
from ..tensor.tensor import Tensor
from .initializer import LINEAR_DEFAULT, Initializer, init_param


class LinearLayout(Enum):
    """How the weight is stored in memory and in files: as it is used, or transposed in files.

    Burn: burn_nn::LinearLayout
    """

    ROW = "Row"
    COL = "Col"


class Linear(Module):
    """`input @ weight + bias`, with a weight of [d_input, d_output] and a bias of [d_output] or none.

    >>> print(Linear.init(4, 3, Device("cpu")))
    Linear {d_input: 4, d_output: 3, bias: true, params: 15}

    Burn: burn_nn::Linear
    """

    weight: Param[Tensor]
    bias: Param[Tensor] | None

    @classmethod
    def init(
        cls,
        d_input: int,
        d_output: int,
        device: Device,
        *,
        bias: bool = True,
        initializer: Initializer = LINEAR_DEFAULT,
        layout: LinearLayout = LinearLayout.ROW,
    ) -> Self:
        """A layer whose parameters are made when they are first read.

        Under `LinearLayout.COL` files hold the weight as [d_output, d_input]: it is transposed as it is
        made, loaded and saved. Such a weight, unless it is square, loads only while it is lazy (REC-18).

        Burn: burn_nn::LinearConfig::init
        """
        if layout is LinearLayout.ROW:
            weight = init_param(initializer, (d_input, d_output), device, d_input, d_output)
        else:
            stored = init_param(initializer, (d_output, d_input), device, d_output, d_input)
            weight = stored.save_mapper(_transposed).load_mapper(_transposed).init_mapper(_transposed)
        return cls(
            weight=weight,
            bias=init_param(initializer, (d_output,), device, d_input, d_output) if bias else None,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis.

        Shapes:
            input [..., d_input]; result [..., d_output].

        Raises:
            TensorError: the last extent is not d_input.
        """
        bias = self.bias
        return linear(input, self.weight.val(), None if bias is None else bias.val())

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The extents, and whether there is a bias."""
        d_input, d_output = self.weight.shape
        return content.add("d_input", d_input).add("d_output", d_output).add("bias", self.bias is not None)


def _transposed(weight: Tensor) -> Tensor:
    return weight.transpose()
