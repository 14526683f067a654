"""The files of quantised modules that Burn wrote: loaded, dequantised, written again; the support table."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pytest

from refimpl.burnpack.layout import byte_length
from refimpl.errors import PanicError
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.param.param import Param
from refimpl.record.record import ModuleRecord
from refimpl.tensor import packing, quantizing, scales
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import Tensor
from tests.burnpack.containers import contents, golden

from .recorded import CPU, float_param, load
from .test_quantised import QUANT, scheme_of

FILES = {name: case for name, case in golden("burnpack.json.gz").items() if name.startswith("quant_")}
RELOADED = load("quant_reloaded.json.gz")
MISC = QUANT["misc"]


class Linear(Module):
    weight: Param[Tensor]
    bias: Param[Tensor]


def linear(weight: int) -> Linear:
    """The model that every file was made of: normals of the recording program, under these ids."""
    tensors = [np.frombuffer(bytes.fromhex(RELOADED["inputs"][name]), "<f4") for name in ("weight", "bias")]
    return Linear(
        weight=float_param(weight, tensors[0].tolist(), (8, 32), DType.F32, CPU),
        bias=float_param(weight + 1, tensors[1].tolist(), (32,), DType.F32, CPU),
    )


def scheme_named(name: str) -> QuantScheme:
    """The scheme that a file is named after: quant_Q4S_PackedU320_block32_F16."""
    _, value, store, level, dtype = name.split("_")
    kind, axis = re.fullmatch(r"(Native|PackedU32|PackedNative)(\d?)", store).groups()  # type: ignore[union-attr]
    made = {"PackedU32": QuantStore.packed_u32, "PackedNative": QuantStore.packed_native}.get(kind)
    scale = ScaleDtype[dtype]
    block = None if level == "tensor" else (BlockSize([32 if level == "block32" else 16]), scale)
    whole = {"tensor": scale, "block32": None, "two16": ScaleDtype.F32}[level]
    return QuantScheme(
        value=QuantValue[value],
        store=QuantStore.NATIVE if made is None else made(int(axis)),
        per_tensor=whole,
        per_block=block,
    )


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@pytest.mark.clause("QNT-28", "QNT-29", "QNT-30", "QNT-36", "REC-20", "REC-23")
@pytest.mark.report("BL-05")
@pytest.mark.parametrize("name", FILES)
def test_a_module_quantised_here_is_the_file_that_burn_wrote_and_loads_from_it(name: str) -> None:
    original = contents(FILES[name])
    quantizer = Quantizer(Calibration.MIN_MAX, scheme_named(name))
    record = linear(1).quantize_weights(quantizer).into_record()
    assert bytes(record.into_bytes()) == original

    loaded = linear(5).load_record(ModuleRecord.from_bytes(original))
    for key, param in (("weight", loaded.weight), ("bias", loaded.bias)):
        assert repr(param.val().dtype) == f"QFloat({scheme_named(name)!r})"
        assert sha256(param.val().dequantize().to_data().bytes) == RELOADED["dequantised"][name][key]
    assert [int(loaded.weight.id), int(loaded.bias.id)] == [1, 2]
    assert bytes(loaded.into_record().into_bytes()) == original


@pytest.mark.clause("QNT-10", "QNT-15")
@pytest.mark.parametrize("failure", RELOADED["failures"], ids=lambda f: f["name"])
def test_a_scheme_that_burn_cannot_quantise_with_is_refused_in_its_words(failure: dict[str, str]) -> None:
    scheme, model = scheme_named(failure["name"]), linear(1)
    with pytest.raises(PanicError) as caught:
        model.quantize_weights(Quantizer(Calibration.MIN_MAX, scheme))

    assert str(caught.value) == failure["panic"]
    assert not scheme.is_quantizable
    assert not model.weight.val().dtype.is_quantized


def test_every_scheme_has_its_file_or_its_refusal() -> None:
    assert (len(FILES), len(RELOADED["failures"])) == (324, 9 * 3 * 3)


@pytest.mark.clause("QNT-1", "QNT-2", "QNT-10", "QNT-28", "QNT-41")
def test_the_support_table_is_burns() -> None:
    for case in MISC["support"]:
        scheme = scheme_of({**case, "block": case["block"]})
        stored = 8 if scheme.store.kind == "Native" else packing.word_codes(scheme)[0] * scheme.value.bits
        length = case["data_len_3x5"]["Ok"]

        assert scheme.value.bits == case["bits_value"]
        assert scheme.is_quantizable is case["supported"]
        assert packing.word_codes(scheme)[0] == (1 if scheme.store.kind == "Native" else case["num_quants"])
        assert stored >= case["bits_value"]
        assert byte_length(DType.qfloat(scheme), (3, 5)) == length
        assert quantizing.byte_length(scheme, (3, 5)) == length


@pytest.mark.clause("QNT-17")
@pytest.mark.parametrize("case", MISC["round_up"], ids=lambda case: case["scale_dtype"])
def test_scales_round_up_as_burns_do(case: dict[str, Any]) -> None:
    given = np.frombuffer(bytes.fromhex(case["x"]), "<f4")
    rounded = scales.round_up(given, ScaleDtype[case["scale_dtype"]])

    assert rounded.tobytes().hex() == "".join(case["round_up"])


@pytest.mark.clause("QNT-5")
def test_schemes_print_as_burns_do() -> None:
    two = QuantScheme(
        value=QuantValue.Q4S,
        store=QuantStore.packed_u32(0),
        per_tensor=ScaleDtype.F32,
        per_block=(BlockSize([1, 2, 4]), ScaleDtype.UE4M3),
    )

    assert repr(QuantScheme()) == MISC["default_scheme"]
    assert repr(two) == MISC["block_debug"]
