"""Reading answers that real Burn gave, and writing values the way they are written there."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.traversal import PathVisitor
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.random import Normal
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

FOLDER = Path(__file__).parent
CPU = Device("cpu")
NAMES = {"Bool(Native)": "bool", "Bool(U8)": "bool(u8)", "Bool(U32)": "bool(u32)"}


def load(name: str) -> Any:
    with gzip.open(FOLDER / name, "rt") as file:
        return json.load(file)


class BurnsNormals:
    """Stands in for `Tensor.random`: the normal values that Burn's flex backend draws after a seed."""

    def __init__(self) -> None:
        streams = json.loads((FOLDER / "normals.json").read_text())["seeds"]
        self._streams = {int(n): np.frombuffer(bytes.fromhex(text), "<f4") for n, text in streams.items()}
        self._rest: Iterator[float] = iter(())

    def seed(self, number: int) -> None:
        self._rest = iter(self._streams[number].tolist())

    def random(self, shape: tuple[int, ...], distribution: Normal, device: Device) -> Tensor:
        assert distribution.mean == 0.0
        drawn = [next(self._rest) * distribution.std for _ in range(math.prod(shape))]
        return Tensor.from_data(values(drawn, shape, DType.F32), device)


def values(numbers: list[float], shape: tuple[int, ...], dtype: DType) -> TensorData:
    """`numbers`, given as f64, in `dtype`."""
    array = np.array(numbers, np.float64).reshape(shape).astype(dtype.numpy)
    return TensorData.from_array(array, dtype)


def float_param(
    id: int, numbers: list[float], shape: tuple[int, ...], dtype: DType, device: Device
) -> Param[Tensor]:
    tensor = Tensor.from_data(values(numbers, shape, dtype), device)
    return Param.from_tensor(tensor).with_id(ParamId.from_int(id))


def int_param(
    id: int, numbers: list[float], shape: tuple[int, ...], dtype: DType, device: Device
) -> Param[IntTensor]:
    return Param.initialized(ParamId.from_int(id), IntTensor.from_data(values(numbers, shape, dtype), device))


def bool_param(
    id: int, numbers: list[float], shape: tuple[int, ...], dtype: DType, device: Device
) -> Param[BoolTensor]:
    return Param.initialized(
        ParamId.from_int(id), BoolTensor.from_data(values(numbers, shape, dtype), device)
    )


def flag(id: int, value: bool) -> Param[Flag]:
    return Param.from_bool(value).with_id(ParamId.from_int(id))


class Labels:
    """Ids below 2^32 are chosen and print as they are; random ones by order of appearance."""

    def __init__(self) -> None:
        self._seen: dict[int, str] = {}

    def __call__(self, id: ParamId) -> str:
        number = int(id)
        return str(number) if number < 2**32 else self._seen.setdefault(number, f"new#{len(self._seen)}")


def data_json(data: TensorData) -> dict[str, Any]:
    text = repr(data.dtype)
    name = text if data.dtype.is_quantized else NAMES.get(text, text.lower())
    return {"dtype": name, "shape": list(data.shape), "hex": bytes(data.bytes).hex()}


class Dumper(PathVisitor):
    """What `util.rs` dumps of every parameter."""

    def __init__(self, labels: Labels) -> None:
        super().__init__()
        self.labels = labels
        self.out: list[dict[str, Any]] = []

    def _dump(self, param: Param[Any], kind: str) -> None:
        entry: dict[str, Any] = {
            "path": self.path,
            "kind": kind,
            "rank": len(param.lazy_shape()),
            "id": self.labels(param.id),
            "shape": list(param.lazy_shape()),
            "initialized": param.is_initialized(),
            "device_autodiff": param.lazy_device().is_autodiff,
        }
        if param.is_initialized():
            value = param.val()
            entry["value"] = data_json(value.to_data())
            entry["value_autodiff"] = value.is_autodiff
            entry["require_grad"] = kind == "float" and value.is_require_grad
            if kind == "float":
                try:
                    entry["require_grad_after_train"] = param.clone().train().val().is_require_grad
                except Exception as error:
                    entry["require_grad_after_train"] = {"panic": str(error)}
        self.out.append(entry)

    def visit_float(self, param: Param[Tensor]) -> None:
        self._dump(param, "float")

    def visit_int(self, param: Param[IntTensor]) -> None:
        self._dump(param, "int")

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self._dump(param, "bool")

    def visit_flag(self, flag: Param[Flag]) -> None:
        self.out.append(
            {
                "path": self.path,
                "kind": "flag",
                "id": self.labels(flag.id),
                "enabled": flag.is_enabled(),
                "enabled_after_train": flag.clone().train().is_enabled(),
                "initialized": flag.is_initialized(),
            }
        )


def dump(module: Any, labels: Labels | None = None) -> list[dict[str, Any]]:
    dumper = Dumper(labels or Labels())
    module.visit(dumper)
    return dumper.out


def without_device_text(dumped: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded dump less what names Burn's device in Burn's Debug form."""
    return [{k: v for k, v in entry.items() if k != "device"} for entry in dumped]
