"""The functions that layers are made of, under Burn's names: one result each, checked once."""

from __future__ import annotations

import math
from typing import Any

from .arguments import failed
from .core import make
from .float_tensor import Tensor
from .gradient import LEAF
from .int_tensor import IntTensor
from .operands import expect, of_operands, same_dtype
from .quiet import no_memory


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight`, and `bias` added to each row. The weight is not transposed.

    Shapes:
        input [..., d_input], weight [d_input, d_output], bias [d_output]; result [..., d_output].

    Raises:
        TensorError: the extents or dtypes do not fit.
        DeviceMismatchError: the tensors are on different hardware.

    Burn: burn_tensor::module::linear
    """
    if bias is None:
        return _linear_by_parts(input, weight, bias)
    try:
        device, dtype, state = input.device, input.dtype, input.grad_state
        if not (
            weight.device is device
            and bias.device is device
            and weight.grad_state is state
            and bias.grad_state is state
            and state is not LEAF
        ):
            device, state = of_operands("linear", input, weight, bias)
        x, w, b = input._array, weight._array, bias._array
        _, d_output = w.shape
        (extent,) = b.shape
        same = weight.dtype is dtype and bias.dtype is dtype and dtype.itemsize > 2
        if not same or d_output != extent or x.ndim < 2:
            return _linear_by_parts(input, weight, bias)
        array = device.space.quiet.run(_affine, x, w, b)
    except (ValueError, AttributeError):  # other ranks, extents that do not fit, operands that are no tensors
        return _linear_by_parts(input, weight, bias)
    except MemoryError as error:
        raise no_memory(error) from error
    return make(Tensor, array, device, dtype, state)


def _affine(x: Any, w: Any, b: Any) -> Any:
    product = x @ w
    product += b
    return product


def _linear_by_parts(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` for every operand, refused where they do not fit."""
    for operand in (input, weight) if bias is None else (input, weight, bias):
        expect("linear", Tensor, operand)
    x = input.dequantize()
    weight = weight.dequantize(x.dtype)
    bias = None if bias is None else bias.dequantize(x.dtype)
    operands = (x, weight) if bias is None else (x, weight, bias)
    of_operands("linear", *operands)
    same_dtype("linear", *operands)
    if x.rank < 1:
        raise failed("linear", "Linear requires input with at least 1 dimension.")
    if weight.rank != 2 or x.shape[-1] != weight.shape[0]:
        raise failed(
            "linear",
            f"Last dimension of input ({x.shape[-1]}) must match input dimension of weight "
            f"({weight.shape[0] if weight.rank else 1}).",
        )
    if bias is not None and bias.shape != weight.shape[1:]:
        raise failed(
            "linear",
            f"Dimension of bias ({bias.shape[0] if bias.rank else 1}) must match output dimension of weight "
            f"({weight.shape[1]}).",
        )
    product = x @ weight if x.rank > 1 else (x.unsqueeze_dim(0) @ weight).squeeze_dim(0)
    return product if bias is None else product + bias


def embedding(weights: Tensor, indices: IntTensor) -> Tensor:
    """The rows of `weights` at `indices`.

    Shapes:
        weights [n_embedding, d_model], indices [batch, seq]; result [batch, seq, d_model].

    Raises:
        TensorError: an index is beyond the rows.

    Burn: burn_tensor::module::embedding
    """
    expect("embedding", Tensor, weights)
    expect("embedding", IntTensor, indices)
    weights = weights.dequantize()
    rows = weights.select(0, indices.reshape(indices.size))
    return rows.reshape((*indices.shape, weights.shape[1]))


def layer_norm(input: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float) -> Tensor:
    """Each row less its mean, over its deviation, times `gamma`, plus `beta`.

    The deviation is the root of the biased variance and `epsilon`. F16 and BF16 are computed in F32 and
    rounded once.

    Shapes:
        input [..., d_model], gamma and beta [d_model].

    Burn: burn_tensor::module::layer_norm
    """
    operands = (input, gamma) if beta is None else (input, gamma, beta)
    for operand in operands:
        expect("layer_norm", Tensor, operand)
    source = input.dequantize()
    gamma = gamma.dequantize(source.dtype)
    beta = None if beta is None else beta.dequantize(source.dtype)
    operands = (source, gamma) if beta is None else (source, gamma, beta)
    of_operands("layer_norm", *operands)
    same_dtype("layer_norm", *operands)
    for name, tensor in zip(("gamma", "beta"), operands[1:], strict=False):
        if tensor.shape != input.shape[-1:]:
            raise failed(
                "layer_norm",
                f"{name} of shape {list(tensor.shape)} must match the last dimension of the input "
                f"({input.shape[-1] if input.rank else 0}).",
            )
    x = source._widened()
    centred = x - x.mean_dim(-1)
    variance = centred.square().mean_dim(-1)
    scaled = centred / (variance + epsilon).sqrt() * gamma._widened()
    return (scaled if beta is None else scaled + beta._widened())._narrowed(source.dtype)


def batch_norm(
    input: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, epsilon: float
) -> Tensor:
    """Each channel less its `mean`, over the root of `variance` and `epsilon`, times `gamma`, plus `beta`.

    Shapes:
        input [batch, channels, ...], the others [channels].

    Burn: burn_tensor::module::batch_norm
    """
    shape = [1, input.shape[1], *[1] * (input.rank - 2)]
    std = (variance.reshape(shape) + epsilon).sqrt()
    return (input - mean.reshape(shape)) / std * gamma.reshape(shape) + beta.reshape(shape)


def batch_norm_train(
    input: Tensor, gamma: Tensor, beta: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm` by the batch's own statistics; with it their mean and biased variance, detached.

    Burn: burn_tensor::module::batch_norm_train
    """
    channels = input.shape[1]
    samples = math.prod(input.shape) // channels
    mean = input.swap_dims(0, 1).reshape([channels, samples]).mean_dim(1)
    centred = input - mean.reshape([1, channels, *[1] * (input.rank - 2)])
    variance = centred.square().swap_dims(0, 1).reshape([channels, samples]).mean_dim(1)
    mean, variance = mean.reshape([channels]), variance.reshape([channels])
    output = batch_norm(input, gamma, beta, mean, variance, epsilon)
    return output, mean.detach(), variance.detach()
