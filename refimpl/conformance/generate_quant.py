"""Cases on quantised numbers: `python -m refimpl.conformance.generate_quant` writes those that are missing.

Every value kind meets every family of inputs, each way to share scales, each store and each source dtype;
`qnt.drawn.*` mixes them all by seeds. The files hold no answers; `make record` asks Burn for them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from .case import Case, Step
from .generate import place_of, truth_of, write_missing

VALUES: Final = ("Q8F", "Q8S", "Q4F", "Q4S", "Q2F", "Q2S", "E4M3", "E5M2", "E2M1")
SCALES: Final = ("F32", "F16", "BF16", "UE8M0", "UE4M3")
STORES: Final = ("Native", {"PackedU32": 0}, {"PackedU32": 1}, {"PackedNative": 0}, {"PackedNative": 1})
#: The greatest value that a scale of 1 reaches, and the step between codes there.
_REACH: Final = {
    "Q8F": 127.5, "Q8S": 127.0, "Q4F": 7.5, "Q4S": 7.0, "Q2F": 1.5, "Q2S": 1.0,
    "E4M3": 448.0, "E5M2": 57344.0, "E2M1": 6.0,
}  # fmt: skip
#: Points half way between two codes of the small floats, subnormal ones first.
_BETWEEN: Final = {
    "E4M3": (2.0**-10, 3 * 2.0**-10, 15 * 2.0**-10, 1.0625, 1.1875, 17.0, 19.0, 232.0, 432.0),
    "E5M2": (2.0**-17, 3 * 2.0**-17, 1.125, 1.375, 10.0, 14.0, 22528.0, 28672.0, 53248.0),
    "E2M1": (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 0.125, 5.5),
}
_DRAWN: Final = 60

#: Families of inputs, and what a wrong implementation gets wrong on them.
_WHY: Final = {
    "normal": "on ordinary values a scale, a code or a decoded value comes out otherwise",
    "zeros": "all zeros leave nothing to divide by, and the replaced scale or a code is another",
    "negative_zero": "the sign of zero is lost, or kept where integers have none",
    "negative": "the range is taken from the greatest value and not from the greatest magnitude",
    "outlier": "one value far out takes the codes of the others to another place",
    "ties": "a value half way between two codes is not rounded to the even one",
    "subnormal": "subnormal values are flushed, or their scale underflows otherwise",
    "constant": "a peak that no code meets exactly is clamped otherwise",
    "big": "twice the peak overflows, and the infinite scale is replaced otherwise",
    "nan": "a NaN reaches the range, or its code is another",
    "inf": "an infinity reaches the range, and the values beside it saturate otherwise",
    "ladder": "powers of two down to nothing meet the smallest codes otherwise",
}


_SHAPES: Final = ([6], [4, 4], [2, 6], [8, 2], [2, 3, 4], [1, 4, 2, 2])
_FINITE: Final = tuple(name for name in _WHY if name not in ("nan", "inf"))


def inputs(family: str, count: int, rng: Random, value: str = "Q8S") -> list[float]:
    """The f32 values of a family; of ties those of the value kind."""
    normal = [rng.gauss(0.0, 1.0) for _ in range(count)]
    match family:
        case "zeros":
            return [0.0] * count
        case "negative_zero":
            return [-0.0] * count
        case "negative":
            return [-abs(x) - 0.125 for x in normal]
        case "outlier":
            normal[count // 2] = 1.0e6
        case "ties":
            return _ties(value, count)
        case "subnormal":
            return [math.ldexp((1 + 97 * i) * (-1) ** i, -149) for i in range(count)]
        case "constant":
            return [0.3] * count
        case "big":
            return [3.0e38 if i % 3 == 0 else -1.0e37 * i / count for i in range(count)]
        case "nan":
            normal[1] = math.nan
        case "inf":
            normal[1], normal[count - 1] = math.inf, -math.inf
        case "ladder":
            return [math.ldexp((-1) ** i * 1.5, -2 * i) for i in range(count)]
    return normal


def _ties(value: str, count: int) -> list[float]:
    reach = _REACH[value]
    if value in _BETWEEN:
        between = [x * sign for x in _BETWEEN[value] for sign in (1, -1)]
    else:
        between = [k + 0.5 for k in range(math.floor(-reach), math.ceil(reach))]
        between = between[len(between) // 2 - count // 2 :]
    return [reach, *(between[i % len(between)] for i in range(count - 1))]


def data(values: list[float], shape: list[int], dtype: str = "f32") -> dict[str, Any]:
    """Values as the protocol writes them: the bits of an f32, which are exact."""
    if dtype == "f32":
        return {"dtype": dtype, "shape": shape, "hex": struct.pack(f"<{len(values)}f", *values).hex()}
    return {"dtype": dtype, "shape": shape, "values": [_number(x) for x in values]}


def _number(x: float) -> float | str:
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return "-0.0" if x == 0 and math.copysign(1, x) < 0 else x


def trace(source: dict[str, Any], scheme: dict[str, Any], *, calibration: str = "MinMax") -> list[Step]:
    """The steps that show every number: the scales as computed, codes and scales as stored, the values."""
    with_it: dict[str, Any] = {"on": "t", "scheme": scheme}
    if calibration != "MinMax":
        with_it["calibration"] = calibration
    return [
        {"do": "tensor.create", "kind": "float", **source, "device": "d0", "as": "t"},
        {"do": "quant.params", **with_it},
        {"do": "quant.quantize", **with_it, "as": "q"},
        {"do": "quant.dequantize", "on": "q"},
    ]


def block(*size: int, dtype: str = "$scale") -> dict[str, Any]:
    """The block level of a scheme."""
    return {"size": list(size), "dtype": dtype}


_CODES: Final = ("QNT-18", "QNT-21")


def _code_clause(value: str) -> str:
    return "QNT-20" if value.startswith("E") else "QNT-19"


def _case(
    name: str, clauses: tuple[str, ...], why: str, steps: list[Step], axes: dict[str, list[Any]]
) -> Case:
    return Case(
        id=f"qnt.{name}",
        clauses=tuple(sorted(set(clauses), key=place_of)),
        truth=truth_of(clauses),
        requires=("quant",),
        why=f"{why[0].upper()}{why[1:]}.",
        axes=axes,
        steps=tuple(steps),
    )


def _by_input() -> Iterator[Case]:
    special: dict[str, tuple[str, ...]] = {"nan": ("QNT-23",), "inf": ("QNT-23",), "zeros": ("QNT-17",)}
    for family, why in _WHY.items():
        for value in VALUES:
            source = data(inputs(family, 16, Random(f"{family}"), value), [2, 8])
            scheme = {"value": value, "store": "Native", "tensor": "$scale"}
            clauses = ("QNT-13", "QNT-17", _code_clause(value), *_CODES, *special.get(family, ()))
            text = f"{value}, one scale, {family}: {why}"
            yield _case(
                f"input.{family}.{value.lower()}", clauses, text, trace(source, scheme), {"scale": [*SCALES]}
            )


def _by_block() -> Iterator[Case]:
    for family in ("normal", "outlier", "zeros", "nan", "subnormal"):
        for value in VALUES:
            values = inputs(family, 16, Random(f"block {family}"), value)
            if family == "zeros":
                values[8:] = inputs("normal", 8, Random("other half"))
            scheme = {"value": value, "store": "Native", "block": block(4)}
            text = f"{value}, a scale for each four values, {family}: {_WHY[family]}"
            clauses = ("QNT-9", "QNT-11", "QNT-13", "QNT-17", "QNT-28", _code_clause(value))
            steps = trace(data(values, [2, 8]), scheme)
            yield _case(f"block.{family}.{value.lower()}", clauses, text, steps, {"scale": [*SCALES]})


def _two_levels() -> Iterator[Case]:
    for family in ("normal", "outlier", "zeros", "subnormal", "big"):
        for value in VALUES:
            if family == "zeros" and value in ("E4M3", "E5M2"):
                continue  # the sign of the NaN is the platform's: `qnt.underflow` asks the values alone
            values = inputs(family, 16, Random(f"two {family}"), value)
            scheme = {"value": value, "store": "Native", "block": block(4), "tensor": "F32"}
            text = f"{value}, block scales under one for all, {family}: {_WHY[family]}"
            clauses = ("QNT-15", "QNT-17", "QNT-18", "QNT-21", "QNT-28", _code_clause(value))
            steps = trace(data(values, [2, 8]), scheme)
            yield _case(f"two.{family}.{value.lower()}", clauses, text, steps, {"scale": ["F16", "UE4M3"]})


def _by_store() -> Iterator[Case]:
    shapes = {"rows": [3, 5], "cube": [2, 3, 4], "long": [1, 2, 1, 9]}
    for name, shape in shapes.items():
        for value in VALUES:
            values = inputs("normal", math.prod(shape), Random(f"store {name}"))
            steps = trace(data(values, shape), {"value": value, "store": "$store", "tensor": "F32"})
            steps.append({"do": "quant.parts", "on": "q"})
            text = (
                f"{value} on {shape}: a word is filled along another axis, from the other end or across rows"
            )
            clauses = ("QNT-2", "QNT-28", "QNT-29", "QNT-30")
            yield _case(f"store.{name}.{value.lower()}", clauses, text, steps, {"store": [*STORES]})
    for value in VALUES:
        values = inputs("normal", 32, Random("store of blocks"))
        scheme = {"value": value, "store": "$store", "block": block(2, 4, dtype="F16")}
        steps = [*trace(data(values, [4, 8]), scheme), {"do": "quant.parts", "on": "q"}]
        text = f"{value} in blocks of 2 by 4: the scales do not change places as the packed codes do"
        clauses = ("QNT-9", "QNT-28", "QNT-29", "QNT-30")
        yield _case(f"store.blocks.{value.lower()}", clauses, text, steps, {"store": [*STORES]})


def _by_source() -> Iterator[Case]:
    for dtype in ("f64", "f16", "bf16"):
        for value in VALUES:
            values = [round(x, 3) for x in inputs("normal", 16, Random(f"source {dtype}"))]
            values[5] = 40000.0 if value != "E2M1" else 5.0
            scheme = {"value": value, "store": "Native", "tensor": "$scale"}
            text = f"{value} of {dtype} values: a step of the scale is not rounded to the source's dtype"
            clauses = ("QNT-13", "QNT-14", "QNT-18", _code_clause(value))
            steps = trace(data(values, [2, 8], dtype), scheme)
            yield _case(
                f"source.{dtype}.{value.lower()}", clauses, text, steps, {"scale": ["F32", "F16", "UE8M0"]}
            )


def _by_mean() -> Iterator[Case]:
    for value in VALUES:
        rng = Random(f"mean {value}")
        values = [rng.randint(-40, 40) / 8 for _ in range(32)]
        text = f"{value} by the mean of magnitudes: the sign counts, or a block's mean is taken otherwise"
        level = {"value": value, "store": "Native"}
        for name, part in (("tensor", {"tensor": "$scale"}), ("block", {"block": block(2, 4)})):
            steps = trace(data(values, [4, 8]), {**level, **part}, calibration="AbsMean")
            steps.insert(1, {"do": "quant.range", "on": "t", "scheme": steps[1]["scheme"]})
            steps[1]["calibration"] = "AbsMean"
            clauses = ("QNT-11", "QNT-16", "QNT-40", "QNT-13")
            yield _case(
                f"mean.{name}.{value.lower()}", clauses, text, steps, {"scale": ["F32", "BF16", "UE8M0"]}
            )


def trace_of(rng: Random) -> tuple[list[Step], tuple[str, ...], str]:
    """Steps on a scheme and an input that `rng` draws, the clauses they show, and the family of inputs."""
    shape, value, family = rng.choice(_SHAPES), rng.choice(VALUES), rng.choice(_FINITE)
    scheme: dict[str, Any] = {"value": value, "store": rng.choice(STORES[: 1 + 2 * min(len(shape), 2)])}
    level = rng.choice(("tensor", "block", "block", "two"))
    if level != "tensor":
        extents = [rng.choice([d for d in (1, 2, 3, 4, 6) if n % d == 0]) for n in shape]
        scheme["block"] = block(*extents, dtype=rng.choice(SCALES))
    if level == "two":
        scheme["block"]["dtype"] = "UE4M3"
    if level != "block":
        scheme["tensor"] = "F32" if level == "two" else rng.choice(SCALES)
    if shape == [6] and scheme["store"] != "Native":
        scheme["store"] = {"PackedU32": 0}
    dtype = rng.choice(("f32", "f32", "f64", "f16", "bf16"))
    values = inputs(family, math.prod(shape), rng, value)
    if dtype != "f32":
        values = [float(f"{x:.6g}") for x in values]
    steps = [*trace(data(values, shape, dtype), scheme), {"do": "quant.parts", "on": "q"}]
    clauses = ["QNT-13", "QNT-17", *_CODES, "QNT-28", "QNT-29", _code_clause(value)]
    clauses += {"tensor": [], "block": ["QNT-9", "QNT-30"], "two": ["QNT-15", "QNT-30"]}[level]
    return steps, tuple(clauses), family


def _drawn() -> Iterator[Case]:
    for seed in range(1, _DRAWN + 1):
        steps, clauses, family = trace_of(Random(f"qnt.drawn:{seed}"))
        text = f"A drawn scheme and input (seed {seed}), {family}: {_WHY[family]}"
        yield _case(f"drawn.{seed:03}", clauses, text, steps, {})


def generate() -> Iterator[Case]:
    """Every case."""
    for theme in (_by_input, _by_block, _two_levels, _by_store, _by_source, _by_mean, _drawn):
        yield from theme()


def main() -> int:
    """Write the cases that are not there."""
    return write_missing(generate())


if __name__ == "__main__":
    raise SystemExit(main())
