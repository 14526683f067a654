"""Transformers: the encoder layer of burn-nn, and a decoder-only language model split across devices."""

from __future__ import annotations

from typing import Self

from ..errors import PanicError
from ..module.module import Module
from ..parallel.layer import DistributedLayer, LayerParallelism, LayerSequence
from ..parallel.placement import LayerPlacement
from ..tensor.device import Device
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .attention import MhaInput, MultiHeadAttention, generate_autoregressive_mask
from .dropout import Dropout
from .embedding import Embedding
from .feed_forward import PositionWiseFeedForward
from .linear import Linear
from .norm import LayerNorm


class TransformerEncoderLayer(Module):
    """Attention and a feed-forward network, each added to what it takes, with a norm before or after.

    Burn: burn_nn::transformer::TransformerEncoderLayer
    """

    mha: MultiHeadAttention
    pwff: PositionWiseFeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    dropout: Dropout
    norm_first: bool

    @classmethod
    def init(
        cls,
        d_model: int,
        d_ff: int,
        n_heads: int,
        device: Device,
        *,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> Self:
        """A layer on `device`.

        Burn: burn_nn::transformer::TransformerEncoderLayer::new
        """
        return cls(
            mha=MultiHeadAttention.init(d_model, n_heads, device, dropout=dropout),
            pwff=PositionWiseFeedForward.init(d_model, d_ff, device, dropout=dropout),
            norm_1=LayerNorm.init(d_model, device),
            norm_2=LayerNorm.init(d_model, device),
            dropout=Dropout.init(dropout),
            norm_first=norm_first,
        )

    def forward(
        self, input: Tensor, mask_pad: BoolTensor | None = None, mask_attn: BoolTensor | None = None
    ) -> Tensor:
        """Apply both parts.

        With the norm first, `norm_2` stands before the attention and `norm_1` before the feed-forward
        network: burn-nn has them in this order, and so have its files.

        Shapes:
            input and result [batch, seq, d_model], mask_pad [batch, seq], mask_attn [batch, seq, seq].
        """
        x = self.norm_2.forward(input) if self.norm_first else input
        attended = self.mha.forward(MhaInput(x, x, x, mask_pad, mask_attn)).context
        x = input + self.dropout.forward(attended)
        if not self.norm_first:
            x = self.norm_1.forward(x)
        fed = self.pwff.forward(self.norm_1.forward(x) if self.norm_first else x)
        x = x + self.dropout.forward(fed)
        return x if self.norm_first else self.norm_2.forward(x)


class TokenEmbedding(DistributedLayer[IntTensor, Tensor]):
    """The sum of a vector for each token and a vector for each place."""

    token: Embedding
    position: Embedding

    @classmethod
    def init(cls, n_vocab: int, max_seq_length: int, d_model: int, device: Device) -> Self:
        """A layer on `device`."""
        return cls(
            token=Embedding.init(n_vocab, d_model, device),
            position=Embedding.init(max_seq_length, d_model, device),
        )

    def forward(self, input: IntTensor) -> Tensor:
        """Embed the tokens.

        Shapes:
            input [batch, seq]; result [batch, seq, d_model].

        Raises:
            PanicError: the sequence is longer than the table of places.
        """
        longest, seq = self.position.weight.shape[0], input.shape[-1]
        if seq > longest:
            raise PanicError(f"a sequence of {seq} tokens is longer than the {longest} places of the model")
        places = IntTensor.arange(0, seq, input.device, dtype=input.dtype).reshape([1, seq])
        return self.token.forward(input) + self.position.forward(places)


class DecoderBlock(DistributedLayer[Tensor, Tensor]):
    """A transformer layer in which no place sees the places after it, with the norm first."""

    layer: TransformerEncoderLayer

    @classmethod
    def init(cls, d_model: int, d_ff: int, n_heads: int, device: Device, *, dropout: float = 0.1) -> Self:
        """A block on `device`."""
        return cls(
            layer=TransformerEncoderLayer.init(
                d_model, d_ff, n_heads, device, dropout=dropout, norm_first=True
            )
        )

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer under an autoregressive mask.

        Shapes:
            input and result [batch, seq, d_model].
        """
        batch, seq, _ = input.shape
        mask = generate_autoregressive_mask(batch, seq, input.device)
        return self.layer.forward(input, mask_attn=mask)


class LanguageHead(DistributedLayer[Tensor, Tensor]):
    """A norm, and the score of every token of the vocabulary at each place."""

    norm: LayerNorm
    linear: Linear

    @classmethod
    def init(cls, d_model: int, n_vocab: int, device: Device) -> Self:
        """A layer on `device`."""
        return cls(
            norm=LayerNorm.init(d_model, device), linear=Linear.init(d_model, n_vocab, device, bias=False)
        )

    def forward(self, input: Tensor) -> Tensor:
        """Score the tokens.

        Shapes:
            input [batch, seq, d_model]; result [batch, seq, n_vocab].
        """
        return self.linear.forward(self.norm.forward(input))


class DecoderOnlyTransformer(LayerParallelism[IntTensor, Tensor, Tensor]):
    """A small language model whose blocks are built on the devices of a placement.

    >>> placement = LayerPlacement.even([Device("sim", 0), Device("sim", 1)], 2)
    >>> model = DecoderOnlyTransformer.init(11, 8, 4, 16, 2, placement)
    >>> model.num_params(), model.devices()
    (616, (sim:0, sim:1))

    Clauses: DLM-1.
    """

    embedding: TokenEmbedding
    blocks: tuple[DecoderBlock, ...]
    head: LanguageHead

    @classmethod
    def init(
        cls,
        n_vocab: int,
        max_seq_length: int,
        d_model: int,
        d_ff: int,
        n_heads: int,
        placement: LayerPlacement,
        *,
        dropout: float = 0.1,
    ) -> Self:
        """As many blocks as the placement has hidden layers, each made on its own device."""
        return cls(
            embedding=TokenEmbedding.init(n_vocab, max_seq_length, d_model, placement.input),
            blocks=tuple(
                DecoderBlock.init(d_model, d_ff, n_heads, device, dropout=dropout)
                for device in placement.hidden
            ),
            head=LanguageHead.init(d_model, n_vocab, placement.output),
        )

    def forward(self, input: IntTensor) -> Tensor:
        """Run every layer where the input is: for a model on one device.

        Shapes:
            input [batch, seq]; result [batch, seq, n_vocab].
        """
        signal = self.embedding.forward(input)
        for block in self.blocks:
            signal = block.forward(signal)
        return self.head.forward(signal)

    def layer_input(self) -> TokenEmbedding:
        """The embedding."""
        return self.embedding

    def layers_hidden(self) -> tuple[DecoderBlock, ...]:
        """The blocks."""
        return self.blocks

    def layer_output(self) -> LanguageHead:
        """The head."""
        return self.head

    def into_layers(self) -> LayerSequence[IntTensor, Tensor, Tensor]:
        """The layers, in order."""
        return LayerSequence(input=self.embedding, hidden=self.blocks, output=self.head)
