"""The modules and records that the recorded option grid was made of."""

from __future__ import annotations

from typing import Any

from refimpl.module.module import Module
from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.record.record import ModuleRecord
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor
from tests.golden.recorded import CPU, bool_param, flag, float_param, int_param

F32 = DType.F32
NATIVE, BOOL_U8 = DType.BOOL_NATIVE, DType.BOOL_U8
AUTODIFF = CPU.autodiff()


class Tiny(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]


class TinyWide(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]
    gamma: Param[Tensor]


class OnlyBias(Module):
    bias: Param[Tensor]


class TinyInt(Module):
    weight: Param[Tensor]
    bias: Param[IntTensor]


class TinyBool(Module):
    weight: Param[Tensor]
    bias: Param[BoolTensor]


class Flagged(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]
    on: Param[Flag]
    rate: float


class Nest(Module):
    first: Tiny
    second: Tiny


class Odd(Module):
    bias: Param[Tensor]
    zeta: Param[Tensor]
    alpha: Param[Tensor]


def tiny(base: int, dtype: DType = F32, device: Device = CPU) -> Tiny:
    return Tiny(
        weight=float_param(base, [1.1, 2.2, 3.3, 4.4], (2, 2), dtype, device),
        bias=float_param(base + 1, [0.5, -7.75], (2,), dtype, device),
    )


def wide() -> TinyWide:
    return TinyWide(
        weight=float_param(20, [0.0] * 4, (2, 2), F32, CPU),
        bias=float_param(21, [0.0] * 2, (2,), F32, CPU),
        gamma=float_param(22, [9.0, 9.0], (2,), F32, CPU),
    )


def shaped(first: int, weight: tuple[int, ...], bias: int) -> Tiny:
    count = 1
    for extent in weight:
        count *= extent
    numbers = [float(i + 1) for i in range(count)]
    return Tiny(
        weight=float_param(first, numbers, weight, F32, CPU),
        bias=float_param(first + 1, [float(i + 1) for i in range(bias)], (bias,), F32, CPU),
    )


def flagged(on: bool, base: int) -> Flagged:
    return Flagged(
        weight=float_param(base, [1.0, 2.0, 3.0, 4.0], (2, 2), F32, CPU),
        bias=float_param(base + 1, [5.0, 6.0], (2,), F32, CPU),
        on=flag(base + 2, on),
        rate=float(base),
    )


def ints(base: int, dtype: DType, numbers: tuple[float, float] = (5.0, 6.0)) -> TinyInt:
    return TinyInt(
        weight=float_param(base, [1.0, 2.0, 3.0, 4.0], (2, 2), F32, CPU),
        bias=int_param(base + 1, list(numbers), (2,), dtype, CPU),
    )


def bools(base: int, dtype: DType) -> TinyBool:
    return TinyBool(
        weight=float_param(base, [1.0, 2.0, 3.0, 4.0], (2, 2), F32, CPU),
        bias=bool_param(base + 1, [1.0, 0.0], (2,), dtype, CPU),
    )


def odd() -> Odd:
    return Odd(
        bias=float_param(11, [1.0, 2.0, 3.0], (3,), F32, CPU),
        zeta=float_param(12, [1.0], (1,), F32, CPU),
        alpha=float_param(13, [1.0], (1,), F32, CPU),
    )


def nest() -> Nest:
    return Nest(first=tiny(20), second=tiny(30))


def empty_record() -> ModuleRecord:
    return ModuleRecord._make([])


def situation(name: str) -> tuple[Any, ModuleRecord]:
    """The target and the record of a recorded case."""
    if name.startswith("dtype_"):
        source, target = name.removeprefix("dtype_").removesuffix("_autodiff").split("_into_")
        device = AUTODIFF if name.endswith("_autodiff") else CPU
        from_dtype, to_dtype = DType.parse(source.upper()), DType.parse(target.upper())
        if from_dtype.is_float:
            return tiny(20, to_dtype, device), tiny(10, from_dtype).into_record()
        return ints(20, to_dtype, (100.0, 6.0)), ints(10, from_dtype, (100.0, 6.0)).into_record()
    plain = tiny(10).into_record
    match name:
        case "same":
            return tiny(20), plain()
        case "same_autodiff_target":
            return tiny(20, F32, AUTODIFF), plain()
        case "missing_gamma":
            return wide(), plain()
        case "unused_gamma":
            return tiny(20), wide().into_record()
        case "shape_mismatch_bias":
            return tiny(20), shaped(10, (2, 2), 3).into_record()
        case "mismatch_missing_unused":
            return tiny(20), odd().into_record()
        case "rank_mismatch_weight":
            return tiny(20), shaped(10, (4,), 2).into_record()
        case "nested_all_missing_and_unused":
            return nest(), plain()
        case "nested_shape_mismatches":
            return nest(), Nest(first=shaped(10, (2, 3), 3), second=shaped(12, (3, 2), 1)).into_record()
        case "flag_not_recorded":
            return flagged(True, 20), flagged(False, 10).into_record()
        case "float_record_into_int_param":
            return ints(20, DType.I64), plain()
        case "float_record_into_bool_param":
            return bools(20, NATIVE), plain()
        case "int_record_into_float_param":
            return tiny(20), ints(10, DType.I64).into_record()
        case "int_record_into_bool_param":
            return bools(20, NATIVE), ints(10, DType.I32).into_record()
        case "bool_record_into_float_param":
            return tiny(20), bools(10, NATIVE).into_record()
        case "bool_record_into_int_param":
            return ints(20, DType.I32), bools(10, NATIVE).into_record()
        case "bool_u8_record_into_bool_native":
            return bools(20, NATIVE), bools(10, BOOL_U8).into_record()
        case "i32_record_into_i64_param":
            return ints(20, DType.I64), ints(10, DType.I32).into_record()
        case "u8_record_into_i64_param":
            return ints(20, DType.I64), ints(10, DType.U8).into_record()
        case "empty_record":
            return tiny(20), empty_record()
        case _:
            raise ValueError(f"no such situation: {name}")
