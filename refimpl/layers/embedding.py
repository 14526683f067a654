"""The look-up of rows by index."""

from __future__ import annotations

from typing import Self

from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..param.param import Param
from ..tensor.device import Device
from ..tensor.module_functions import embedding
from ..tensor.tensor import IntTensor, Tensor
from .initializer import EMBEDDING_DEFAULT, Initializer, init_param


class Embedding(Module):
    """A table of vectors, one a row: weight of [n_embedding, d_model].

    Burn: burn_nn::Embedding
    """

    weight: Param[Tensor]

    @classmethod
    def init(
        cls, n_embedding: int, d_model: int, device: Device, *, initializer: Initializer = EMBEDDING_DEFAULT
    ) -> Self:
        """A table that is filled when it is first read.

        Burn: burn_nn::EmbeddingConfig::init
        """
        return cls(weight=init_param(initializer, (n_embedding, d_model), device))

    def forward(self, input: IntTensor) -> Tensor:
        """The vectors at the indices.

        Shapes:
            input [batch, seq]; result [batch, seq, d_model].

        Raises:
            TensorError: an index is beyond the table.
        """
        return embedding(self.weight.val(), input)

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The extents of the table."""
        n_embedding, d_model = self.weight.shape
        return content.add("n_embedding", n_embedding).add("d_model", d_model)
