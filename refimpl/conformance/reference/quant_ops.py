"""`quant.op`: operations of float tensors, asked of quantised ones."""

from __future__ import annotations

from typing import Any

from ...tensor.tensor import Tensor
from .args import Args, flag, integers, items, number, text, whole, wholes
from .dtypes import read_dtype
from .faults import StepError
from .state import State
from .values import make, read_data

_PLAIN = (
    "clone", "transpose", "abs", "max", "min", "mean", "sum", "neg", "relu", "zeros_like", "ones_like",
    "random_like", "require_grad", "detach", "autodiff", "inner",
)  # fmt: skip
_OPERATORS = ("add", "sub", "mul", "div", "matmul")


def operation(state: State, args: Args, tensor: Tensor) -> Any:
    """The result of one operation."""
    name, this = text(args, "op"), _anything(tensor)
    if name in _PLAIN:
        return getattr(this, name)()
    match name:
        case "add" | "sub" | "mul" | "div" | "matmul":
            return _binary(name, this, state.tensor(args.get("with")))
        case "add_scalar":
            return this + number(args.get("value"))
        case "mul_scalar":
            return this * number(args.get("value"))
        case "swap_dims":
            return this.swap_dims(*integers(args, "dims"))
        case "permute" | "flip":
            return getattr(this, name)(integers(args, "dims"))
        case "reshape" | "expand":
            return getattr(this, name)(integers(args, "shape"))
        case "slice":
            return this.slice([slice(*one) for one in items(args, "ranges")])
        case "narrow":
            return this.narrow(*(whole(args.get(key)) for key in ("dim", "start", "length")))
        case "select":
            places = make("int", read_data(args["indices"], "int", 0), tensor.device)
            return this.select(whole(args.get("dim")), places)
        case "cat":
            return Tensor.cat([tensor, _anything(state.tensor(args.get("with")))], whole(args.get("dim")))
        case "repeat":
            return _repeated(this, wholes(args, "times"))
        case "max_dim" | "sum_dim":
            return getattr(this, name)(whole(args.get("dim")))
        case "cast":
            return this.cast(read_dtype(args.get("dtype")))
        case "full_like":
            return this.full_like(number(args.get("value")))
        case "set_require_grad":
            return this.set_require_grad(flag(args, "value"))
        case "to_device":
            return this.to_device(state.device(args.get("device")))
    raise StepError(f"`{name}` is no operation of a quantised tensor")


def _anything(tensor: Any) -> Any:
    return tensor


def _binary(name: str, this: Any, other: Any) -> Any:
    match name:
        case "add":
            return this + other
        case "sub":
            return this - other
        case "mul":
            return this * other
        case "div":
            return this / other
    return this @ other


def _repeated(this: Any, times: list[int]) -> Any:
    for dim, count in enumerate(times):
        if count != 1:
            this = this.repeat_dim(dim, count)
    return this
