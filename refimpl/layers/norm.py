"""Normalisation: of each row by itself, and of each channel over the batch."""

from __future__ import annotations

import math
from typing import Self

from ..errors import PanicError
from ..module.display import Content, DisplaySettings
from ..module.module import Module
from ..param.flag import Flag
from ..param.param import Param
from ..param.running import RunningState
from ..tensor.device import Device
from ..tensor.module_functions import batch_norm, batch_norm_train, layer_norm
from ..tensor.tensor import Tensor
from .initializer import ONES, ZEROS, init_param


class LayerNorm(Module):
    """Each row less its mean, over its deviation, times `gamma`, plus `beta`.

    Burn: burn_nn::LayerNorm
    """

    gamma: Param[Tensor]
    beta: Param[Tensor] | None
    epsilon: float

    @classmethod
    def init(cls, d_model: int, device: Device, *, epsilon: float = 1e-5, bias: bool = True) -> Self:
        """Ones for `gamma`, zeros for `beta`.

        Burn: burn_nn::LayerNormConfig::init
        """
        return cls(
            gamma=init_param(ONES, (d_model,), device),
            beta=init_param(ZEROS, (d_model,), device) if bias else None,
            epsilon=epsilon,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise the last axis.

        Shapes:
            input and result [..., d_model].

        Raises:
            TensorError: the last extent is not d_model.
        """
        beta = self.beta
        return layer_norm(input, self.gamma.val(), None if beta is None else beta.val(), self.epsilon)

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The extent, the epsilon, and whether there is a bias."""
        (d_model,) = self.gamma.shape
        content = content.add("d_model", d_model).add("epsilon", self.epsilon)
        return content.add("bias", self.beta is not None)


class BatchNorm(Module):
    """Each channel by the statistics of the batch while training, by the running ones otherwise.

    It trains where the input is on an autodiff device and the flag `training` is on: then it also updates
    the running statistics, which lag one step behind (PAR-69).

    Burn: burn_nn::BatchNorm
    """

    gamma: Param[Tensor]
    beta: Param[Tensor]
    training: Param[Flag]
    running_mean: RunningState
    running_var: RunningState
    momentum: float
    epsilon: float

    @classmethod
    def init(cls, num_features: int, device: Device, *, epsilon: float = 1e-5, momentum: float = 0.1) -> Self:
        """Ones for `gamma` and the running variance, zeros for `beta` and the running mean.

        Raises:
            PanicError: no features, an epsilon that is not positive, or a momentum outside [0, 1].

        Burn: burn_nn::BatchNormConfig::init
        """
        if num_features < 1:
            raise PanicError("num_features must be greater than zero.")
        if not (math.isfinite(epsilon) and epsilon > 0.0):
            raise PanicError("epsilon must be finite and positive.")
        if not 0.0 <= momentum <= 1.0:
            raise PanicError("momentum must be finite and within [0, 1].")
        return cls(
            gamma=init_param(ONES, (num_features,), device),
            beta=init_param(ZEROS, (num_features,), device),
            training=Param.from_bool(True),
            running_mean=RunningState.new(Tensor.zeros([num_features], device)),
            running_var=RunningState.new(Tensor.ones([num_features], device)),
            momentum=momentum,
            epsilon=epsilon,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel.

        Shapes:
            input and result [batch, num_features, ...].

        Raises:
            PanicError: the second extent is not num_features.
        """
        (num_features,) = self.gamma.shape
        if input.rank < 2 or input.shape[1] != num_features:
            raise PanicError(
                f"the input of a BatchNorm is [batch, {num_features}, ...], got {list(input.shape)}"
            )
        if input.is_autodiff and self.training.is_enabled():
            return self._train(input)
        return batch_norm(
            input,
            self.gamma.val(),
            self.beta.val(),
            self.running_mean.value().to_device(input.device),
            self.running_var.value().to_device(input.device),
            self.epsilon,
        )

    def _train(self, input: Tensor) -> Tensor:
        output, mean, variance = batch_norm_train(input, self.gamma.val(), self.beta.val(), self.epsilon)
        for state, seen in ((self.running_mean, mean), (self.running_var, variance)):
            before = state.value_sync().to_device(input.device)
            state.update((before * (1.0 - self.momentum) + seen.detach() * self.momentum).detach())
        return output

    def custom_settings(self) -> DisplaySettings | None:
        """On one line."""
        return DisplaySettings().with_new_line_after_attribute(False)

    def custom_content(self, content: Content) -> Content | None:
        """The features, the numbers, and the flag where it is off."""
        (num_features,) = self.beta.shape
        content = content.add("num_features", num_features)
        content = content.add("momentum", self.momentum).add("epsilon", self.epsilon)
        return content if self.training.is_enabled() else content.add("training", self.training)
