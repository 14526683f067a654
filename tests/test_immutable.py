"""Values: refused changes, copies that are the object, pickles that give an equal one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refimpl import (
    BlockSize,
    Calibration,
    Device,
    DType,
    Lora,
    Module,
    ModuleRecord,
    Param,
    ParamGroup,
    ParamId,
    QLora,
    Quantizer,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
    Tensor,
    TensorData,
    open_burnpack,
)
from refimpl.burnpack.api import burnpack_bytes
from refimpl.errors import ArgumentTypeError
from refimpl.immutable import Value, value_of

CPU = Device("cpu")
BLOCKS = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=(BlockSize([2, 4]), ScaleDtype.F32))
WEIGHT = Tensor.from_data(np.arange(32, dtype=np.float32).reshape(4, 8), CPU)
REGEX = ParamGroup.from_regex("weight$")
PACK = open_burnpack(burnpack_bytes([("w", TensorData(DType.U8, [2], b"ab"), 7)], {"a": "b"}))


class Linear(Module):
    weight: Param[Tensor]


def linear() -> Linear:
    return Linear(weight=Param.from_tensor(WEIGHT))


def quantizer() -> Quantizer:
    return Quantizer(Calibration.MIN_MAX, BLOCKS, REGEX)


EQUAL: dict[str, Any] = {
    "BlockSize": BlockSize([2, 4]),
    "QuantScheme": BLOCKS,
    "QuantScheme, two levels": QuantScheme.nvfp4(),
    "DType": DType.qfloat(BLOCKS),
    "TensorData": WEIGHT.to_data(),
    "TensorData, deferred": TensorData.deferred(DType.U8, [2], 2, lambda: b"ab"),
    "TensorData, quantised": WEIGHT.quantize_dynamic(BLOCKS).to_data(),
    "group, all": ParamGroup.all(),
    "group, ids": ParamGroup.from_ids([ParamId.from_int(3)]),
    "group, module": ParamGroup.ids_from_module(linear()),
    "group, path": ParamGroup.from_path("weight"),
    "group, predicates": ParamGroup.from_predicates(["a", "b"]),
    "group, regex": REGEX,
    "group, combined": ParamGroup.from_any_regexes(["a", "b"]).exclude(ParamGroup.from_path("x")),
    "Lora": Lora(2, 4.0, dtype=DType.F16, param_group=REGEX),
}
AGAIN: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
each_way = pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)


@each_way
@pytest.mark.parametrize("value", EQUAL.values(), ids=EQUAL)
def test_what_is_copied_or_pickled_is_equal(value: Any, again: Callable[[Any], Any]) -> None:
    made = again(value)
    assert made == value
    assert repr(made) == repr(value)
    assert type(made) is type(value)


@each_way
def test_a_group_still_selects(again: Callable[[Any], Any]) -> None:
    group = again(REGEX)
    assert [group.matches(ParamId.new(), path) for path in ("a.weight", "a.bias")] == [True, False]


@each_way
def test_a_quantizer_still_quantises_what_it_did(again: Callable[[Any], Any]) -> None:
    pair = again(QLora(Lora(2, 4.0), quantizer()))
    made = pair.quantizer
    assert (made.calibration, made.scheme, made.group) == (Calibration.MIN_MAX, BLOCKS, REGEX)
    assert pair.lora == Lora(2, 4.0)
    module = linear()
    want = module.quantize_weights(quantizer()).into_record().into_bytes()
    assert module.quantize_weights(made).into_record().into_bytes() == want


@each_way
@pytest.mark.parametrize(
    "module",
    [
        linear().quantize_weights(quantizer()),
        linear().apply_qlora(QLora(Lora(2, 4.0), quantizer())),
    ],
    ids=["quantize_weights", "apply_qlora"],
)
def test_a_quantised_module_keeps_its_record_and_its_values(
    module: Linear, again: Callable[[Any], Any]
) -> None:
    made = again(module)
    assert made.into_record().into_bytes() == module.into_record().into_bytes()
    assert made.weight.val().dtype == module.weight.val().dtype
    np.testing.assert_array_equal(made.weight.val().to_data().bytes, module.weight.val().to_data().bytes)


@each_way
def test_a_block_quantised_tensor_keeps_codes_and_shape(again: Callable[[Any], Any]) -> None:
    tensor = WEIGHT.quantize_dynamic(BLOCKS)
    made = again(tensor)
    assert made.to_data() == tensor.to_data()
    assert made.shape == (4, 8)


@each_way
def test_a_block_that_a_file_spells_with_leading_ones_keeps_them(again: Callable[[Any], Any]) -> None:
    spelled = value_of(BlockSize, {"dims": (1, 4)})
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=(spelled, ScaleDtype.F32))
    assert again(scheme).per_block[0].dims == (1, 4)


@each_way
def test_a_record_is_whole_without_its_file(again: Callable[[Any], Any], tmp_path: Path) -> None:
    path = tmp_path / "module.bpk"
    linear().save_file(path)
    with ModuleRecord.load(path).allow_partial(True) as record:
        made = again(record)
        want = record.into_bytes()
        if made is not record:
            record.close()
        assert made.into_bytes() == want
        assert repr(made) == repr(record)


CHANGES: dict[str, tuple[Any, str]] = {
    "device": (Device("sim", 7), "index"),
    "device, tag": (Device("sim", 7).autodiff(), "is_autodiff"),
    "tensor data": (WEIGHT.to_data(), "shape"),
    "entry": (PACK["w"], "shape"),
    "container": (PACK, "metadata"),
    "block": (BlockSize([2]), "dims"),
    "group": (REGEX, "_matcher"),
    "record": (linear().into_record(), "_validate"),
}


@pytest.mark.parametrize(("value", "name"), CHANGES.values(), ids=CHANGES)
def test_an_attribute_is_neither_set_nor_deleted(value: Any, name: str) -> None:
    before = getattr(value, name)
    with pytest.raises(AttributeError, match=f"a {type(value).__name__} is a value: '{name}' cannot be set"):
        setattr(value, name, before)
    with pytest.raises(AttributeError, match=f"'{name}' cannot be deleted"):
        delattr(value, name)
    with pytest.raises(AttributeError):
        value.something_new = 1
    assert getattr(value, name) is before


@pytest.mark.parametrize("value", [PACK, PACK["w"]], ids=["container", "entry"])
def test_what_reads_a_file_is_not_pickled_and_says_what_is(value: object) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(ArgumentTypeError, match="cannot be pickled") as caught:
            pickle.dumps(value, protocol)
    assert "entry.data" in (caught.value.hint or "")


def test_bytes_that_somebody_may_write_to_are_copied_by_a_deep_copy_alone() -> None:
    given = bytearray(b"ab")
    data = TensorData(DType.U8, [2], given)
    deep, shallow = copy.deepcopy(data), copy.copy(data)
    given[0] = 0
    assert (bytes(deep.bytes), bytes(shallow.bytes)) == (b"ab", b"\0b")


def test_a_class_of_somebody_else_is_a_value_too() -> None:
    class Mine(Tensor):
        pass

    made = Mine.from_data([1.0], CPU)
    assert type(made) is Mine
    assert copy.deepcopy(made) is made


def test_every_value_has_slots_only() -> None:
    assert isinstance(WEIGHT, Value)
    assert not hasattr(BlockSize([2]), "__dict__")
    assert not hasattr(WEIGHT, "__dict__")
