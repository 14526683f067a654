from __future__ import annotations

import pytest

from refimpl.errors import TensorError
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import IntTensor, QuantizedTensor, Tensor

CPU = Device("cpu")
SCHEME = QuantScheme(value=QuantValue.Q8S, store=QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
DATA = TensorData(DType.qfloat(SCHEME), [2, 2], bytes(range(8)))


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


@pytest.mark.clause("QNT-35")
def test_a_cast_is_refused_with_burns_text() -> None:
    with pytest.raises(TensorError, match="Should be Float primitive kind"):
        carried().cast(DType.F32)


@pytest.mark.clause("REC-20")
def test_an_int_tensor_takes_no_quantised_data() -> None:
    with pytest.raises(TensorError, match="Failed to convert TensorData"):
        IntTensor.from_record_data(DATA, CPU, DType.I32)


@pytest.mark.clause("REC-20")
def test_a_quantised_target_takes_no_float_entry() -> None:
    entry = TensorData(DType.F32, [1], bytes(4))
    with pytest.raises(TensorError) as caught:
        Tensor.from_record_data(entry, CPU, DATA.dtype)

    assert str(caught.value) == f"Expected float dtype, got {DATA.dtype}"
