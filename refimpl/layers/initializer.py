"""What the parameters of a layer are before training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from ..errors import PanicError
from ..param.param import Param
from ..param.param_id import ParamId
from ..tensor.device import Device
from ..tensor.random import Distribution
from ..tensor.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Constant:
    """`value` everywhere."""

    value: float


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform over [min, max)."""

    min: float
    max: float


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal, by mean and standard deviation."""

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class KaimingUniform:
    """Uniform over [-a, a) with a = gain sqrt(3 / fan): the fan in, or the fan out if `fan_out_only`."""

    gain: float
    fan_out_only: bool = False


@dataclass(frozen=True, slots=True)
class KaimingNormal:
    """Normal with deviation gain / sqrt(fan): the fan in, or the fan out if `fan_out_only`."""

    gain: float
    fan_out_only: bool = False


@dataclass(frozen=True, slots=True)
class XavierUniform:
    """Uniform over [-a, a) with a = gain sqrt(6 / (fan in + fan out))."""

    gain: float


@dataclass(frozen=True, slots=True)
class XavierNormal:
    """Normal with deviation gain sqrt(2 / (fan in + fan out))."""

    gain: float


#: Burn's `Initializer`; `Ones` and `Zeros` are constants, `Orthogonal` is left out.
Initializer = Constant | Uniform | Normal | KaimingUniform | KaimingNormal | XavierUniform | XavierNormal
ZEROS = Constant(0.0)
ONES = Constant(1.0)
#: What linear layers take unless told otherwise: uniform over [-k, k) with k = sqrt(1 / fan in).
LINEAR_DEFAULT = KaimingUniform(gain=1.0 / math.sqrt(3.0))
#: What embeddings take unless told otherwise.
EMBEDDING_DEFAULT = Normal(0.0, 1.0)


def init_param(
    initializer: Initializer,
    shape: tuple[int, ...],
    device: Device,
    fan_in: int | None = None,
    fan_out: int | None = None,
) -> Param[Tensor]:
    """A parameter that `initializer` fills when it is first read, trainable where the device is autodiff.

    Raises:
        PanicError: the initializer needs a fan that is not given; raised when the parameter is first read.

    Burn: burn_nn::Initializer::init_with
    Clauses: PAR-16.
    """

    def init(where: Device, require_grad: bool) -> Tensor:
        tensor = _values(initializer, shape, fan_in, fan_out, where)
        return tensor.require_grad() if require_grad else tensor

    return Param.uninitialized(ParamId.new(), init, device, True, shape)


def _values(
    initializer: Initializer, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None, device: Device
) -> Tensor:
    match initializer:
        case Constant(value):
            return Tensor.full(shape, value, device)
        case Uniform(low, high):
            distribution: Distribution = Distribution.uniform(low, high)
        case Normal(mean, std):
            distribution = Distribution.normal(mean, std)
        case KaimingUniform(gain, fan_out_only):
            a = math.sqrt(3.0) * gain * _kaiming(fan_out if fan_out_only else fan_in)
            distribution = Distribution.uniform(-a, a)
        case KaimingNormal(gain, fan_out_only):
            distribution = Distribution.normal(0.0, gain * _kaiming(fan_out if fan_out_only else fan_in))
        case XavierUniform(gain):
            a = math.sqrt(3.0) * gain * _xavier(fan_in, fan_out)
            distribution = Distribution.uniform(-a, a)
        case XavierNormal(gain):
            distribution = Distribution.normal(0.0, gain * _xavier(fan_in, fan_out))
        case _:
            assert_never(initializer)
    return Tensor.random(shape, distribution, device)


def _kaiming(fan: int | None) -> float:
    if fan is None:
        raise PanicError(
            "Can't use Kaiming initialization without specifying fan. Use init_with method.",
            hint="pass fan_in, or fan_out with fan_out_only",
        )
    return 1.0 / math.sqrt(fan)


def _xavier(fan_in: int | None, fan_out: int | None) -> float:
    if fan_in is None or fan_out is None:
        missing = "in" if fan_in is None else "out"
        raise PanicError(
            f"Can't use Xavier initialization without specifying fan {missing}. Use init_with method and "
            f"provide fan_{missing}."
        )
    return math.sqrt(2.0 / (fan_in + fan_out))
