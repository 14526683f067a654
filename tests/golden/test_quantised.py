"""Every recorded quantisation: scales, codes, bytes and values of real Burn, bit for bit."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from refimpl.errors import PanicError
from refimpl.tensor.calibration import Calibration, QParams, compute_q_params, compute_range
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import QuantizedTensor, Tensor

from .recorded import CPU, load

QUANT = load("quant.json.gz")
CASES: list[dict[str, Any]] = QUANT["cases"]
KINDS = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "bf16": ml_dtypes.bfloat16}
CALIBRATIONS = {"MinMax": Calibration.MIN_MAX, "AbsMean": Calibration.ABS_MEAN}
FORMULAE = ("value", "store", "level", "scale_dtype")


def scheme_of(case: dict[str, Any]) -> QuantScheme:
    kind, _, axis = case["store"].partition("(")
    make = {"PackedU32": QuantStore.packed_u32, "PackedNative": QuantStore.packed_native}
    scale = ScaleDtype[case["scale_dtype"]]
    levels = {"tensor": scale, "block": None, "two": ScaleDtype.F32}
    return QuantScheme(
        value=QuantValue[case["value"]],
        store=make[kind](int(axis.rstrip(")"))) if axis else QuantStore.NATIVE,
        per_tensor=levels[case["level"]],
        per_block=None if case["block"] is None else (BlockSize(case["block"]), scale),
    )


@cache
def source(name: str, dtype: str) -> Tensor:
    given = QUANT["inputs"][name]
    values = np.frombuffer(bytes.fromhex(given["f32"]), "<f4").reshape(given["shape"])
    with np.errstate(over="ignore"):
        return Tensor.from_data(values.astype(KINDS[dtype]), CPU)


def f32_hex(values: NDArray[Any]) -> str:
    return np.asarray(values, "<f4").tobytes().hex()


def same(raw: bytes, recorded: str | dict[str, Any]) -> bool:
    if isinstance(recorded, str):
        return raw.hex() == recorded
    return len(raw) == recorded["len"] and hashlib.sha256(raw).hexdigest() == recorded["sha256"]


def computed(q_params: QParams) -> dict[str, Any]:
    """The scales as they are computed, not yet rounded to their own dtype."""
    given = {
        "scales_computed": f32_hex(q_params.scales.to_numpy()),
        "scales_computed_shape": list(q_params.scales.shape),
        "scales_computed_dtype": repr(q_params.scales.dtype).lower(),
    }
    if q_params.global_scale is not None:
        given["global_computed"] = f32_hex(q_params.global_scale.to_numpy())
    return given


def stored(quantized: QuantizedTensor) -> dict[str, Any]:
    """What the serialised bytes hold."""
    given = {"scales": f32_hex(quantized.scales()), "codes": quantized.codes().tobytes().hex()}
    whole = quantized.global_scale()
    return given if whole is None else given | {"global": f32_hex(np.array(whole))}


def differs(case: dict[str, Any]) -> str | None:
    """What differs from Burn, if anything does."""
    tensor, scheme, want = source(case["input"], case["input_dtype"]), scheme_of(case), case["result"]
    try:
        q_params = compute_q_params(scheme, compute_range(scheme, tensor, CALIBRATIONS[case["calibration"]]))
        quantized = tensor.quantize(scheme, q_params)
    except PanicError as error:
        return None if str(error) == want.get("panic") else f"refused: {error}; Burn: {want.get('panic')}"
    if "panic" in want:
        return f"Burn refuses: {want['panic']}"
    for key, value in (computed(q_params) | stored(quantized)).items():
        if value != want[key]:
            return f"{key} {value}, Burn {want[key]}"
    data = quantized.to_data()
    dense = quantized.dequantize()
    if not same(bytes(data.bytes), want["bytes"]):
        return "other bytes"
    if (f32_hex(dense.to_numpy()), repr(dense.dtype).lower()) != (want["dequant"], want["dequant_dtype"]):
        return "other values"
    if want["data_reload_same_dequant"] is not True:
        return "a reload that Burn finds other"
    if want["dynamic_same_bytes"] is True and tensor.quantize_dynamic(scheme).to_data() != data:
        return "quantize_dynamic gives other bytes"
    return None


@pytest.mark.clause("QNT-8", "QNT-9", "QNT-11", "QNT-12", "QNT-13", "QNT-14", "QNT-15", "QNT-16", "QNT-17")
@pytest.mark.clause("QNT-18", "QNT-19", "QNT-20", "QNT-21", "QNT-22", "QNT-23", "QNT-26", "QNT-28", "QNT-29")
@pytest.mark.clause("QNT-30")
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("value", QuantValue)
def test_every_recorded_quantisation_is_burns_bit_for_bit(value: QuantValue, calibration: str) -> None:
    cases = [c for c in CASES if (c["value"], c["calibration"]) == (value.name, calibration)]
    wrong = [(c["input"], c["input_dtype"], repr(scheme_of(c)), why) for c in cases if (why := differs(c))]

    assert cases
    assert wrong == []


def test_the_recorded_quantisations_are_all_there() -> None:
    assert len(CASES) == 19176
