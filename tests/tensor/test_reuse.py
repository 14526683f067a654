"""Memory of dropped results is used again, and never while anything lies in it."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from refimpl import Device, DType, QuantScheme, QuantStore, QuantValue, ScaleDtype, Tensor
from refimpl.errors import ArgumentTypeError
from refimpl.tensor import reuse
from refimpl.tensor.reuse import LEAST, MOST, uninitialized

F32 = np.dtype("<f4")


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    reuse._dropped.clear()
    yield
    reuse._dropped.clear()


def test_the_last_view_gives_the_memory_back() -> None:
    array = uninitialized((1024, 512), F32)
    assert array.flags.carray
    place, row = array.ctypes.data, array[7].T
    row[:] = 3
    del array
    other = uninitialized((1024, 512), F32)
    assert other.ctypes.data != place
    other.fill(5)
    assert row.tolist() == [3.0] * 512
    del row
    assert uninitialized((512, 512), np.dtype("<f8")).ctypes.data == place


def test_a_result_of_another_size_takes_memory_of_its_own() -> None:
    place = uninitialized((LEAST,), np.dtype("u1")).ctypes.data
    assert uninitialized((LEAST + 1,), np.dtype("u1")).shape == (LEAST + 1,)
    assert uninitialized((LEAST // 2,), np.dtype("<u2")).ctypes.data == place


def test_no_more_than_two_are_kept_and_none_that_is_small_or_huge() -> None:
    arrays = [uninitialized((LEAST + n,), np.dtype("u1")) for n in range(5)]
    arrays.append(uninitialized((LEAST - 1,), np.dtype("u1")))
    arrays.append(uninitialized((MOST + 1,), np.dtype("u1")))
    arrays.append(uninitialized((0, 3), F32))
    while arrays:
        arrays.pop(0)
    assert [memory.size for memory in reuse._dropped] == [LEAST + 3, LEAST + 4]


def test_values_that_somebody_holds_stay_as_they_are() -> None:
    device = Device("cpu")
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    first, second = (
        Tensor.from_data(np.full((600, 600), value, np.float32), device).quantize_dynamic(scheme)
        for value in (1.0, -2.0)
    )
    values = first.dequantize()
    held = values.to_numpy()
    before = held.copy()
    del values
    for _ in range(4):
        assert np.all(second.dequantize().to_numpy() == second.dequantize(DType.F64).to_numpy())
    np.testing.assert_array_equal(held, before)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_the_memory_below_an_array_is_never_lent_twice(again: Callable[[object], object]) -> None:
    below: Any = uninitialized((LEAST,), np.dtype("u1"))
    while isinstance(below, np.ndarray):
        below = below.base
    with pytest.raises(ArgumentTypeError, match="two arrays would lie in it"):
        again(below)


def test_threads_never_share_memory() -> None:
    wrong: list[int] = []
    interval = sys.getswitchinterval()

    def work(number: int) -> None:
        for _ in range(150):
            array = uninitialized((LEAST // 4,), F32)
            array.fill(number)
            if not (array[::4096] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    gc.collect()
    assert len(reuse._dropped) <= 2
