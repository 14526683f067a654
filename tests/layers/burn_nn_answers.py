"""What burn-nn 0.23.0-pre.1 computed on the Flex backend; `recorded/ask.rs` is the program that asked."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from refimpl.module.module import Module
from refimpl.param.param import Param
from refimpl.param.traversal import PathMapper
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor

M = TypeVar("M", bound=Module)
CPU = Device("cpu")


@cache
def answers() -> dict[str, dict[str, Any]]:
    with gzip.open(Path(__file__).parent / "recorded" / "answers.json.gz") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found


def array(recorded: dict[str, Any]) -> Any:
    return np.array(recorded["values"], np.float32).reshape(recorded["shape"])


def tensor(recorded: dict[str, Any], device: Device = CPU) -> Tensor:
    return Tensor.from_data(array(recorded), device)


class _Filled(PathMapper):
    """Gives each float parameter the recorded values of its path."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self._values = values

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        recorded = tensor(self._values.pop(self.path), param.lazy_device())
        return param.map(lambda _: recorded)


def filled(module: M, params: list[list[Any]]) -> M:
    """`module` with the recorded parameters; the paths of both must be the same."""
    values = {path: value for path, value in params if not isinstance(value, bool)}
    result = module.map(_Filled(values))
    assert values == {}
    return result


def close(got: Tensor, recorded: dict[str, Any], tolerance: float = 2e-6) -> None:
    want = array(recorded)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.to_numpy().astype(np.float32), want, rtol=tolerance, atol=tolerance)
