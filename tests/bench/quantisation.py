"""Quantising, dequantising and adapting a [4096, 4096] tensor, beside copying it, real Burn and torchao."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from refimpl import (
    BlockSize,
    Calibration,
    Device,
    LoraAdapter,
    Param,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
    Tensor,
    compute_q_params,
    compute_range,
)
from refimpl.tensor.quantized import QuantizedTensor
from tests.bench.figure import Figure, least, ratio

SHAPE = (4096, 4096)
ADAPTER = Path(__file__).parents[1] / "adapters" / "burn" / "Cargo.toml"
BLOCK_32 = (BlockSize([32]), ScaleDtype.F32)
# name, scheme, bound of quantising and of dequantising in copies of 64 MiB
SCHEMES = (
    ("int8 per tensor", QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32), 3.0, 2.2),
    ("int8 block 32", QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=BLOCK_32), 5.5, 3.0),
    (
        "int4 block 32 packed",
        QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0), per_block=BLOCK_32),
        6.0,
        4.0,
    ),
    ("fp8", QuantScheme(QuantValue.E4M3, QuantStore.NATIVE, per_tensor=ScaleDtype.F32), 4.0, 3.0),
)
FP8_REASON = (
    "the range takes 0.8 copies, dividing and clamping 0.9, the table of upper bits 2.7: each is one pass of "
    "NumPy over tiles in the cache"
)


def figures() -> Iterator[Figure]:
    device = Device("cpu")
    values = np.sin(np.arange(np.prod(SHAPE), dtype=np.float32) * np.float32(0.618034)).reshape(SHAPE)
    weights = Tensor.from_data(values, device)
    target = np.empty_like(values)
    (copy,) = least(lambda: np.copyto(target, values), rounds=11)
    burn = _burn()
    for name, scheme, bound, back in SCHEMES:
        params = compute_q_params(scheme, compute_range(scheme, weights, Calibration.MIN_MAX))
        quantised = weights.quantize(scheme, params)
        whole, there, again = least(
            lambda scheme=scheme: weights.quantize_dynamic(scheme),
            lambda scheme=scheme, params=params: weights.quantize(scheme, params),
            lambda quantised=quantised: quantised.dequantize(),
        )
        if name == "fp8":
            yield ratio(f"encode {name}", there, copy, bound, "copying", FP8_REASON)
        else:
            yield ratio(f"quantise {name}", whole, copy, bound, "copying")
        yield ratio(f"dequantise {name}", again, copy, back, "copying")
        if burn:
            yield ratio(f"quantise {name}", whole, burn[f"quantise {name}"], 0.5, "real Burn")
            figure = ratio(f"dequantise {name}", again, burn[f"dequantise {name}"], 0.5, "real Burn")
            yield replace(figure, beside=f"{figure.beside}; {_first(quantised) * 1e3:.1f} ms into new memory")
    yield from _adapters(weights, copy)
    yield from _torchao(weights)
    yield _file()


def _first(quantised: QuantizedTensor) -> float:
    """Seconds of dequantising while every earlier result is held, so that no memory is used again.

    The whole is done twice: the first time, the machine itself may have to find the memory.
    """
    held: list[Tensor] = []
    seconds = 0.0
    for _ in range(2):
        held.clear()
        held.extend((quantised.dequantize(), quantised.dequantize()))
        (seconds,) = least(lambda: held.append(quantised.dequantize()), rounds=5)
    return seconds


def _adapters(weights: Tensor, copy: float) -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal(shape, np.float32) for shape in ((SHAPE[0], 16), (16, SHAPE[1]))]
    a, b = (Param.from_tensor(Tensor.from_data(factor, weights.device)) for factor in factors)
    adapter = LoraAdapter(a=a, b=b, scale=0.5)
    packed = weights.quantize_dynamic(SCHEMES[2][1])
    dense, quantised = least(lambda: adapter.apply(weights), lambda: adapter.apply(packed))
    yield ratio("effective weight, LoRA rank 16", dense, copy, 4.5, "copying")
    yield ratio("effective weight, QLoRA rank 16 on int4", quantised, copy, 6.0, "copying")


def _torchao(weights: Tensor) -> Iterator[Figure]:
    import torch
    from torchao.quantization.quant_primitives import MappingType, choose_qparams_affine, quantize_affine

    torch.set_num_threads(1)
    theirs = torch.from_numpy(np.array(weights.to_numpy()))

    def quantise() -> object:
        scale, zero = choose_qparams_affine(theirs, MappingType.SYMMETRIC, SHAPE, torch.int8)
        return quantize_affine(theirs, SHAPE, scale, zero, torch.int8)

    ours, peer = least(lambda: weights.quantize_dynamic(SCHEMES[0][1]), quantise)
    yield ratio("quantise int8 per tensor", ours, peer, 1.0, "torchao")


def _burn() -> dict[str, float]:
    """Seconds of real Burn, where cargo can build it."""
    if shutil.which("cargo") is None:
        print("skipped: real Burn as a peer (needs cargo)", file=sys.stderr)
        return {}
    command = ["cargo", "run", "--quiet", "--release", "--manifest-path", str(ADAPTER), "--bin", "quantise"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


CHILD = """
import sys
from refimpl import *
scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0), per_block=(BlockSize([32]), ScaleDtype.F32))
quantize_file(sys.argv[1], sys.argv[2], Quantizer(Calibration.MIN_MAX, scheme))
status = open("/proc/self/status").read()  # the peak of this program alone, where ru_maxrss inherits
print(status.split("VmHWM:")[1].split()[0])
"""


def _file() -> Figure:
    """The peak memory of quantising a file of 1 GiB in a process of its own."""
    from refimpl import TensorData, write_burnpack

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.bpk", Path(folder) / "target.bpk"
        one = TensorData.from_array(np.ones(SHAPE, np.float32))
        write_burnpack(source, [(f"layer{i}", one, i) for i in range(16)])
        command = [sys.executable, "-c", CHILD, str(source), str(target)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    peak = int(done.stdout) / 1024
    return Figure(
        "quantise a file of 1 GiB, peak memory", peak, 400.0, "MiB", "16 tensors of 64 MiB, one at a time"
    )
