from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.errors import InvalidArgumentError, TensorError
from refimpl.tensor.core import AnyTensor
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import IntTensor, QuantizedTensor, Tensor

CPU = Device("cpu")
SCHEME = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
DATA = TensorData(DType.qfloat(SCHEME), [2, 2], bytes([3, 127, 0, 0x81]) + np.float32(0.5).tobytes())


def carried(device: Device = CPU) -> Tensor:
    return Tensor.from_record_data(DATA, device, DType.F32)


@pytest.mark.clause("REC-20")
def test_a_quantised_entry_stays_quantised_whatever_the_target() -> None:
    tensor = carried()

    assert isinstance(tensor, QuantizedTensor)
    assert (tensor.dtype, tensor.shape, tensor.to_data()) == (DATA.dtype, (2, 2), DATA)
    assert Tensor.from_data(DATA, CPU).to_data() == DATA


@pytest.mark.clause("QNT-35", "DEV-8")
def test_a_quantised_tensor_moves_and_keeps_its_context_and_has_no_gradient() -> None:
    moved = carried(CPU.autodiff()).require_grad().to_device(Device("sim", 1))

    assert (str(moved.device), moved.shape, moved.to_data()) == ("sim:1+autodiff", (2, 2), DATA)
    assert not moved.is_require_grad
    assert moved.set_require_grad(True) is moved
    assert carried().require_grad().to_data() == DATA
    assert moved.inner().to_data() == carried().autodiff().to_data() == DATA


@pytest.mark.clause("QNT-21", "QNT-9")
def test_a_person_gets_codes_scales_and_values() -> None:
    scheme = QuantScheme(
        value=QuantValue.Q4S,
        store=QuantStore.packed_u32(0),
        per_tensor=ScaleDtype.F32,
        per_block=(BlockSize([2]), ScaleDtype.UE4M3),
    )
    tensor = Tensor.from_data([[7.0, -3.5, 0.0, 1.0]], CPU).quantize_dynamic(scheme)

    assert (tensor.codes().tolist(), tensor.codes().dtype.name) == ([[7, -4, 0, 7]], "int8")
    assert tensor.scales().shape == (1, 2)
    assert tensor.global_scale() == np.float32(1) / np.float32(448)
    assert tensor.scales().tolist() == [[448.0, 64.0]]
    assert tensor.scheme == scheme
    assert carried().global_scale() is None


#: Methods that keep a tensor as it is, ask about it, or make another one of nothing but its shape.
OTHER = {
    "T array autodiff cast classes clone default_dtype dequantize detach device dtype from_data from_dlpack",
    "from_inner from_record_data full full_like grad_state inner into_data into_scalar is_autodiff",
    "is_require_grad is_tracked item kind ones ones_like quantize quantize_dynamic random random_like rank",
    "require_grad seed set_require_grad shape size to_data to_device to_numpy without_autodiff zeros",
    "zeros_like",
}
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "cat": ([carried(), carried()], 0),
    "stack": ([carried(), carried()], 0),
    "chunk": (2, 0),
    "expand": ((3, 2, 2),),
    "flip": ((0,),),
    "mask_fill": (carried().dequantize() > 0.0, 1.5),
    "mask_where": (carried().dequantize() > 0.0, carried()),
    "narrow": (0, 0, 1),
    "permute": ((1, 0),),
    "repeat_dim": (0, 2),
    "reshape": ((4,),),
    "select": (0, IntTensor.from_data([1, 0], CPU)),
    "slice": ([slice(0, 1)],),
    "squeeze_dim": (0,),
    "swap_dims": (0, 1),
    "unsqueeze": (3,),
    "unsqueeze_dim": (0,),
}
WITH_OPERAND = [
    "add",
    "div",
    "equal",
    "greater",
    "greater_equal",
    "lower",
    "lower_equal",
    "matmul",
    "mul",
    "not_equal",
    "powf",
    "remainder",
    "sub",
]
WITH_NUMBER = ("add_scalar", "div_scalar", "mul_scalar", "powf_scalar", "remainder_scalar", "sub_scalar")
REQUANTISED = ("abs", "cat", "max", "max_dim", "min", "min_dim", "repeat_dim", "stack")


def operations() -> list[str]:
    kept = {name for names in OTHER for name in names.split()}
    return [name for name in dir(Tensor) if not name.startswith("_") and name not in kept]


@pytest.mark.clause("QNT-33", "QNT-34", "QNT-35")
@pytest.mark.parametrize("name", operations())
def test_every_operation_on_codes_is_the_one_on_their_values(name: str) -> None:
    codes = carried()
    if name == "squeeze_dim":
        codes = codes.narrow(0, 0, 1)
    dense = codes.dequantize()
    arguments = ARGUMENTS.get(name)
    if name in WITH_OPERAND:
        arguments = (codes,)
    elif name in WITH_NUMBER:
        arguments = (2.0,)
    elif arguments is None:
        wanted = inspect.signature(getattr(Tensor, name)).parameters
        arguments = (0,) if "dim" in wanted else ()

    def values(result: object) -> object:
        if isinstance(result, tuple | list):
            return [values(one) for one in result]
        assert isinstance(result, AnyTensor)
        plain = result.dequantize() if isinstance(result, Tensor) else result
        return plain.to_numpy().tolist()

    def on_values(argument: object) -> object:
        if isinstance(argument, list):
            return [on_values(one) for one in argument]
        return argument.dequantize() if isinstance(argument, QuantizedTensor) else argument

    found, expected = (
        values(getattr(codes, name)(*arguments)),
        values(getattr(dense, name)(*(on_values(argument) for argument in arguments))),
    )
    if name in REQUANTISED:
        assert np.allclose(np.array(found), np.array(expected), rtol=0.01, equal_nan=True)
    else:
        assert np.array_equal(np.array(found), np.array(expected), equal_nan=True)


@pytest.mark.clause("QNT-35")
def test_a_float_meets_the_values_of_codes_in_its_own_dtype() -> None:
    codes = carried()
    dense = codes.dequantize()
    half = dense.cast(DType.F16)

    assert (dense == codes).to_numpy().all()
    assert (half > codes).to_numpy().tolist() == (half > dense.cast(DType.F16)).to_numpy().tolist()
    assert dense.mask_where(dense > 0.0, codes).to_numpy().tolist() == dense.to_numpy().tolist()


@pytest.mark.clause("QNT-34")
def test_codes_and_floats_are_not_put_in_a_row() -> None:
    """Observed: Burn's texts differ by which comes first."""
    codes, dense = carried(), carried().dequantize()
    with pytest.raises(TensorError, match="Should be float, got quantized"):
        Tensor.cat([dense, codes], 0)
    with pytest.raises(TensorError, match="internal error: entered unreachable code"):
        Tensor.cat([codes, dense], 0)


@pytest.mark.clause("QNT-32")
def test_codes_are_no_number() -> None:
    with pytest.raises(TensorError, match="UnsupportedConversion"):
        carried().narrow(0, 0, 1).narrow(1, 0, 1).item()
    with pytest.raises(TensorError, match="expected: 1, actual: 4"):
        carried().item()


@pytest.mark.clause("QNT-33")
@pytest.mark.parametrize("call", ["swap_dims(0, 2)", "permute((0, 0))", "permute((0,))", "unsqueeze_dim(4)"])
def test_axes_that_a_quantised_tensor_has_not_are_refused(call: str) -> None:
    with pytest.raises((TensorError, InvalidArgumentError)):
        eval(f"tensor.{call}", {"tensor": carried()})
    with pytest.raises(TensorError, match="its size is not 1"):
        carried().squeeze_dim(0)


@pytest.mark.clause("QNT-27")
def test_requantising_after_a_move_leaves_a_nan_out_of_the_peak() -> None:
    """Pinned: Burn's own requantiser, which moves use on blocks, ignores what a calibration would not."""
    scheme = QuantScheme(QuantValue.E4M3, QuantStore.NATIVE, per_block=(BlockSize([2]), ScaleDtype.F32))
    data = TensorData(DType.qfloat(scheme), [2], bytes([0x7F, 0x7E]) + np.float32(1).tobytes())
    codes = Tensor.from_data(data, CPU)
    moved = codes.flip((0,))
    assert isinstance(moved, QuantizedTensor)

    assert moved.scales().tolist() == [1.0]
    assert moved.codes().view(np.uint8).tolist() == [0x7E, 0x7F]


@pytest.mark.clause("QNT-35")
def test_a_cast_is_refused_with_burns_text() -> None:
    with pytest.raises(TensorError, match="Should be Float primitive kind"):
        carried().cast(DType.F32)


@pytest.mark.clause("REC-20")
def test_an_int_tensor_takes_no_quantised_data() -> None:
    with pytest.raises(TensorError, match="Failed to convert TensorData"):
        IntTensor.from_record_data(DATA, CPU, DType.I32)
    with pytest.raises(TensorError, match="Failed to convert TensorData"):
        IntTensor.from_record_data(DATA, CPU, DATA.dtype)


@pytest.mark.clause("REC-20")
def test_a_quantised_target_takes_no_float_entry() -> None:
    entry = TensorData(DType.F32, [1], bytes(4))
    with pytest.raises(TensorError) as caught:
        Tensor.from_record_data(entry, CPU, DATA.dtype)

    assert str(caught.value) == f"Expected float dtype, got {DATA.dtype}"


@pytest.mark.clause("QNT-21")
@pytest.mark.parametrize(
    "export", [np.asarray, np.from_dlpack, lambda t: t.to_numpy()], ids=["array", "dlpack", "numpy"]
)
def test_stored_bytes_are_never_taken_for_values(export: Callable[[Any], Any]) -> None:
    scheme = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE)
    quantized = Tensor.from_data([127.0, 1.0], Device("cpu")).quantize_dynamic(scheme)

    with pytest.raises(TensorError, match="is no array of values") as raised:
        export(quantized)
    assert "dequantize()" in (raised.value.hint or "")
    assert np.asarray(quantized.dequantize()).tolist() == [127.0, 1.0]
