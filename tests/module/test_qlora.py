from __future__ import annotations

import numpy as np
import pytest

from refimpl.errors import AlreadyQuantizedError, ArgumentTypeError, TensorError
from refimpl.module.lora import Lora, LoraAdapter, QLora
from refimpl.module.quantizer import Quantizer
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.record.record import ModuleRecord
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import QuantizedTensor, Tensor

from .adapted import CPU, Linear, layers, linear, numbers, param

Q8S = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)


def qlora(group: ParamGroup | None = None, quantised: ParamGroup | None = None) -> QLora:
    every = ParamGroup.all()
    return QLora(Lora(2, 4.0, param_group=group or every), Quantizer(Calibration.MIN_MAX, Q8S, quantised))


def is_packed(param: Param[Tensor] | None) -> bool:
    assert param is not None
    return isinstance(param.base(), QuantizedTensor)


def adapter(module: Linear) -> LoraAdapter:
    found = module.weight.reparameterization(LoraAdapter)
    assert found is not None
    return found


@pytest.mark.clause("LRA-10", "REP-27")
def test_everything_is_quantised_biases_too_and_matrices_are_adapted() -> None:
    module = layers(CPU.autodiff()).apply_qlora(qlora())

    for layer in module.layers:
        assert is_packed(layer.weight)
        assert is_packed(layer.bias)
        assert not is_packed(adapter(layer).a)
        assert adapter(layer).a.is_require_grad()
        assert not layer.weight.is_active
        assert layer.bias is not None
        assert layer.bias.reparameterization() is None


@pytest.mark.clause("LRA-10", "REP-27")
def test_the_two_groups_are_independent() -> None:
    adapted, packed = ParamGroup.from_path("layers.0.weight"), ParamGroup.from_predicate("layers.1")
    module = layers().apply_qlora(qlora(adapted, packed))

    assert [is_packed(layer.weight) for layer in module.layers] == [False, True]
    assert [is_packed(layer.bias) for layer in module.layers] == [False, True]
    assert [layer.weight.reparameterization() is not None for layer in module.layers] == [True, False]


@pytest.mark.clause("LRA-4", "LRA-5", "REP-27")
@pytest.mark.report("BL-29")
def test_the_effective_weight_of_a_half_model_is_f32_unless_a_dtype_is_set() -> None:
    half = linear(dtype=np.float16)
    default = half.apply_qlora(qlora())
    chosen = half.apply_qlora(QLora(Lora(2, 4.0, dtype=DType.F16), Quantizer(Calibration.MIN_MAX, Q8S)))

    assert (default.weight.val().dtype, chosen.weight.val().dtype) == (DType.F32, DType.F16)
    assert numbers(default.weight.val()) == numbers(default.weight.base())


@pytest.mark.clause("LRA-5", "LRA-8", "REP-18")
def test_merging_gives_a_dense_weight() -> None:
    module = linear().apply_qlora(qlora())
    factors = LoraAdapter(a=param(11, np.ones((2, 1))), b=param(12, np.ones((1, 3))), scale=2.0)
    tuned = Linear(weight=module.weight.with_reparameterization(factors), bias=module.bias)
    merged = tuned.materialize()

    assert not is_packed(merged.weight)
    assert is_packed(merged.bias)
    assert numbers(merged.weight.val()) == [[x + 2 for x in row] for row in numbers(module.weight.base())]


@pytest.mark.clause("LRA-8")
def test_valid_and_train_keep_the_base_packed() -> None:
    module = linear(device=CPU.autodiff()).apply_qlora(qlora())
    around = module.valid().train()

    assert is_packed(module.valid().weight)
    assert is_packed(around.weight)
    assert adapter(around).a.is_require_grad()
    assert not around.weight.base().is_require_grad


@pytest.mark.clause("REP-17", "REC-20")
def test_a_record_holds_the_packed_base_and_the_dense_factors() -> None:
    module = linear().apply_qlora(qlora())
    record = ModuleRecord.from_bytes(module.into_record().into_bytes())
    loaded = linear(9).apply_lora(Lora(2, 4.0)).load_record(record)

    kinds = {path: data.dtype.is_quantized for path, _, data in record.entries}
    assert kinds == {"weight": True, "weight.lora.a": False, "weight.lora.b": False, "bias": True}
    assert is_packed(loaded.weight)
    assert numbers(loaded.weight.val()) == numbers(module.weight.val())


def test_its_parts_are_what_they_should_be() -> None:
    with pytest.raises(ArgumentTypeError):
        QLora(Lora(1, 1.0), Q8S)  # type: ignore[arg-type]


@pytest.mark.clause("LRA-10")
@pytest.mark.report("BL-35")
def test_what_is_quantised_already_or_does_not_divide_is_refused() -> None:
    with pytest.raises(AlreadyQuantizedError, match="unreachable code"):
        linear().apply_qlora(qlora()).apply_qlora(qlora())
    blocks = QuantScheme(QuantValue.Q8S, per_block=(BlockSize([2]), ScaleDtype.F32))
    with pytest.raises(TensorError, match="must be evenly divisible"):
        linear().apply_qlora(QLora(Lora(1, 1.0), Quantizer(Calibration.MIN_MAX, blocks)))
