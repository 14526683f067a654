"""What a parameter asks of the value it holds, for each of the four kinds of value."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from ..tensor.device import Device
from ..tensor.gradient import PLAIN
from ..tensor.int_tensor import MislabelledIntTensor
from ..tensor.tensor import BoolTensor, IntTensor, QuantizedTensor, Tensor
from .flag import Flag

ParameterValue = Tensor | IntTensor | BoolTensor | Flag
T = TypeVar("T", bound=ParameterValue)
#: The kind of a value, by its class: a quantised tensor is still a float parameter, and an int tensor of
#: another dtype, as a record can give it, an int parameter (REC-20).
KIND_OF: Final[dict[type[Any], type[Any]]] = {
    Tensor: Tensor,
    QuantizedTensor: Tensor,
    IntTensor: IntTensor,
    MislabelledIntTensor: IntTensor,
    BoolTensor: BoolTensor,
    Flag: Flag,
}


def is_active(value: ParameterValue) -> bool:
    """Whether `value` takes part in training as it stands: a float that requires a gradient, an enabled flag.

    Burn: burn_core::module::param::sealed::Sealed::is_active
    Clauses: PAR-13.
    """
    if isinstance(value, Tensor):
        return value.is_require_grad
    return value.is_enabled() if isinstance(value, Flag) else False


def set_require_grad(value: T, require_grad: bool) -> T:
    """`value` with the gradient setting, as far as its kind and device have one.

    A float of a plain device has none, and neither have the other kinds.

    Burn: burn_core::module::Parameter::set_require_grad
    Clauses: PAR-39, PAR-40.
    """
    if not isinstance(value, Tensor) or value.grad_state is PLAIN:
        return value
    changed: Any = value.set_require_grad(require_grad)
    return changed  # type: ignore[no-any-return]  # the same kind


def load_to_device(value: T, device: Device) -> T:
    """`value` on the hardware of `device`; one that has to move is detached.

    Burn: burn_core::module::Parameter::load_to_device
    Clauses: PAR-31, PAR-61.
    """
    if isinstance(value, Flag) or value.device == device:
        return value
    moved = value.to_device(device)
    return cast(T, moved.detach() if isinstance(moved, Tensor) else moved)
