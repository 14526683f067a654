"""`quant.*`: schemes, calibration, quantised tensors and what they are made of."""

from __future__ import annotations

from typing import Any

from ...module.quantizer import Quantizer
from ...param.group import ParamGroup
from ...tensor.calibration import Calibration, CalibrationRange, QParams, compute_q_params, compute_range
from ...tensor.core import AnyTensor
from ...tensor.data import TensorData
from ...tensor.dtype import DType
from ...tensor.quantized import QuantizedTensor
from ...tensor.tensor import Tensor
from . import schemes
from .args import Args, text, wholes
from .faults import StepError
from .groups import group
from .quant_ops import operation
from .state import State
from .values import data_json, make, read_data, tensor_json


def run(state: State, op: str, args: Args) -> Any:
    """The result of one step."""
    match op:
        case "value":
            return schemes.value_json(text(args, "value"))
        case "scale":
            return schemes.scale_json(args)
        case "block":
            return schemes.block_json(args)
        case "layout":
            return schemes.layout_json(args)
        case "scheme":
            made = schemes.scheme(args.get("scheme"))
            equal = None if args.get("equals") is None else made == schemes.scheme(args["equals"])
            return {**schemes.scheme_json(made), "equal": equal}
        case "range":
            found = _range(state, args)
            return {"min": data_json(found.min.to_data()), "max": data_json(found.max.to_data())}
        case "params":
            params = _params(state, args)
            whole = params.global_scale
            return {
                "scales": data_json(params.scales.to_data()),
                "global": None if whole is None else data_json(whole.to_data()),
            }
        case "parts":
            return _parts(_float(state, args.get("on")))
        case "quantizer":
            chosen = None if args.get("group") is None else group(state, args["group"])
            state.store(args, quantizer(args, chosen))
            return {}
    value = _made(state, op, args)
    state.store_if_named(args, value)
    return tensor_json(value)


def quantizer(args: Args, chosen: ParamGroup | None) -> Quantizer:
    """A quantizer of the scheme, calibration and group that a step names."""
    return Quantizer(_calibration(args), schemes.scheme(args.get("scheme")), chosen)


def _made(state: State, op: str, args: Args) -> AnyTensor:
    if op == "from_bytes":
        dtype = DType.qfloat(schemes.scheme(args.get("scheme")))
        data = TensorData(dtype, tuple(wholes(args, "shape")), bytes.fromhex(text(args, "hex")))
        return make("float", data, state.device(args.get("device", "d0")))
    tensor = _float(state, args.get("on"))
    match op:
        case "quantize":
            return tensor.quantize(schemes.scheme(args.get("scheme")), _params(state, args))
        case "dynamic":
            return tensor.quantize_dynamic(schemes.scheme(args.get("scheme")))
        case "dequantize":
            return tensor.dequantize()
        case "op":
            made: AnyTensor = operation(state, args, tensor)
            return made
    raise StepError(f"`quant.{op}` is no step")


def _float(state: State, name: Any) -> Tensor:
    found = state.tensor(name)
    if not isinstance(found, Tensor):
        raise StepError(f"{name!r} is no float tensor")
    return found


def _given(state: State, args: Args, key: str) -> Tensor | None:
    spec = args.get(key)
    if spec is None or isinstance(spec, str):
        return None if spec is None else _float(state, spec)
    made = make("float", read_data(spec, "float", 0), state.device("d0"))
    assert isinstance(made, Tensor)
    return made


def _calibration(args: Args) -> Calibration:
    return Calibration(args.get("calibration", "MinMax"))


def _range(state: State, args: Args) -> CalibrationRange:
    tensor = _float(state, args.get("on"))
    return compute_range(schemes.scheme(args.get("scheme")), tensor, _calibration(args))


def _params(state: State, args: Args) -> QParams:
    scales = _given(state, args, "scales")
    if scales is not None:
        return QParams(scales, _given(state, args, "global"))
    least, greatest = _given(state, args, "min"), _given(state, args, "max")
    found = _range(state, args) if least is None or greatest is None else CalibrationRange(least, greatest)
    return compute_q_params(schemes.scheme(args.get("scheme")), found)


def _parts(tensor: Tensor) -> dict[str, Any]:
    if not isinstance(tensor, QuantizedTensor):
        raise StepError("the tensor is not quantised")
    scales, whole = tensor.scales(), tensor.global_scale()
    return {
        "codes": tensor.codes().tobytes().hex(),
        "grid": list(scales.shape),
        "scales": schemes.bits(scales),
        "global": None if whole is None else schemes.bits(whole)[0],
    }
