"""Random values: the distributions, and one stream of numbers for each device."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any, ClassVar, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError, PanicError
from .cast import convert, narrowed
from .device import Device
from .dtype import DType


class Distribution:
    """How random values are spread.

    >>> Distribution.uniform(-1.0, 1.0)
    Uniform(-1.0, 1.0)

    Burn: burn_std::Distribution
    """

    __slots__ = ()

    #: Uniform over [0, 1) for floats, over the whole range of the dtype for integers.
    DEFAULT: ClassVar[Distribution]

    @staticmethod
    def uniform(low: float, high: float) -> Uniform:
        """Uniform over [low, high).

        Raises:
            PanicError: the interval is empty, or an end is not finite.
        """
        return Uniform(_real(low), _real(high))

    @staticmethod
    def normal(mean: float, std: float) -> Normal:
        """Normal, by mean and standard deviation.

        Raises:
            PanicError: the deviation is not finite.
        """
        return Normal(_real(mean), _real(std))

    @staticmethod
    def bernoulli(prob: float) -> Bernoulli:
        """1 with the given probability, else 0.

        Raises:
            PanicError: that is no probability.
        """
        return Bernoulli(_real(prob))


@dataclass(frozen=True, slots=True)
class Default(Distribution):
    """Burn's `Distribution::Default`."""

    def __repr__(self) -> str:
        return "Default"


@dataclass(frozen=True, slots=True)
class Uniform(Distribution):
    """Burn's `Distribution::Uniform`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise _refused("NonFinite", f"{self} has an end that is not finite")
        if self.low >= self.high:
            raise _refused("EmptyRange", f"{self} is empty: low is below high")

    def __repr__(self) -> str:
        return f"Uniform({self.low}, {self.high})"


@dataclass(frozen=True, slots=True)
class Normal(Distribution):
    """Burn's `Distribution::Normal`."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.std):
            raise _refused("BadVariance", f"a deviation of {self.std} is not finite")

    def __repr__(self) -> str:
        return f"Normal({self.mean}, {self.std})"


@dataclass(frozen=True, slots=True)
class Bernoulli(Distribution):
    """Burn's `Distribution::Bernoulli`."""

    prob: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.prob <= 1.0:
            raise _refused("InvalidProbability", f"{self} has a probability outside [0, 1]")

    def __repr__(self) -> str:
        return f"Bernoulli({self.prob})"


DEFAULT: Final = Default()
Distribution.DEFAULT = DEFAULT


def _real(value: object) -> float:
    if not isinstance(value, (int, float, np.number)) or isinstance(value, np.complexfloating):
        raise ArgumentTypeError(f"a distribution is given by numbers, got {value!r}")
    return float(value)


def _refused(reason: str, hint: str) -> PanicError:
    return PanicError(f"called `Result::unwrap()` on an `Err` value: {reason}", hint=hint)


class _Stream:
    """The generator of one device, and the lock that keeps its draws whole."""

    __slots__ = ("generator", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.generator = np.random.default_rng()


_streams: Final[dict[Device, _Stream]] = {}
_MAKING: Final = threading.Lock()


def _stream(device: Device) -> _Stream:
    with _MAKING:
        found = _streams.get(device)
        if found is None:
            found = _streams[device] = _Stream()
        return found


def seed(device: Device, number: int) -> None:
    """Start the stream of `device` anew: the same seed gives the same values from here on.

    Which values those are is not Burn's: its generators are others (and differ between backends).

    Raises:
        InvalidArgumentError: `number` is not in 0 .. 2^64 - 1.

    Burn: burn_tensor::Device::seed
    """
    if not isinstance(number, int) or not 0 <= number < 2**64:
        raise InvalidArgumentError(f"a seed is an integer from 0 to 2^64 - 1, got {number!r}")
    stream = _stream(device)
    with stream.lock:
        stream.generator = np.random.default_rng(number)


def sample(distribution: Distribution, shape: tuple[int, ...], dtype: DType, device: Device) -> NDArray[Any]:
    """Values of `distribution` in `dtype`, drawn from the stream of `device`."""
    stream = _stream(device)
    with stream.lock:
        draw = _ints if dtype.is_int else _floats
        return draw(_known(distribution), shape, dtype, stream.generator)


_Known = Default | Uniform | Normal | Bernoulli


def _known(distribution: Distribution) -> _Known:
    if isinstance(distribution, (Default, Uniform, Normal, Bernoulli)):
        return distribution
    raise InvalidArgumentError(
        f"{distribution!r} is no distribution", hint="take Distribution.DEFAULT, uniform, normal or bernoulli"
    )


def _floats(
    distribution: _Known, shape: tuple[int, ...], dtype: DType, generator: np.random.Generator
) -> NDArray[Any]:
    return (
        narrowed(distribution.mean + distribution.std * generator.standard_normal(shape), dtype)
        if isinstance(distribution, Normal)
        else _bounded_floats(distribution, shape, dtype, generator)
    )


def _bounded_floats(
    distribution: Default | Uniform | Bernoulli,
    shape: tuple[int, ...],
    dtype: DType,
    generator: np.random.Generator,
) -> NDArray[Any]:
    match distribution:
        case Default():
            return narrowed(_unit(shape, dtype, generator), dtype)
        case Uniform(low, high):
            low, high = (float(narrowed(np.asarray(end), dtype)) for end in (low, high))
            values = narrowed(np.asarray(low + (high - low) * _unit(shape, dtype, generator)), dtype)
            return np.where(values < high, values, np.asarray(low, dtype.numpy))  # rounding reached the end
        case Bernoulli(prob):
            return (generator.random(shape) < prob).astype(dtype.numpy)
        case _:
            assert_never(distribution)


def _unit(shape: tuple[int, ...], dtype: DType, generator: np.random.Generator) -> NDArray[Any]:
    """Uniform over [0, 1): multiples of the dtype's precision, so that none rounds to 1."""
    bits = {"F64": 53, "F16": 11, "BF16": 8}.get(dtype.name, 24)
    whole = generator.integers(0, 1 << bits, size=shape)
    return np.asarray(whole * 0.5**bits)


def _ints(
    distribution: _Known, shape: tuple[int, ...], dtype: DType, generator: np.random.Generator
) -> NDArray[Any]:
    info = np.iinfo(dtype.numpy)
    match distribution:
        case Default():
            values = generator.integers(info.min, info.max, size=shape, dtype=dtype.numpy, endpoint=True)
            return np.asarray(values, dtype.numpy)
        case Uniform(low, high):
            first, last = (int(convert(np.asarray(end), DType.F64, dtype)) for end in (low, high))
            if first >= last:
                raise _refused("EmptyRange", f"{distribution} holds no integer")
            return np.asarray(generator.integers(first, last, size=shape, dtype=dtype.numpy), dtype.numpy)
        case Normal(mean, std):
            return convert(np.asarray(mean + std * generator.standard_normal(shape)), DType.F64, dtype)
        case Bernoulli(prob):
            return (generator.random(shape) < prob).astype(dtype.numpy)
        case _:
            assert_never(distribution)
