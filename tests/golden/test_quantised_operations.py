"""What becomes of a quantised tensor in every operation, and what `quantize` accepts: real Burn's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.errors import PanicError
from refimpl.tensor.calibration import Calibration, QParams, compute_range
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import IntTensor, Tensor

from .recorded import CPU, data_json, load

RECORDED = load("quant_operations.json.gz")
Q, S, F32, F16 = QuantValue, QuantStore, ScaleDtype.F32, ScaleDtype.F16
SCHEMES = {
    "q8s": QuantScheme(Q.Q8S, S.NATIVE, per_tensor=F32),
    "q8f_f16": QuantScheme(Q.Q8F, S.NATIVE, per_tensor=F16),
    "q4s_u32_0": QuantScheme(Q.Q4S, S.packed_u32(0), per_tensor=F32),
    "q4s_u32_1": QuantScheme(Q.Q4S, S.packed_u32(1), per_tensor=F32),
    "e4m3": QuantScheme(Q.E4M3, S.NATIVE, per_tensor=F32),
    "q8s_block": QuantScheme(Q.Q8S, S.NATIVE, per_block=(BlockSize([2, 4]), F32)),
    "q4s_u32_block": QuantScheme(Q.Q4S, S.packed_u32(0), per_block=(BlockSize([8]), F16)),
    "e2m1_two": QuantScheme(
        Q.E2M1, S.packed_native(0), per_tensor=F32, per_block=(BlockSize([4]), ScaleDtype.UE4M3)
    ),
    "lookup": QuantScheme(Q.Q8S, S.NATIVE, QuantMode.LOOKUP, per_tensor=F32),
    "bare": QuantScheme(),
}
X, Y = (
    Tensor.from_data(np.frombuffer(bytes.fromhex(RECORDED[name]), "<f4").reshape(4, 8), CPU) for name in "xy"
)


def at(*indices: int) -> IntTensor:
    return IntTensor.from_data(np.array(indices, np.int32), CPU)


class Given:
    """The operands under one scheme."""

    def __init__(self, scheme: QuantScheme) -> None:
        self.scheme = scheme

    @property
    def q(self) -> Tensor:
        return X.quantize_dynamic(self.scheme)

    @property
    def qy(self) -> Tensor:
        return Y.quantize_dynamic(self.scheme)

    @property
    def row(self) -> Tensor:
        return X[0:1].quantize_dynamic(self.scheme)


OPERATIONS: dict[str, Callable[[Given], Any]] = {
    "quantize": lambda g: g.q,
    "reshape[8,4]": lambda g: g.q.reshape((8, 4)),
    "reshape[32]": lambda g: g.q.reshape((32,)),
    "reshape[2,2,8]": lambda g: g.q.reshape((2, 2, 8)),
    "transpose": lambda g: g.q.transpose(),
    "swap_dims(0,1)": lambda g: g.q.swap_dims(0, 1),
    "permute3": lambda g: g.q.reshape((2, 2, 8)).permute((1, 2, 0)),
    "flip[0]": lambda g: g.q.flip((0,)),
    "flip[0,1]": lambda g: g.q.flip((0, 1)),
    "slice[0:2,0:8]": lambda g: g.q[0:2, 0:8],
    "slice[1:3,2:6]": lambda g: g.q[1:3, 2:6],
    "expand[3,8]": lambda g: g.row.expand((3, 8)),
    "select0": lambda g: g.q.select(0, at(2, 0)),
    "select1": lambda g: g.q.select(1, at(0, 1, 2, 7)),
    "narrow(1,0,4)": lambda g: g.q.narrow(1, 0, 4),
    "unsqueeze_dim(0)": lambda g: g.q.unsqueeze_dim(0),
    "squeeze": lambda g: g.row.squeeze(),
    "cat0": lambda g: Tensor.cat([g.q, g.qy], 0),
    "cat1": lambda g: Tensor.cat([g.q, g.qy], 1),
    "cat_float": lambda g: Tensor.cat([X, g.qy], 0),
    "stack": lambda g: Tensor.stack([g.q, g.qy], 0),
    "chunk": lambda g: g.q.chunk(2, 0)[1],
    "repeat_dim(0,2)": lambda g: g.q.repeat_dim(0, 2),
    "abs": lambda g: abs(g.q),
    "neg": lambda g: -g.q,
    "max_dim(1)": lambda g: g.q.max_dim(1),
    "min_dim(0)": lambda g: g.q.min_dim(0),
    "max": lambda g: g.q.max(),
    "min": lambda g: g.q.min(),
    "sum": lambda g: g.q.sum(),
    "mean_dim(1)": lambda g: g.q.mean_dim(1),
    "sum_dim(0)": lambda g: g.q.sum_dim(0),
    "add_float": lambda g: g.q + Y,
    "float_add": lambda g: Y + g.q,
    "add_f16": lambda g: g.q + Y.cast(DType.F16),
    "f16_add": lambda g: Y.cast(DType.F16) + g.q,
    "add_quantized": lambda g: g.q + g.qy,
    "mul_scalar": lambda g: g.q * 2.0,
    "matmul": lambda g: g.q @ Y.transpose(),
    "matmul_quantized": lambda g: g.q @ g.qy.transpose(),
    "relu": lambda g: g.q.relu(),
    "zeros_like": lambda g: g.q.zeros_like(),
    "ones_like": lambda g: g.q.ones_like(),
    "cast_f16": lambda g: g.q.cast(DType.F16),
    "cast_self": lambda g: g.q.cast(DType.F32),
    "mask_fill": lambda g: g.q.mask_fill(Y > 0.0, 1.5),
    "mask_where": lambda g: g.q.mask_where(Y > 0.0, Y),
    "require_grad": lambda g: g.q.require_grad(),
    "detach": lambda g: g.q.detach(),
    "quantize_dynamic": lambda g: g.q.quantize_dynamic(g.scheme),
    "recip": lambda g: g.q.recip(),
    "powf_scalar": lambda g: g.q.powf_scalar(2.0),
    "round": lambda g: g.q.round(),
    "sign": lambda g: g.q.sign(),
    "sub": lambda g: g.q - Y,
    "argmax": lambda g: f"I32 {g.q.argmax(1).to_numpy().reshape(-1).tolist()}",
    "greater": lambda g: (g.q > g.qy).to_numpy().tobytes().hex(),
    "equal": lambda g: g.q.equal(g.q).to_numpy().tobytes().hex(),
    "int": lambda g: g.q.int().to_numpy().tobytes().hex(),
    "bool": lambda g: g.q.bool().to_numpy().tobytes().hex(),
    "is_nan": lambda g: g.q.is_nan().to_numpy().tobytes().hex(),
    "quantized_scalar": lambda g: g.q.max().item(),
    "from_data_short": lambda g: resized(g.q, 3).dequantize().to_numpy().tobytes().hex(),
    "from_data_long": lambda g: resized(g.q, 400).dequantize().to_numpy().tobytes().hex(),
}


def resized(quantized: Tensor, length: int) -> Tensor:
    data = quantized.to_data()
    raw = bytes(data.bytes)[:length].ljust(length, b"\0")
    return Tensor.from_data(TensorData(data.dtype, data.shape, raw), CPU)


def outcome(make: Callable[[], Any]) -> dict[str, Any]:
    try:
        made = make()
    except PanicError as error:
        return {"panic": str(error)}
    if isinstance(made, str):
        return {"text": made}
    dense = made.dequantize().to_numpy().tobytes().hex()
    return data_json(made.to_data()) | {"dequant": dense}


def close(got: dict[str, Any], want: dict[str, Any]) -> bool:
    """Equal, or sums whose terms were added in another order (QNT-34)."""
    if got == want or got.keys() != want.keys() or "hex" not in got:
        return got == want
    if (got["dtype"], got["shape"]) != (want["dtype"], want["shape"]) or got["dtype"] != "f32":
        return False
    ours, theirs = (np.frombuffer(bytes.fromhex(one["hex"]), "<f4") for one in (got, want))
    return bool(np.allclose(ours, theirs, rtol=1e-5, atol=1e-6))


SUMS = ("sum", "mean_dim(1)", "sum_dim(0)", "matmul", "matmul_quantized")


@pytest.mark.clause("QNT-3", "QNT-5", "QNT-21", "QNT-26", "QNT-32", "QNT-33", "QNT-34", "QNT-35", "PAR-58")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_on_a_quantised_tensor_gives_what_burns_gives(operation: str, scheme: str) -> None:
    want = RECORDED["schemes"][scheme]
    got = outcome(lambda: OPERATIONS[operation](Given(SCHEMES[scheme])))

    assert repr(SCHEMES[scheme]) == want["scheme"]
    recorded = want["results"][operation]
    assert close(got, recorded) if operation in SUMS else got == recorded


def scheme(block: list[int] | None, dtype: ScaleDtype = F32, tensor: ScaleDtype | None = None) -> QuantScheme:
    return QuantScheme(
        Q.Q8S, S.NATIVE, per_tensor=tensor, per_block=(BlockSize(block), dtype) if block else None
    )


PER, BLOCK, TWO = scheme(None, tensor=F32), scheme([4]), scheme([4], F16, F32)
ONE_AXIS = Tensor.from_data(np.array([1, -2, 3, 4, 5, 6, 7, 8], np.float32), CPU)


def numbers(*values: float) -> Tensor:
    return Tensor.from_data(np.array(values, np.float32), CPU)


def quantized(how: QuantScheme, scales: Tensor, whole: Tensor | None = None) -> Tensor:
    return ONE_AXIS.quantize(how, QParams(scales, whole))


CHECKS: dict[str, Callable[[], Tensor]] = {
    "global_for_one_level": lambda: quantized(PER, numbers(1), numbers(1)),
    "no_global_for_two": lambda: quantized(TWO, numbers(1, 1)),
    "two_globals": lambda: quantized(TWO, numbers(1, 1), numbers(1, 1)),
    "f64_global": lambda: quantized(TWO, numbers(1, 1), numbers(1).cast(DType.F64)),
    "f16_tensor_level": lambda: quantized(scheme([4], F16, F16), numbers(1, 1), numbers(1)),
    "two_scales_for_tensor": lambda: quantized(PER, numbers(1, 2)),
    "zero_scale": lambda: quantized(PER, numbers(0)),
    "nan_scale": lambda: quantized(PER, numbers(float("nan"))),
    "inf_scale": lambda: quantized(PER, numbers(float("inf"))),
    "f64_scale": lambda: quantized(PER, numbers(np.float32(0.1)).cast(DType.F64)),
    "block_2_4_rank_1": lambda: ONE_AXIS.quantize_dynamic(scheme([2, 4])),
    "quantize_quantized": lambda: ONE_AXIS.quantize_dynamic(PER).quantize(PER, QParams(numbers(1))),
    "u32_axis_1": lambda: ONE_AXIS.quantize_dynamic(QuantScheme(store=S.packed_u32(1))),
}


def first_line(panic: str) -> str:
    """Burn's text without the prefix and the two values of `assert_eq`."""
    return panic.removeprefix("assertion `left == right` failed: ").partition("\n")[0]


@pytest.mark.clause("QNT-8", "QNT-17", "QNT-24", "QNT-25", "QNT-29", "QNT-31")
@pytest.mark.parametrize("name", CHECKS)
def test_quantize_takes_and_refuses_what_burn_does(name: str) -> None:
    recorded, got = RECORDED["checks"][name], outcome(CHECKS[name])
    if "panic" not in recorded:
        assert got == recorded
    elif name == "global_for_one_level":  # Burn's text holds the Debug of a tensor
        assert got["panic"] == f"{PER!r} does not match a per-tensor scale of [1]"
    else:
        assert got == {"panic": first_line(recorded["panic"])}


@pytest.mark.clause("QNT-8", "QNT-30")
def test_a_block_of_more_axes_than_the_tensor_quantises_and_its_bytes_are_no_layout_that_can_be_parsed() -> (
    None
):
    data = ONE_AXIS.quantize_dynamic(scheme([2, 4])).to_data()
    with pytest.raises(PanicError) as caught:
        Tensor.from_data(data, CPU)

    assert str(caught.value) == f"Quantized layout for shape [8] and dtype {data.dtype!r} is invalid"


@pytest.mark.clause("QNT-25")
@pytest.mark.parametrize(("scales", "burn"), [((1,), "too_few_scales"), ((1, 2, 3), "too_many_scales")])
def test_as_many_scales_as_blocks_are_needed_where_burn_panics_late_or_writes_what_nobody_reads(
    scales: tuple[float, ...], burn: str
) -> None:
    message = f"a grid of [2] blocks takes 2 scales, got {len(scales)}"
    with pytest.raises(PanicError, match=message.replace("[", r"\[").replace("]", r"\]")):
        quantized(BLOCK, numbers(*scales))

    surplus = RECORDED["checks"]["too_many_scales"]["hex"]
    assert RECORDED["checks"]["too_few_scales"]["panic"].startswith("index out of bounds")
    assert len(surplus) // 2 == 8 + 3 * 4, "Burn keeps the third scale, and its reader wants two"


@pytest.mark.clause("QNT-17")
def test_a_negative_scale_is_refused_as_a_debug_build_of_burn_does() -> None:
    with pytest.raises(PanicError, match="a quantization scale is never negative"):
        quantized(PER, numbers(-1))


@pytest.mark.clause("QNT-12", "QNT-36")
def test_a_range_is_not_computed_of_codes() -> None:
    with pytest.raises(PanicError) as caught:
        compute_range(PER, ONE_AXIS.quantize_dynamic(PER), Calibration.MIN_MAX)

    assert str(caught.value) == RECORDED["checks"]["range_of_quantized"]["panic"]


@pytest.mark.clause("QNT-35", "QNT-37")
def test_quantising_leaves_the_graph_and_dequantising_gives_an_untracked_tensor() -> None:
    tensor = Tensor.from_data(np.array([1, 2], np.float32), CPU.autodiff()).require_grad()
    codes = tensor.quantize_dynamic(PER)
    dense = codes.dequantize()
    seen = (codes, codes, codes.require_grad(), dense, dense)
    flags = [t.is_require_grad if i in (1, 2, 4) else t.is_autodiff for i, t in enumerate(seen)]

    assert [str(flag).lower() for flag in flags] == RECORDED["checks"]["autodiff"]["text"].split()
