"""Multi-head attention."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from ..errors import InvalidArgumentError, PanicError
from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..tensor.device import Device
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .activation import Gelu
from .dropout import Dropout
from .initializer import LINEAR_DEFAULT, Initializer
from .linear import Linear


@dataclass(frozen=True)
class MhaInput:
    """What attention takes: queries, keys, values, and masks that are true where nothing may be seen.

    Shapes:
        query [batch, seq_1, d_model], key and value [batch, seq_2, d_model], mask_pad [batch, seq_2],
        mask_attn [batch, seq_1, seq_2].

    Burn: burn_nn::attention::MhaInput
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask_pad: BoolTensor | None = None
    mask_attn: BoolTensor | None = None

    @classmethod
    def self_attn(cls, tensor: Tensor) -> Self:
        """`tensor` as queries, keys and values."""
        return cls(tensor, tensor, tensor)

    def with_mask_pad(self, mask: BoolTensor) -> Self:
        """With a mask of the keys that are padding."""
        return replace(self, mask_pad=mask)

    def with_mask_attn(self, mask: BoolTensor) -> Self:
        """With a mask of the keys that each query may not see."""
        return replace(self, mask_attn=mask)


@dataclass(frozen=True)
class MhaOutput:
    """What attention gives.

    Shapes:
        weights [batch, n_heads, seq_1, seq_2], context [batch, seq_1, d_model].

    Burn: burn_nn::attention::MhaOutput
    """

    weights: Tensor
    context: Tensor


def generate_autoregressive_mask(batch_size: int, seq_length: int, device: Device) -> BoolTensor:
    """The mask that hides from each place the places after it: [batch_size, seq_length, seq_length].

    Burn: burn_nn::attention::generate_autoregressive_mask
    """
    places = IntTensor.arange(0, seq_length, device)
    later = places.reshape([1, 1, seq_length]) > places.reshape([1, seq_length, 1])
    return later.expand([batch_size, seq_length, seq_length])


class MultiHeadAttention(Module):
    """Each place takes the values of the places whose keys its query matches, in several heads side by side.

    Burn: burn_nn::attention::MultiHeadAttention
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    dropout: Dropout
    activation: Gelu
    d_model: int
    n_heads: int
    d_k: int
    min_float: float
    quiet_softmax: bool

    @classmethod
    def init(
        cls,
        d_model: int,
        n_heads: int,
        device: Device,
        *,
        dropout: float = 0.1,
        quiet_softmax: bool = False,
        initializer: Initializer = LINEAR_DEFAULT,
    ) -> Self:
        """Four linear layers of d_model by d_model, with bias.

        Args:
            d_model: The extent of what goes in and comes out; a multiple of `n_heads`.
            n_heads: How many heads share it.
            device: Where the parameters are made when they are first read.
            dropout: The probability of dropping a weight while training.
            quiet_softmax: Whether a head may attend to nothing.
            initializer: Of all weights and biases.

        Raises:
            InvalidArgumentError: `d_model` is no multiple of `n_heads`.

        Burn: burn_nn::attention::MultiHeadAttentionConfig::init
        """
        if n_heads < 1 or d_model % n_heads:
            raise InvalidArgumentError(f"d_model is a multiple of n_heads, got {d_model} and {n_heads}")
        query, key, value, output = (
            Linear.init(d_model, d_model, device, initializer=initializer) for _ in range(4)
        )
        return cls(
            query=query,
            key=key,
            value=value,
            output=output,
            dropout=Dropout.init(dropout),
            activation=Gelu.new(),
            d_model=d_model,
            n_heads=n_heads,
            d_k=d_model // n_heads,
            min_float=-1.0e4,
            quiet_softmax=quiet_softmax,
        )

    def forward(self, input: MhaInput) -> MhaOutput:
        """Attend. What is masked has weight 0, also where everything is masked.

        Raises:
            PanicError: the extents of queries, keys and values do not fit.
        """
        self._check(input)
        batch, seq, d_model = input.query.shape
        query, key, value = (
            self._heads(layer.forward(x))
            for layer, x in ((self.query, input.query), (self.key, input.key), (self.value, input.value))
        )
        scores = query @ key.transpose() / math.sqrt(self.d_k)
        weights = self._weights(scores, _mask(input))
        context = (weights @ value).swap_dims(1, 2).reshape([batch, seq, d_model])
        return MhaOutput(weights, self.output.forward(context))

    def _check(self, input: MhaInput) -> None:
        batch, d_model = input.query.shape[0], self.d_model
        seq = input.key.shape[1] if input.key.rank > 1 else 0
        for name, tensor in (("query", input.query), ("key", input.key), ("value", input.value)):
            fits = tensor.rank == 3 and (tensor.shape[0], tensor.shape[2]) == (batch, d_model)
            if not fits or (name == "value" and tensor.shape[1] != seq):
                wanted = f"[{batch}, {seq if name == 'value' else '_'}, {d_model}]"
                raise PanicError(f"the {name} of an attention is {wanted}, got {list(tensor.shape)}")

    def _heads(self, x: Tensor) -> Tensor:
        batch, seq, _ = x.shape
        return x.reshape([batch, seq, self.n_heads, self.d_k]).swap_dims(1, 2)

    def _weights(self, scores: Tensor, mask: BoolTensor | None) -> Tensor:
        if mask is not None:
            scores = scores.mask_fill(mask, -math.inf)
            scores = scores.mask_fill(mask.all_dim(3), 0.0)  # a row of nothing but -inf has no softmax
        weights = scores.quiet_softmax(3) if self.quiet_softmax else scores.softmax(3)
        if mask is not None:
            weights = weights.mask_fill(mask, 0.0)
        return self.dropout.forward(weights)

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The extents and the settings."""
        content = content.add("d_model", self.d_model).add("n_heads", self.n_heads).add("d_k", self.d_k)
        content = content.add("dropout", self.dropout.prob).add("min_float", self.min_float)
        return content.add("quiet_softmax", self.quiet_softmax)


def _mask(input: MhaInput) -> BoolTensor | None:
    pad, attn = input.mask_pad, input.mask_attn
    if pad is not None:
        pad = pad.reshape([pad.shape[0], 1, 1, pad.shape[1]])
    if attn is not None:
        attn = attn.reshape([attn.shape[0], 1, *attn.shape[1:]])
    if pad is None or attn is None:
        return attn if pad is None else pad
    return pad | attn
