from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from refimpl.tensor.device import Device
from refimpl.tensor.quiet import Quiet
from refimpl.tensor.tensor import Tensor

SIM = Device("sim", 0)


def test_what_numpy_would_warn_of_is_silent_and_numpys_own_setting_stays() -> None:
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Quiet().run(np.divide, np.float32(0), np.float32(0))

    assert np.isnan(result)
    assert np.geterr() == before


def test_threads_compute_side_by_side_and_in_silence() -> None:
    matrix = Tensor.full([64, 64], 1e30, SIM)

    def compute(_: int) -> bool:
        with np.errstate(all="raise"):
            product = (matrix @ matrix) * 1e30 - matrix.exp()
        return bool(np.isinf(product.to_numpy()).any() or np.isnan(product.to_numpy()).any())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(compute, range(64)))
