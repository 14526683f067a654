from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, TensorError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

from .burn_answers import answer, answers, data

CPU = Device("cpu")
NAN, INF = float("nan"), float("inf")

# What Burn must give bit for bit: one rounding an operation, or no rounding at all.
EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rem": lambda x, y: x % y,
    "add_scalar": lambda x, y: x + 0.1,
    "mul_scalar": lambda x, y: x * 0.1,
    "div_scalar": lambda x, y: x / 0.3,
    "rsub": lambda x, y: -x + 0.1,
    "rdiv": lambda x, y: x.recip() * 0.3,
    "add_int": lambda x, y: x + 3,
    "mul_big": lambda x, y: x * 16777217,
    "sqrt": lambda x, y: x.abs().sqrt(),
    "recip": lambda x, y: x.recip(),
    "relu": lambda x, y: x.relu(),
    "max": lambda x, y: x.max(),
    "min_dim": lambda x, y: x.min_dim(1),
    "argmax": lambda x, y: x.argmax(1),
    "argmin": lambda x, y: x.argmin(0),
    "greater": lambda x, y: x > y,
    "equal_scalar": lambda x, y: x == 0.1,
    "int": lambda x, y: x.int(),
    "bool": lambda x, y: x.bool(),
    "sign": lambda x, y: x.sign(),
    "round": lambda x, y: x.round(),
    "floor": lambda x, y: x.floor(),
}
# Where a library's rounding or the order of a sum decides the last bits.
CLOSE = {
    "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.abs().log(),
    "tanh": lambda x, y: x.tanh(),
    "erf": lambda x, y: (x / 5.0).erf(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "softmax": lambda x, y: x.softmax(1),
    "log_softmax": lambda x, y: x.log_softmax(0),
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(),
    "sum_dim": lambda x, y: x.sum_dim(1),
    "mean_dim": lambda x, y: x.mean_dim(0),
    "prod_dim": lambda x, y: x.prod_dim(1),
    "var": lambda x, y: x.var(1),
    "var_bias": lambda x, y: x.var_bias(0),
    "matmul": lambda x, y: x @ y.T,
    "gelu": lambda x, y: x.gelu(),
    "gelu_approximate": lambda x, y: x.gelu_approximate(),
    "powf": lambda x, y: x.abs() ** 2.5,
    "powi": lambda x, y: x**3,
    "pow_tensor": lambda x, y: x.abs() ** (y / 5.0),
}
SPECIAL = {
    "special relu": lambda s: s.relu(),
    "special max": lambda s: s.max(),
    "special min": lambda s: s.min(),
    "special sigmoid": lambda s: s.sigmoid(),
    "special sign": lambda s: s.sign(),
    "special argmax": lambda s: s.argmax(0),
    "special int": lambda s: s.int(),
    "special bool": lambda s: s.bool(),
    "special softmax": lambda s: s.softmax(0),
    "special erf": lambda s: s.erf(),
    "special round": lambda s: s.round(),
    "special is_nan": lambda s: s.is_nan(),
    "special gelu": lambda s: s.gelu(),
    "empty mean": lambda s: _empty(s).mean(),
    "empty sum": lambda s: _empty(s).sum(),
    "empty prod": lambda s: _empty(s).prod(),
    "empty sum_dim": lambda s: _empty(s).sum_dim(0),
    "empty mean_dim": lambda s: _empty(s).mean_dim(0),
    "empty softmax": lambda s: _empty(s).softmax(0),
    "empty var": lambda s: _empty(s).var(0),
    "empty max": lambda s: _empty(s).max(),
    "empty max_dim": lambda s: _empty(s).max_dim(0),
    "empty argmax": lambda s: _empty(s).argmax(0),
    "one var": lambda s: Tensor.ones([1, 3], CPU, s.dtype).var(0),
}
INTS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rem": lambda x, y: x % y,
    "neg": lambda x, y: -x,
    "neg div": lambda x, y: -x / y,
    "neg rem": lambda x, y: -x % y,
    "add_scalar": lambda x, y: x + 300,
    "add_float": lambda x, y: x + 1.7,
    "sub_scalar": lambda x, y: x - 8,
    "mul_scalar": lambda x, y: x * 3,
    "div_zero": lambda x, y: x / 0,
    "rem_zero": lambda x, y: x % 0,
    "add nan": lambda x, y: x + NAN,
    "rsub": lambda x, y: 3 - x,
    "sum": lambda x, y: x.sum(),
    "prod": lambda x, y: x.prod(),
    "max": lambda x, y: x.max(),
    "sum_dim": lambda x, y: x.sum_dim(0),
    "mean_dim": lambda x, y: x.mean_dim(0),
    "float": lambda x, y: x.float(),
    "bool": lambda x, y: x.bool(),
    "greater": lambda x, y: x > y,
    "greater_scalar": lambda x, y: x > 100,
    "greater_big": lambda x, y: x > 300,
    "abs": lambda x, y: (-x).abs(),
    "sign": lambda x, y: (x - y).sign(),
    "powi": lambda x, y: x**2,
    "arange": lambda x, y: IntTensor.arange(0, 7, CPU, 3, x.dtype),
}


def _recorded(dtype: str) -> dict[str, Any]:
    return {name: given for kind, name, given in answers()["arith"] if kind == dtype}


def _operands(dtype: str) -> tuple[Any, Any]:
    given = _recorded(dtype)
    cls, shape = (Tensor, (3, 4)) if DType.parse(dtype).is_float else (IntTensor, (6,))
    x, y = (cls.from_data(data(dtype, given[name]["hex"], shape), CPU) for name in ("x", "y"))
    return x, y


def _empty(like: Tensor) -> Tensor:
    return Tensor.zeros([0, 3], CPU, like.dtype)


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_of_floats_gives_burns_bits(dtype: str, name: str) -> None:
    x, y = _operands(dtype)

    assert answer(lambda: EXACT[name](x, y)) == _recorded(dtype)[name]


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize("name", CLOSE)
def test_functions_of_floats_give_burns_values_but_for_the_last_bits(dtype: str, name: str) -> None:
    x, y = _operands(dtype)
    got, want = CLOSE[name](x, y).to_data(), _recorded(dtype)[name]

    assert repr(got.dtype) == want["dtype"]
    values = [
        np.asarray(given, np.float64)
        for given in (got.to_numpy(), data(want["dtype"], want["hex"], got.shape).to_numpy())
    ]
    epsilon = {"F64": 2e-16, "F32": 1.2e-7, "F16": 1e-3, "BF16": 8e-3}[dtype]
    np.testing.assert_allclose(*values, rtol=16 * epsilon, atol=16 * epsilon)


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize("name", SPECIAL)
def test_nan_infinity_zero_and_nothing_go_through_as_in_burn(dtype: str, name: str) -> None:
    given = Tensor.from_data([NAN, 1.0, -0.0, 0.0, INF, -INF], CPU, DType.parse(dtype))
    got, want = answer(lambda: SPECIAL[name](given)), _recorded(dtype)[name]

    if "panic" in want:
        assert got == want
        return
    assert got["dtype"] == want["dtype"]
    size = len(want["hex"]) // 2 // max(1, DType.parse(want["dtype"]).itemsize)
    pair = [data(each["dtype"], each["hex"], (size,)).to_numpy() for each in (got, want)]
    np.testing.assert_array_equal(*(each.astype(np.float64) for each in pair))


@pytest.mark.parametrize("dtype", ["I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8"])
@pytest.mark.parametrize("name", INTS)
def test_arithmetic_of_integers_gives_burns_bits(dtype: str, name: str) -> None:
    x, y = _operands(dtype)

    assert answer(lambda: INTS[name](x, y)) == _recorded(dtype)[name]


@pytest.mark.parametrize("dtype", ["I64", "I32"])
def test_a_product_of_integer_matrices_gives_burns_bits(dtype: str) -> None:
    x, y = _operands(dtype)

    assert answer(lambda: x.reshape([2, 3]) @ y.reshape([3, 2])) == _recorded(dtype)["matmul"]


def test_a_negative_operand_of_an_unsigned_tensor_is_refused() -> None:
    with pytest.raises(TensorError, match=r'"i64"\(-3\) => "u64"'):
        IntTensor.ones([1], CPU, DType.U8) + -3


@pytest.mark.parametrize("other", [DType.F64, DType.F16])
def test_dtypes_are_never_promoted_and_both_are_named(other: DType) -> None:
    with pytest.raises(TensorError, match=f"Lhs tensor dtype F32, Rhs tensor dtype {other}") as caught:
        Tensor.ones([2, 2], CPU) + Tensor.ones([2, 2], CPU, other)

    assert "cast" in str(caught.value.hint)
    with pytest.raises(TensorError, match="matmul: dtype mismatch"):
        Tensor.ones([2, 2], CPU) @ Tensor.ones([2, 2], CPU, other)


def test_a_scalar_is_rounded_to_the_dtype_first() -> None:
    got = Tensor.zeros([1], CPU, DType.F16) + 0.1

    assert got.item() == float(np.float16(0.1))


def test_a_scalar_beyond_the_dtype_is_infinity_without_a_warning() -> None:
    assert (Tensor.ones([1], CPU) * 1e300).item() == INF
    assert (Tensor.ones([1], CPU, DType.F16) * 1e300).item() == INF


def test_division_by_zero_is_infinity_without_a_warning_whatever_numpy_is_told() -> None:
    with np.errstate(all="raise"):
        assert (Tensor.ones([1], CPU) / 0.0).item() == INF
        assert (1.0 / Tensor.zeros([1], CPU)).item() == INF


def test_missing_leading_axes_and_extents_of_one_are_repeated() -> None:
    rows = Tensor.from_data([[1.0], [2.0]], CPU)

    assert (rows + Tensor.from_data([10.0, 20.0], CPU)).to_numpy().tolist() == [[11, 21], [12, 22]]


@pytest.mark.parametrize("operation", ["__add__", "__sub__", "__mul__", "__truediv__", "__lt__"])
def test_shapes_that_cannot_be_broadcast_are_refused_with_both(operation: str) -> None:
    with pytest.raises(TensorError) as caught:
        getattr(Tensor.ones([2, 3], CPU), operation)(Tensor.ones([2, 4], CPU))

    assert (
        "Incompatible size at dimension '1' => '3 != 4', which can't be broadcasted. "
        "Lhs tensor shape Shape { dims: [2, 3] }, Rhs tensor shape Shape { dims: [2, 4] }."
        in str(caught.value)
    )


@pytest.mark.parametrize("other", ["text", None, 1j, np.ones(2), [1.0]])
def test_an_operand_that_is_no_number_and_no_tensor_is_refused(other: object) -> None:
    with pytest.raises(ArgumentTypeError, match="an operand is a tensor of the same kind or a number"):
        Tensor.ones([2], CPU) + other  # type: ignore[operator]


def test_a_numpy_array_on_the_left_is_refused_not_broadcast_over_tensors() -> None:
    with pytest.raises(ArgumentTypeError):
        np.ones(2) + Tensor.ones([2], CPU)  # type: ignore[operator]


def test_a_numpy_scalar_is_a_number() -> None:
    assert (Tensor.ones([1], CPU) + np.float64(2.0)).item() == 3.0
    assert (IntTensor.ones([1], CPU) + np.int8(2)).item() == 3


def test_kinds_are_not_mixed() -> None:
    with pytest.raises(ArgumentTypeError, match="Tensor and IntTensor"):
        Tensor.ones([1], CPU) + IntTensor.ones([1], CPU)  # type: ignore[operator]
    with pytest.raises(TypeError):
        Tensor.ones([1, 1], CPU) @ IntTensor.ones([1, 1], CPU)  # type: ignore[operator]


def test_results_of_rank_zero_are_tensors() -> None:
    one = Tensor.from_data(1.0, CPU)

    for got in (one + one, one * 2, -one, one.exp(), one.relu()):
        assert got.shape == ()
        assert isinstance(got.to_numpy(), np.ndarray)


def test_named_forms_are_the_operators() -> None:
    x = Tensor.from_data([1.0, -2.0], CPU)
    y = Tensor.from_data([3.0, 4.0], CPU)

    assert x.add(y).to_data() == (x + y).to_data()
    assert x.sub(y).to_data() == (x - y).to_data()
    assert x.mul(y).to_data() == (x * y).to_data()
    assert x.div(y).to_data() == (x / y).to_data()
    assert x.remainder(y).to_data() == (x % y).to_data()
    assert x.neg().to_data() == (-x).to_data()
    assert x.powf(2.0).to_data() == (x**2.0).to_data()
    assert x.square().to_data() == (x * x).to_data()
    assert x.unsqueeze_dim(0).matmul(y.unsqueeze_dim(1)).item() == -5.0


@pytest.mark.parametrize(
    ("name", "operator", "want"),
    [
        ("equal", "__eq__", [False, True, False]),
        ("not_equal", "__ne__", [True, False, True]),
        ("lower", "__lt__", [True, False, False]),
        ("lower_equal", "__le__", [True, True, False]),
        ("greater", "__gt__", [False, False, True]),
        ("greater_equal", "__ge__", [False, True, True]),
    ],
)
def test_comparisons_are_made_element_by_element(name: str, operator: str, want: list[bool]) -> None:
    x, y = Tensor.from_data([1.0, 2.0, 3.0], CPU), Tensor.from_data([2.0, 2.0, 2.0], CPU)

    for got in (getattr(x, name)(y), getattr(x, operator)(y), getattr(x, operator)(2.0)):
        assert isinstance(got, BoolTensor)
        assert got.to_numpy().tolist() == want


def test_a_mean_of_halves_does_not_overflow_on_the_way() -> None:
    assert Tensor.full([4], 60000.0, CPU, DType.F16).mean().item() == 60000.0


def test_one_and_two_means_of_a_dimension_come_together() -> None:
    variance, mean = Tensor.from_data([[1.0, 3.0]], CPU).var_mean_bias(1)

    assert (variance.item(), mean.item()) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("name", "value", "want"), [("sin", 0.0, 0.0), ("cos", 0.0, 1.0), ("ceil", 1.2, 2.0)]
)
def test_other_functions_are_those_of_their_name(name: str, value: float, want: float) -> None:
    assert getattr(Tensor.from_data([value], CPU), name)().item() == want


def test_log1p_is_exact_near_zero() -> None:
    assert Tensor.from_data([1e-10], CPU, DType.F64).log1p().item() == pytest.approx(1e-10, rel=1e-9)


def test_a_matrix_needs_two_axes_and_inner_extents_that_agree() -> None:
    with pytest.raises(TensorError, match="at least 2 dimensions, but got 1"):
        Tensor.ones([2], CPU) @ Tensor.ones([2, 2], CPU)
    with pytest.raises(TensorError, match="should be the same, but got 3 and 2"):
        Tensor.ones([2, 3], CPU) @ Tensor.ones([2, 4], CPU)
    with pytest.raises(TensorError, match="not broadcastable along batch dimension 0: 2 and 3"):
        Tensor.ones([2, 2, 2], CPU) @ Tensor.ones([3, 2, 2], CPU)
    with pytest.raises(TensorError, match="at least 2 dimensions"):
        IntTensor.ones([2], CPU) @ IntTensor.ones([2], CPU)


def test_the_mean_of_integers_is_truncated_towards_zero() -> None:
    assert IntTensor.from_data([-3, -4], CPU).mean().item() == -3
    with pytest.raises(TensorError, match="empty tensor"):
        IntTensor.zeros([0], CPU).mean()
    with pytest.raises(TensorError, match="empty dimension for the integer type I32"):
        IntTensor.zeros([0, 2], CPU).mean_dim(0)


def test_an_integer_divides_an_int_tensor() -> None:
    assert (7 / IntTensor.from_data([2, -2], CPU)).to_numpy().tolist() == [3, -3]
    assert IntTensor.from_data([7], CPU).div(2).item() == 3


def test_truth_is_combined_element_by_element() -> None:
    x = BoolTensor.from_data([True, True, False, False], CPU)
    y = BoolTensor.from_data([True, False, True, False], CPU)

    assert (x & y).to_numpy().tolist() == x.bool_and(y).to_numpy().tolist() == [True, False, False, False]
    assert (x | y).to_numpy().tolist() == x.bool_or(y).to_numpy().tolist() == [True, True, True, False]
    assert (x ^ y).to_numpy().tolist() == x.not_equal(y).to_numpy().tolist() == [False, True, True, False]
    assert x.equal(y).to_numpy().tolist() == [True, False, False, True]
    assert (~x).to_numpy().tolist() == x.bool_not().to_numpy().tolist() == [False, False, True, True]


def test_any_and_all_fold_truth() -> None:
    x = BoolTensor.from_data([[True, False], [True, True]], CPU)

    assert (x.any().shape, x.any().item(), x.all().item()) == ((1,), True, False)
    assert x.all_dim(1).to_numpy().tolist() == [[False], [True]]
    assert x.any_dim(0).to_numpy().tolist() == [[True, True]]


def test_truth_becomes_numbers() -> None:
    x = BoolTensor.from_data([True, False], CPU)

    assert x.int().to_numpy().tolist() == [1, 0]
    assert (x.float().dtype, x.float().to_numpy().tolist()) == (DType.F32, [1.0, 0.0])


def test_an_operand_of_truth_is_truth() -> None:
    with pytest.raises(ArgumentTypeError, match="takes a BoolTensor"):
        BoolTensor.ones([1], CPU) & 1  # type: ignore[operator]
