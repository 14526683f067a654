"""Tensor data: dtype names, the formula, JSON both ways, and what closures do to tensors."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import GradientError
from ...param.flag import Flag
from ...tensor.cast import convert, narrowed
from ...tensor.core import AnyTensor
from ...tensor.data import TensorData
from ...tensor.device import Device
from ...tensor.dtype import DType
from ...tensor.gradient import GradState
from ...tensor.tensor import BoolTensor, IntTensor, Tensor
from .args import Args, integers, items, number, signed, whole, wholes
from .dtypes import dtype_name, read_dtype
from .faults import CasePanicError, StepError
from .state import device_name, executes

V = TypeVar("V", bound=AnyTensor)
KINDS: Final[dict[str, type[AnyTensor]]] = {"float": Tensor, "int": IntTensor, "bool": BoolTensor}
_DEFAULT: Final = {"float": DType.F32, "int": DType.I64, "bool": DType.BOOL_NATIVE}


def kind_of(tensor: AnyTensor) -> str:
    """`float`, `int` or `bool`."""
    return next(kind for kind, cls in KINDS.items() if isinstance(tensor, cls))


def data_json(data: TensorData) -> dict[str, Any]:
    """Tensor data as results write it."""
    return raw_json(data.dtype, data.shape, bytes(data.bytes))


def raw_json(dtype: DType, shape: tuple[int, ...], content: bytes) -> dict[str, Any]:
    """Bytes of a dtype and shape as results write them."""
    form: dict[str, Any] = {"dtype": dtype_name(dtype), "shape": list(shape)}
    if len(content) <= 65536:
        return {**form, "hex": content.hex()}
    return {**form, "nbytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def bytes_json(content: bytes) -> dict[str, Any]:
    """Bytes as results write them."""
    form: dict[str, Any] = {"len": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {**form, "hex": content.hex()} if len(content) <= 4096 else form


def tensor_json(tensor: AnyTensor) -> dict[str, Any]:
    """A tensor as results write it."""
    return {
        "kind": kind_of(tensor),
        "rank": tensor.rank,
        "device": device_name(tensor.device),
        "grad": grad_name(tensor),
        "value": data_json(tensor.to_data()) if executes(tensor.device) else None,
    }


def grad_name(tensor: AnyTensor) -> str:
    """The gradient state as the protocol names it."""
    return "non_leaf" if tensor.grad_state is GradState.NON_LEAF else tensor.grad_state.value


def seeded(seed: int, shape: tuple[int, ...], dtype: DType) -> TensorData:
    """The formula's data of a seed."""
    return TensorData.from_array(np.resize(_period(7 * seed % 17, dtype), shape), dtype)


@cache
def _period(start: int, dtype: DType) -> NDArray[Any]:
    """The values after which the formula begins again; each dtype has them exactly."""
    u: NDArray[Any] = (start + 3 * np.arange(17)) % 17
    if dtype.is_bool:
        u = u % 2
    elif dtype.is_int:
        u = u if dtype.name.startswith("U") else u - 8
    else:
        u = (u - 8) / 4
    return u.astype(dtype.numpy)


def declared(args: Args, kind: str) -> tuple[DType, tuple[int, ...]]:
    """The dtype and shape that DATA declares, as they stand."""
    if kind not in KINDS:
        raise StepError(f"{kind!r} is no kind of tensor")
    dtype = _DEFAULT[kind] if args.get("dtype") is None else read_dtype(args["dtype"])
    if args.get("shape") is not None:
        return dtype, tuple(wholes(args, "shape"))
    return dtype, (len(args["values"]),) if isinstance(args.get("values"), (list, tuple)) else (2,)


def read_data(args: Args, kind: str, seed: int) -> TensorData:
    """DATA as tensor data; `seed` is that of data which names neither values nor a seed."""
    dtype, shape = declared(args, kind)
    if isinstance(args.get("hex"), str):
        return TensorData(dtype, shape, bytes.fromhex(args["hex"]))
    if args.get("values") is None:
        return seeded(seed if args.get("seed") is None else whole(args["seed"]), shape, dtype)
    values = items(args, "values")
    if len(values) != math.prod(shape):
        raise StepError(f"{len(values)} values do not fill the shape {list(shape)}")
    if dtype is DType.U64:
        return TensorData.from_array(np.array([whole(v) for v in values], np.uint64).reshape(shape))
    if dtype is DType.I64:
        return TensorData.from_array(np.array([signed(v) for v in values], np.int64).reshape(shape))
    return _data(np.array([number(v) for v in values], np.float64), shape, dtype)


def _data(values: Any, shape: tuple[int, ...], dtype: DType) -> TensorData:
    shaped = values.reshape(shape)
    return TensorData.from_array(
        narrowed(shaped, dtype) if dtype.is_float else convert(shaped, DType.F64, dtype), dtype
    )


def make(kind: str, data: TensorData, device: Device) -> AnyTensor:
    """A tensor of `kind`, at the data's own dtype."""
    made: AnyTensor = KINDS[kind].from_data(data, device, data.dtype)  # type: ignore[attr-defined]
    return made


def with_require_grad(tensor: V, require_grad: bool) -> V:
    """A float tensor with the gradient setting; other kinds have none."""
    if isinstance(tensor, Tensor):
        return tensor.set_require_grad(require_grad)
    return tensor


def express(value: Any, expr: Any) -> Any:
    """EXPR applied to a tensor or flag, in order."""
    for step in expr:
        value = value.with_(step[1]) if isinstance(value, Flag) else _step(value, step[0], step)
    return value


def _step(tensor: Any, name: str, step: Any) -> Any:
    if name == "panic":
        raise CasePanicError(f"case: {step[1]}")
    whole_numbers = isinstance(tensor, IntTensor)
    match name:
        case "add" | "mul" if not isinstance(tensor, BoolTensor):
            operand = _operand(step[1]) if whole_numbers else number(step[1])
            return tensor + operand if name == "add" else tensor * operand
        case "transpose":
            return tensor.transpose()
        case "reshape":
            return tensor.reshape(tuple(step[1]))
        case "zeros_like" | "ones_like" if not isinstance(tensor, BoolTensor):
            return getattr(tensor, name)()
        case "detach":
            return tensor.detach() if isinstance(tensor, Tensor) else tensor
        case "set_require_grad":
            return with_require_grad(tensor, step[1])
        case "cast" if read_dtype(step[1]).kind is tensor.dtype.kind:
            return tensor.cast(read_dtype(step[1]))
    raise StepError(f"{step!r} is no expression of {type(tensor).__name__}")


def _operand(value: Any) -> int | float:
    """An operand of an int tensor: an integer, or a float that the tensor is to make one of."""
    try:
        return signed(value)
    except StepError:
        return number(value)


def tensor_op(
    tensor: AnyTensor, op: str, args: Args, device: Device | None, other: AnyTensor | None
) -> AnyTensor:
    """The result of a `tensor.op` step."""
    any_tensor: Any = tensor
    match op:
        case (
            "clone"
            | "autodiff"
            | "without_autodiff"
            | "inner"
            | "transpose"
            | "zeros_like"
            | "ones_like"
            | "sum"
        ):
            made = getattr(any_tensor, op)()
        case "detach":
            made = _step(any_tensor, op, [op])
        case "from_inner":
            made = type(any_tensor).from_inner(any_tensor)
        case "to_device" if device is not None:
            made = any_tensor.to_device(device)
        case "require_grad":
            made = with_require_grad(any_tensor, True)
        case "set_require_grad":
            made = with_require_grad(any_tensor, args["value"])
        case "cast":
            made = any_tensor.cast(read_dtype(args.get("dtype")))
        case "reshape":
            made = any_tensor.reshape(integers(args, "shape"))
        case "add_scalar" | "mul_scalar":
            made = _step(any_tensor, op[:3], [op, args["value"]])
        case "add" | "sub" | "mul" | "matmul" if other is not None and kind_of(other) == kind_of(tensor):
            made = _binary(op, any_tensor, other)
        case _:
            raise StepError(f"`{op}` is no tensor operation, or lacks an operand")
    if not isinstance(made, AnyTensor):
        raise StepError(f"`{op}` gives no tensor")
    return made


def _binary(op: str, lhs: Any, rhs: Any) -> Any:
    match op:
        case "add":
            return lhs + rhs
        case "sub":
            return lhs - rhs
        case "mul":
            return lhs * rhs
    return lhs @ rhs


def active_after_train(train: Any) -> bool | dict[str, str]:
    """Whether `train()` of a parameter requires grad, or the panic it comes to."""
    try:
        return bool(train().is_require_grad())
    except GradientError:
        return {"panic": "Gradient"}
