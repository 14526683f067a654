from __future__ import annotations

import gc
import struct
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    RefimplError,
    TensorError,
    UnsupportedDTypeError,
)
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import QuantScheme, QuantValue
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

CPU = Device("cpu")
A = np.arange(6, dtype=np.float32).reshape(2, 3)
LAYOUTS = {
    "fortran": (np.asfortranarray(A), A),
    "transposed": (A.T, A.T),
    "strided": (A[:, ::2], A[:, ::2]),
    "reversed": (A[::-1], A[::-1]),
    "broadcast": (np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)), [[0, 1, 2]] * 2),
    "stride 0": (np.lib.stride_tricks.as_strided(np.float32(7), (2, 2), (0, 0)), [[7, 7]] * 2),
    "big endian": (A.astype(">f4"), A),
}


@pytest.mark.report("BL-02")
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_memory_layout_of_an_array_never_shows(name: str) -> None:
    given_array, want = LAYOUTS[name]
    data = Tensor.from_data(given_array, CPU).to_data()

    values = [v for row in np.asarray(want).tolist() for v in row]
    assert bytes(data.bytes) == struct.pack(f"<{len(values)}f", *values)


@pytest.mark.report("BL-02")
def test_the_layout_of_a_results_storage_never_shows() -> None:
    tensor = Tensor.from_data(A, CPU)

    for moved, want in ((tensor.T, A.T), (tensor.flip([0]), A[::-1]), (tensor[:, ::2], A[:, ::2])):
        assert bytes(moved.to_data().bytes) == want.astype("<f4").tobytes(order="C")


@pytest.mark.report("BL-02")
def test_a_read_only_array_is_taken_as_any_other() -> None:
    array = A.copy()
    array.flags.writeable = False

    assert Tensor.from_data(array, CPU).to_numpy().tolist() == A.tolist()


@pytest.mark.parametrize("make", [lambda a: a, lambda a: TensorData.from_array(a), memoryview])
def test_a_callers_array_is_copied(make: Any) -> None:
    array = np.ones(3, np.float32)
    tensor = Tensor.from_data(make(array), CPU)
    array[:] = 5

    assert tensor.to_numpy().tolist() == [1, 1, 1]


def test_data_over_a_bytearray_is_copied() -> None:
    raw = bytearray(struct.pack("<f", 1.0))
    tensor = Tensor.from_data(TensorData(DType.F32, [1], raw), CPU)
    raw[:] = struct.pack("<f", 9.0)

    assert tensor.item() == 1.0


def test_arrays_handed_out_are_read_only() -> None:
    tensor = Tensor.ones([2], CPU) + 1.0

    for array in (tensor.array, tensor.to_numpy(), np.asarray(tensor)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor.ones([2, 2], CPU),
        Tensor.ones([2, 2], CPU).reshape([4]),
        Tensor.ones([2, 2], CPU, DType.BF16).T,
        Tensor.ones([2, 2], CPU)[1:],
        Tensor.ones([600, 600], CPU).quantize_dynamic(QuantScheme(value=QuantValue.Q8S)).dequantize(),
    ],
    ids=["owner", "reshaped", "transposed", "sliced", "memory used again"],
)
def test_no_array_that_is_handed_out_can_be_made_writable(tensor: Tensor) -> None:
    for array in (tensor.array, tensor.to_numpy(), np.asarray(tensor)):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
            array.view().flags.writeable = True
    assert np.array(tensor).flags.writeable


VALUES: dict[DType, list[str]] = {
    DType.F64: ["7ff8000000000001", "8000000000000000", "0000000000000001", "fff0000000000000"],
    DType.F32: ["7fc00001", "80000000", "00000001", "ff800000", "7f7fffff"],
    DType.F16: ["7e01", "8000", "0001", "fc00", "7bff"],
    DType.BF16: ["7fc1", "8000", "0001", "ff80", "7f7f"],
    DType.I64: ["7fffffffffffffff", "8000000000000000"],
    DType.I32: ["7fffffff", "80000000"],
    DType.I16: ["7fff", "8000"],
    DType.I8: ["7f", "80"],
    DType.U64: ["ffffffffffffffff"],
    DType.U32: ["ffffffff"],
    DType.U16: ["ffff"],
    DType.U8: ["ff"],
    DType.BOOL_NATIVE: ["00", "01"],
    DType.FLEX32: ["7fc00001", "80000000"],
}


@pytest.mark.report("BL-36")
@pytest.mark.parametrize("dtype", VALUES, ids=str)
@pytest.mark.parametrize("device", [CPU, Device("sim", 1)])
def test_dtype_and_bits_are_kept_nan_payloads_and_negative_zero_included(
    dtype: DType, device: Device
) -> None:
    raw = b"".join(bytes.fromhex(text)[::-1] for text in VALUES[dtype])
    data = TensorData(dtype, [len(VALUES[dtype])], raw)
    cls = Tensor if dtype.is_float else IntTensor if dtype.is_int else BoolTensor

    for made in (cls.from_data(data, device), cls.from_record_data(data, device, dtype)):
        assert (made.dtype, bytes(made.to_data().bytes)) == (dtype, raw)


@pytest.mark.report("BL-36")
def test_one_in_bfloat16_is_80_3f() -> None:
    assert bytes(Tensor.ones([1], CPU, DType.BF16).to_data().bytes) == b"\x80\x3f"


@pytest.mark.report("BL-42")
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0, 2)])
@pytest.mark.parametrize("cls", [Tensor, BoolTensor, IntTensor])
def test_scalars_and_empty_tensors_keep_their_exact_shape(cls: type[Tensor], shape: tuple[int, ...]) -> None:
    tensor = cls.zeros(shape, CPU)
    again = cls.from_data(tensor.to_data(), CPU)

    assert (again.shape, again.rank, again.size) == (shape, len(shape), int(np.prod(shape)))
    assert again.to_data() == tensor.to_data()


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (np.float64(1.5), DType.F64),
        (np.ones(1, np.float16), DType.F16),
        (np.ones(1, ml_dtypes.bfloat16), DType.BF16),
        (np.ones(1, np.int64), DType.F32),
        (np.ones(1, bool), DType.F32),
        ([1.5], DType.F32),
        (2, DType.F32),
        (TensorData(DType.F64, [1], bytes(8)), DType.F64),
        (TensorData(DType.I8, [1], bytes(1)), DType.F32),
    ],
)
def test_a_float_array_keeps_its_dtype_and_anything_else_takes_the_devices(
    value: object, want: DType
) -> None:
    assert Tensor.from_data(value, CPU).dtype is want


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (np.array([1, 2], np.uint8), DType.U8, [1, 2]),
        ([1, 2], DType.I32, [1, 2]),
        (np.array([1.7, -2.7]), DType.I32, [1, -2]),
        ([True, False], DType.I32, [1, 0]),
    ],
)
def test_an_int_tensor_takes_integers_as_they_are_and_truncates_floats(
    value: object, dtype: DType, want: list[int]
) -> None:
    got = IntTensor.from_data(value, CPU)

    assert (got.dtype, got.to_numpy().tolist()) == (dtype, want)


def test_a_bool_tensor_takes_anything_for_true_that_is_not_zero() -> None:
    assert BoolTensor.from_data([0.0, -0.0, 0.5, float("nan")], CPU).to_numpy().tolist() == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    "value",
    [
        "text",
        ["a"],
        [None],
        [[1], [1, 2]],
        np.array([object], dtype=object),
        1j,
        np.array(["x"]),
        {1: 2},
        b"raw",
    ],
    ids=repr,
)
@pytest.mark.parametrize("cls", [Tensor, IntTensor, BoolTensor])
def test_what_is_no_number_is_refused_with_a_typed_error(cls: type[Tensor], value: object) -> None:
    with pytest.raises(ArgumentTypeError):
        cls.from_data(value, CPU)


def test_an_integer_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="64 bits"):
        IntTensor.from_data([2**70], CPU)


def test_the_greatest_u64_is_kept() -> None:
    assert IntTensor.from_data([2**64 - 1], CPU, DType.U64).item() == 2**64 - 1


def test_an_integer_that_the_default_dtype_does_not_hold_is_refused() -> None:
    with pytest.raises(TensorError, match="Element cannot be represented"):
        IntTensor.from_data([2**40], CPU)


def test_a_tensor_is_no_data() -> None:
    with pytest.raises(ArgumentTypeError, match="from_data takes values"):
        Tensor.from_data(Tensor.ones([1], CPU), CPU)


@pytest.mark.parametrize("cls", [Tensor, IntTensor, BoolTensor])
def test_calling_the_class_says_how_a_tensor_is_made(cls: type[Tensor]) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        cls([1.0])

    assert "from_data" in str(caught.value.hint)


@pytest.mark.clause("REC-20")
def test_a_float_tensor_of_an_int_dtype_is_refused_with_burns_text() -> None:
    with pytest.raises(TensorError) as caught:
        Tensor.from_data([1.0], CPU, DType.I32)

    assert str(caught.value) == "Expected float dtype, got I32"


@pytest.mark.clause("REC-20")
def test_an_int_parameter_can_get_floats_from_a_record_and_carries_them() -> None:
    data = TensorData(DType.F32, [2], struct.pack("<2f", 1.5, -2.5))
    odd = IntTensor.from_record_data(data, CPU, DType.F32)

    assert (odd.dtype, odd.to_data()) == (DType.F32, data)
    assert odd.reshape([2, 1]).to_device(Device("sim", 0)).to_data().bytes == data.bytes
    for refused in (lambda: odd + odd, lambda: odd > 0):
        with pytest.raises(TensorError, match="unsupported dtype F32"):
            refused()


def test_a_record_entrys_bytes_become_the_storage_without_a_copy() -> None:
    raw = bytes(range(16))
    tensor = Tensor.from_record_data(TensorData(DType.F32, [4], raw), CPU, DType.F32)

    assert np.shares_memory(tensor.array, np.frombuffer(raw, np.uint8))


@pytest.mark.parametrize("cls", [Tensor, IntTensor, BoolTensor])
def test_tensors_of_one_value_are_made_by_shape(cls: type[Tensor]) -> None:
    like = cls.ones([2, 1], CPU)

    assert cls.zeros(3, CPU).to_numpy().tolist() == [0, 0, 0]
    assert cls.full([1], 1, CPU).to_numpy().tolist() == [1]
    assert like.zeros_like().to_numpy().tolist() == [[0], [0]]
    assert like.ones_like().to_numpy().tolist() == [[1], [1]]
    assert (like.full_like(0).shape, like.full_like(0).dtype) == ((2, 1), like.dtype)


def test_a_shape_has_extents_of_at_least_zero() -> None:
    with pytest.raises(InvalidArgumentError, match="extents of a shape are at least 0"):
        Tensor.zeros([-1], CPU)


@pytest.mark.parametrize("shape", [[1.5], ["2"], [True], None])
def test_the_extents_of_a_shape_are_integers(shape: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="an extent of a shape is an integer"):
        Tensor.zeros(shape, CPU)


def test_a_dtype_of_another_kind_makes_no_tensor_of_one_value() -> None:
    with pytest.raises(UnsupportedDTypeError, match="IntTensor has no elements of F32"):
        IntTensor.zeros([1], CPU, DType.F32)


def test_a_range_of_integers_leaves_its_end_out() -> None:
    assert IntTensor.arange(1, 8, CPU, 3).to_numpy().tolist() == [1, 4, 7]
    with pytest.raises(TensorError, match="step"):
        IntTensor.arange(0, 1, CPU, 0)


def test_one_element_is_a_number_of_python() -> None:
    assert Tensor.from_data([[2.5]], CPU).item() == 2.5
    assert float(Tensor.from_data([2.5], CPU).into_scalar()) == 2.5
    assert type(BoolTensor.ones([1], CPU).item()) is bool
    with pytest.raises(TensorError, match=r"InvalidShape \{ expected: 1, actual: 6 \}"):
        Tensor.ones([2, 3], CPU).item()


def test_the_truth_of_one_element_is_defined_and_of_more_is_not() -> None:
    assert Tensor.ones([1], CPU)
    assert not BoolTensor.zeros([1], CPU)
    with pytest.raises(TensorError, match="not defined"):
        bool(Tensor.ones([2], CPU))


def test_a_length_is_the_outermost_extent() -> None:
    assert len(Tensor.ones([3, 2], CPU)) == 3
    with pytest.raises(ArgumentTypeError):
        len(Tensor.from_data(1.0, CPU))


def test_tensors_are_hashed_by_what_they_are_not_by_their_elements() -> None:
    one, other = Tensor.ones([2], CPU), Tensor.ones([2], CPU)

    assert {one: 1}[one] == 1
    assert len({one, other}) == 2


def test_storage_is_freed_with_its_last_tensor() -> None:
    tensor = Tensor.ones([2], CPU)
    seen = weakref.ref(tensor)
    del tensor
    gc.collect()

    assert seen() is None


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda: Tensor.from_data([1.0, 2.5], CPU), "Tensor([1, 2.5], [2], F32, cpu)"),
        (
            lambda: Tensor.ones([2, 4], Device("sim", 1).autodiff()).require_grad(),
            "Tensor([1, 1, 1, 1, 1, 1, ...], [2, 4], F32, sim:1+autodiff, leaf)",
        ),
        (lambda: BoolTensor.ones([1], CPU), "BoolTensor([True], [1], Bool(Native), cpu)"),
        (lambda: Tensor.ones([1], CPU, DType.BF16), "Tensor([1], [1], BF16, cpu)"),
    ],
)
def test_a_tensor_shows_values_shape_dtype_device_and_state(make: Any, want: str) -> None:
    assert repr(make()) == want


@given(st.binary(max_size=24))
def test_bytes_are_no_values(raw: bytes) -> None:
    with pytest.raises(RefimplError):
        Tensor.from_data(raw, CPU)
