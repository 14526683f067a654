from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.errors import AlreadyQuantizedError, ArgumentTypeError, PanicError, TensorError
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.module.trait import list_param_ids
from refimpl.param.flag import Flag
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.running import RunningState
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import BoolTensor, IntTensor, QuantizedTensor, Tensor

from .adapted import CPU, Linear, layers, lazy, linear, numbers, param, paths, tensor

AUTODIFF = CPU.autodiff()


def quantizer(block: list[int] | None = None, value: QuantValue = QuantValue.Q8S) -> Quantizer:
    f32 = ScaleDtype.F32
    per_block = None if block is None else (BlockSize(block), f32)
    scheme = QuantScheme(value, QuantStore.NATIVE, per_tensor=None if block else f32, per_block=per_block)
    return Quantizer(Calibration.MIN_MAX, scheme)


def is_packed(param: Param[Any] | None) -> bool:
    assert param is not None
    return isinstance(param.val(), QuantizedTensor)


class Mixed(Module):
    weight: Param[Tensor]
    gain: Param[Tensor]
    count: Param[IntTensor]
    mask: Param[BoolTensor]
    on: Param[Flag]
    mean: RunningState


def mixed() -> Mixed:
    return Mixed(
        weight=param(1, np.arange(8).reshape(2, 4)),
        gain=param(2, [1, 2, 3, 4]),
        count=Param.initialized(ParamId.from_int(3), IntTensor.from_data([1, 2], CPU)),
        mask=Param.initialized(ParamId.from_int(4), BoolTensor.from_data([True, False], CPU)),
        on=Param.from_bool(True),
        mean=RunningState.with_id(ParamId.from_int(6), tensor([1.0, 2.0, 3.0, 4.0])),
    )


@pytest.mark.clause("QNT-36", "MOD-54")
def test_floats_biases_and_running_states_are_quantised_and_nothing_else() -> None:
    module = mixed().quantize_weights(quantizer())

    assert is_packed(module.weight)
    assert is_packed(module.gain)
    assert isinstance(module.mean.value(), QuantizedTensor)
    assert module.count.val().to_numpy().tolist() == [1, 2]
    assert module.mask.val().to_numpy().tolist() == [True, False]
    assert module.on.is_enabled()
    assert list_param_ids(module) == list_param_ids(mixed())


@pytest.mark.clause("QNT-36")
def test_the_codes_are_those_of_the_range_of_the_base() -> None:
    module = linear().quantize_weights(quantizer())
    scale = np.float32(12) / np.float32(254)
    codes = np.rint(np.arange(1, 7, dtype=np.float32) / scale)

    found = module.weight.val()
    assert isinstance(found, QuantizedTensor)
    assert found.codes().reshape(-1).tolist() == codes.tolist()
    assert numbers(found) == (codes.astype(np.float32) * scale).reshape(2, 3).tolist()


@pytest.mark.clause("QNT-36", "QNT-37")
def test_ids_functions_and_what_a_parameter_remembers_stay_and_the_tensor_has_no_gradient() -> None:
    weight = linear(device=AUTODIFF).weight.load_mapper(lambda t: t).save_mapper(lambda t: t)
    module = Linear(weight=weight, bias=None).quantize_weights(quantizer())

    assert (module.weight.id, repr(module.weight)) == (weight.id, repr(weight))
    assert module.weight.is_active
    assert not module.weight.is_require_grad()
    assert not module.train().weight.val().is_require_grad


@pytest.mark.clause("QNT-36")
def test_lazy_parameters_are_initialised() -> None:
    module = Linear(weight=lazy(1, np.ones((2, 3))), bias=None).quantize_weights(quantizer())

    assert is_packed(module.weight)


@pytest.mark.clause("QNT-36")
@pytest.mark.report("BL-35")
def test_quantising_twice_is_refused_and_says_which_parameter_it_is_about() -> None:
    once = linear().quantize_weights(quantizer())
    with pytest.raises(AlreadyQuantizedError) as caught:
        once.quantize_weights(quantizer())

    assert str(caught.value) == "internal error: entered unreachable code"
    assert isinstance(caught.value, PanicError)
    assert "dequantise it first, or leave it out by a group" in (caught.value.hint or "")
    assert "parameter: 'weight' of shape [2, 3]" in caught.value.__notes__


@pytest.mark.clause("QNT-36", "QNT-12")
@pytest.mark.report("BL-35")
def test_one_parameter_that_does_not_divide_refuses_the_whole_and_nothing_has_changed() -> None:
    module = Linear(weight=param(1, np.ones((2, 4))), bias=param(2, np.ones(10)))
    how = quantizer([4])
    with pytest.raises(TensorError, match="must be evenly divisible by block size") as caught:
        module.quantize_weights(how)

    assert "parameter: 'bias' of shape [10]" in caught.value.__notes__
    assert not is_packed(module.weight)
    assert how.num_quantized == 0
    rest = ParamGroup.all().exclude(ParamGroup.from_path("bias"))
    spared = module.quantize_weights_group(how, rest)
    assert (is_packed(spared.weight), is_packed(spared.bias)) == (True, False)


@pytest.mark.clause("QNT-36", "QNT-12")
@pytest.mark.report("BL-35")
def test_a_lazy_parameter_that_does_not_divide_is_refused_when_it_is_there() -> None:
    module = Linear(weight=lazy(1, np.ones((2, 3))), bias=None)
    with pytest.raises(TensorError, match="must be evenly divisible"):
        module.quantize_weights(quantizer([4]))


@pytest.mark.clause("QNT-38", "MOD-54")
def test_a_group_stays_in_the_quantizer() -> None:
    how = quantizer()
    first = layers().quantize_weights_group(how, ParamGroup.from_predicate("layers.0"))
    second = layers().quantize_weights(how)

    for module in (first, second):
        assert [is_packed(layer.weight) for layer in module.layers] == [True, False]
    how.set_param_group(ParamGroup.all())
    assert is_packed(layers().quantize_weights(how).layers[1].weight)


@pytest.mark.clause("QNT-36")
@pytest.mark.report("BL-35")
def test_a_group_of_ids_may_hold_ints_and_bools_and_leaves_them() -> None:
    ids = ParamGroup.from_ids([ParamId.from_int(i) for i in (1, 3, 4)])
    module = mixed().quantize_weights_group(quantizer(), ids)

    assert (is_packed(module.weight), is_packed(module.gain)) == (True, False)
    assert module.count.val().to_numpy().tolist() == [1, 2]


@pytest.mark.report("BL-32")
def test_a_parameter_in_two_places_is_quantised_in_both() -> None:
    shared = param(1, np.ones((2, 2)))
    module = layers()
    tied = type(module)(
        layers=tuple(Linear(weight=shared, bias=None) for _ in range(2)), on=module.on
    ).quantize_weights(quantizer())

    assert [is_packed(layer.weight) for layer in tied.layers] == [True, True]


@pytest.mark.clause("MOD-37")
def test_a_packed_weight_counts_its_logical_elements() -> None:
    scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0), per_tensor=ScaleDtype.F32)
    module = Linear(weight=param(1, np.ones((8, 8))), bias=None)

    assert module.quantize_weights(Quantizer(Calibration.MIN_MAX, scheme)).num_params() == 64


@pytest.mark.clause("QNT-36", "REC-20")
def test_a_quantised_module_survives_a_record_into_a_dense_one() -> None:
    packed = mixed().quantize_weights(quantizer())
    loaded = mixed().load_record(packed.into_record())

    assert numbers(loaded.weight.val()) == numbers(packed.weight.val())
    assert is_packed(loaded.gain)
    assert paths(loaded) == paths(packed)


@pytest.mark.clause("QNT-36")
@pytest.mark.parametrize("calibration", list(Calibration))
def test_a_quantizer_calibrates_as_it_is_told(calibration: Calibration) -> None:
    scheme = QuantScheme(QuantValue.Q2S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    module = Linear(weight=param(1, [[4.0, 1.0, -1.0]]), bias=None)
    found = module.quantize_weights(Quantizer(calibration, scheme)).weight.val()
    assert isinstance(found, QuantizedTensor)

    assert found.scales().tolist() == [4.0 if calibration is Calibration.MIN_MAX else 2.0]
    assert found.codes().tolist() == [[1, 0, 0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Quantizer("MinMax", QuantScheme()),  # type: ignore[arg-type]
        lambda: Quantizer(Calibration.MIN_MAX, "Q8S"),  # type: ignore[arg-type]
        lambda: Quantizer(Calibration.MIN_MAX, QuantScheme(), "weight"),  # type: ignore[arg-type]
        lambda: linear().quantize_weights(QuantScheme()),  # type: ignore[arg-type]
        lambda: linear().quantize_weights_group(None, ParamGroup.all()),  # type: ignore[arg-type]
        lambda: linear().quantize_weights_group(quantizer(), None),  # type: ignore[arg-type]
    ],
)
def test_a_quantizer_and_its_parts_are_what_they_should_be(call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        call()


def test_a_parameter_without_axes_has_no_blocks_and_is_named() -> None:
    module = Linear(weight=param(1, np.ones((2, 4))), bias=param(2, np.array(3.0)))
    with pytest.raises(TensorError, match=r"a tensor without axes has no blocks of \[4\]") as caught:
        module.quantize_weights(quantizer([4]))
    assert "parameter: 'bias' of shape []" in caught.value.__notes__
