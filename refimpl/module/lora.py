"""Low-rank adapters: a frozen weight, and two small factors that train."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..errors import ArgumentTypeError, InvalidArgumentError, PanicError
from ..param.group import ParamGroup
from ..param.param import Param
from ..param.reparameterization import Reparameterization, Reparameterizer
from ..tensor.dtype import DType
from ..tensor.low_rank import low_rank_sum
from ..tensor.random import Distribution
from ..tensor.tensor import Tensor
from .module import Module
from .quantizer import Quantizer


class LoraAdapter(Module, Reparameterization):
    """`base + scale * (a @ b)`, with `a` of [d_in, rank] and `b` of [rank, d_out].

    Burn: burn_core::module::LoraAdapter
    Clauses: REP-22, LRA-5, LRA-6.
    """

    NAME: ClassVar[str] = "lora"

    a: Param[Tensor]
    b: Param[Tensor]
    scale: float

    def delta(self) -> Tensor:
        """`scale * (a @ b)`: the scale comes after the product (LRA-5)."""
        return (self.a.val() @ self.b.val()) * self.scale

    def apply(self, base: Tensor) -> Tensor:
        """The base and the delta, in the dtype of the factors.

        A dense base of another dtype is cast; a quantised one is dequantised to that dtype by the sum.
        """
        return low_rank_sum(base, self.a.val(), self.b.val(), self.scale)


@dataclass(frozen=True)
class Lora(Reparameterizer):
    """Freezes every float parameter, and adapts those of rank 2 that `param_group` selects.

    Args:
        rank: The inner extent of the factors; at least 1, and any size beyond that.
        alpha: The delta is scaled by `alpha / rank`.
        init_std: The deviation of `a`; `1 / rank` when None. `b` is zero, so the first delta is.
        dtype: The dtype of the factors; when None that of a dense base, or the device's for a quantised one.
        param_group: Which weights are adapted; the others are frozen too.

    Raises:
        PanicError: a rank of 0.

    Burn: burn_core::module::Lora
    Clauses: REP-23, REP-24, REP-25, REP-26, LRA-1, LRA-2, LRA-3, LRA-4.
    """

    rank: int
    alpha: float
    init_std: float | None = None
    dtype: DType | None = None
    param_group: ParamGroup = field(default_factory=ParamGroup.all)

    def __post_init__(self) -> None:
        if type(self.rank) is not int or self.rank < 0:
            raise InvalidArgumentError(
                f"the rank of LoRA is an integer from 1, got {self.rank!r:.40}", clause="LRA-1"
            )
        if self.rank >= 2**64:
            raise InvalidArgumentError("the rank of LoRA is below 2^64", clause="LRA-1")
        if self.rank == 0:
            raise PanicError("LoRA rank must be greater than 0, got 0", clause="LRA-1")
        if self.dtype is not None and not (isinstance(self.dtype, DType) and self.dtype.is_float):
            raise InvalidArgumentError(f"the factors of LoRA are floats, got {self.dtype!r}", clause="LRA-4")
        _check_number("alpha", self.alpha)
        if self.init_std is not None:
            _check_number("init_std", self.init_std)
        if not isinstance(self.param_group, ParamGroup):
            raise ArgumentTypeError(f"LoRA takes a ParamGroup, got {self.param_group!r}", clause="LRA-1")

    def set_param_group(self, group: ParamGroup) -> Lora:
        """The same for another group (LRA-1)."""
        return replace(self, param_group=group)

    def set_dtype(self, dtype: DType) -> Lora:
        """The same with factors of another dtype (LRA-4)."""
        return replace(self, dtype=dtype)

    def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], LoraAdapter | None]:
        """`param` frozen, with an adapter if it is a selected weight of rank 2."""
        if len(param.lazy_shape()) != 2:
            return param.set_require_grad(False), None
        base = param.base()
        frozen = param.set_require_grad(False)
        return frozen, self._adapter(base) if self.param_group.matches(param.id, path) else None

    def _adapter(self, base: Tensor) -> LoraAdapter:
        d_in, d_out = base.shape
        std = 1.0 / self.rank if self.init_std is None else self.init_std
        a = Tensor.random((d_in, self.rank), Distribution.normal(0.0, std), base.device)
        b = Tensor.zeros((self.rank, d_out), base.device)
        dtype = self.dtype or (base.dtype if base.dtype.is_float else a.dtype)
        return LoraAdapter(a=_factor(a, dtype), b=_factor(b, dtype), scale=self.alpha / self.rank)


@dataclass(frozen=True)
class QLora(Reparameterizer):
    """Quantises what the quantizer selects, then does what `lora` does: two independent groups.

    Burn: burn_core::module::QLora
    Clauses: REP-27, LRA-10.
    """

    lora: Lora
    quantizer: Quantizer

    def __post_init__(self) -> None:
        if not isinstance(self.lora, Lora) or not isinstance(self.quantizer, Quantizer):
            raise ArgumentTypeError(
                f"QLora takes a Lora and a Quantizer, got {self.lora!r} and {self.quantizer!r}",
                clause="LRA-10",
            )

    def reparameterize(self, path: str, param: Param[Tensor]) -> tuple[Param[Tensor], LoraAdapter | None]:
        """`param` quantised if the quantizer selects it, frozen, and perhaps with an adapter."""
        return self.lora.reparameterize(path, self.quantizer.at_path(param, path))


def _check_number(name: str, value: object) -> None:
    """Refuse what is no f64; NaN and infinity are, as in Burn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentTypeError(f"{name} of LoRA is a number, got {value!r}", clause="LRA-1")
    try:
        float(value)
    except OverflowError as error:
        raise InvalidArgumentError(f"{name} of LoRA is beyond every float", clause="LRA-1") from error


def _factor(tensor: Tensor, dtype: DType) -> Param[Tensor]:
    cast = tensor.cast(dtype)
    assert isinstance(cast, Tensor)
    return Param.from_tensor(cast)
