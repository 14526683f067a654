from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from refimpl.errors import ArgumentTypeError, EmptyGroupWarning, InvalidArgumentError, PanicError, RecordError
from refimpl.module.lora import Lora, LoraAdapter
from refimpl.module.module import Module
from refimpl.module.quantizer import Quantizer
from refimpl.param.group import ParamGroup
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.traversal import PathMapper
from refimpl.record.record import ModuleRecord
from refimpl.tensor.calibration import Calibration
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.low_rank import TILE
from refimpl.tensor.random import Distribution
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import QuantizedTensor, Tensor

from .adapted import CPU, Linear, layers, lazy, linear, numbers, param, paths, tensor

AUTODIFF = CPU.autodiff()
LORA = ParamGroup.from_predicate(".lora.")


def adapter(module: Linear) -> LoraAdapter:
    found = module.weight.reparameterization(LoraAdapter)
    assert found is not None
    return found


def with_factors(module: Linear, a: Any, b: Any, scale: float = 1.0) -> Linear:
    """`module` with these factors on its weight."""
    factors = LoraAdapter(a=param(11, a), b=param(12, b), scale=scale)
    return Linear(weight=module.weight.with_reparameterization(factors), bias=module.bias)


def ones() -> Linear:
    return with_factors(Linear(weight=param(1, np.ones((2, 2))), bias=None), np.ones((2, 1)), np.ones((1, 2)))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is drawn at random, and on which device: counted from 1 instead."""
    draws: list[Any] = []

    def random(shape: tuple[int, ...], distribution: Distribution, device: Device) -> Tensor:
        draws.append((shape, repr(distribution), str(device)))
        return tensor(np.arange(1, 1 + int(np.prod(shape))).reshape(shape), device)

    monkeypatch.setattr(Tensor, "random", random)
    return draws


# --- The configuration ---------------------------------------------------------------------------


@pytest.mark.clause("LRA-1", "REP-23")
def test_a_configuration_starts_with_nothing_chosen() -> None:
    lora = Lora(4, 8.0)

    assert (lora.init_std, lora.dtype) == (None, None)
    assert lora.param_group.matches(ParamId.from_int(1), "anything")
    assert lora.set_dtype(DType.F16).dtype is DType.F16
    group = ParamGroup.from_path("a")
    assert lora.set_param_group(group).param_group is group
    assert lora == Lora(4, 8.0)


@pytest.mark.clause("LRA-1", "REP-23")
@pytest.mark.report("BL-31")
def test_a_rank_of_zero_is_refused() -> None:
    with pytest.raises(PanicError, match="LoRA rank must be greater than 0, got 0"):
        Lora(0, 1.0)


@pytest.mark.parametrize(
    "arguments",
    [{"rank": -1}, {"rank": 1.5}, {"rank": True}, {"dtype": DType.I32}, {"dtype": "F16"}],
    ids=str,
)
def test_a_configuration_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        Lora(**{"rank": 1, "alpha": 1.0} | arguments)


@pytest.mark.parametrize("arguments", [{"alpha": "1"}, {"init_std": "x"}, {"param_group": "w"}], ids=str)
def test_a_part_of_another_type_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        Lora(**{"rank": 1, "alpha": 1.0} | arguments)


@pytest.mark.clause("REP-23")
@pytest.mark.report("BL-31")
def test_a_rank_beyond_the_extents_is_taken() -> None:
    module = linear().apply_lora(Lora(64, 1.0))

    assert (adapter(module).a.shape, adapter(module).b.shape) == ((2, 64), (64, 3))
    assert numbers(module.weight.val()) == numbers(linear().weight.val())


# --- What is attached, and what is frozen ---------------------------------------------------------


@pytest.mark.clause("LRA-2", "REP-24")
def test_every_float_parameter_is_frozen_and_only_matrices_are_adapted() -> None:
    module = layers(AUTODIFF).apply_lora(Lora(1, 1.0))

    for layer in module.layers:
        assert layer.bias is not None
        assert not layer.weight.is_require_grad()
        assert not layer.bias.is_require_grad()
        assert layer.bias.reparameterization() is None
        assert adapter(layer).a.is_require_grad()
        assert adapter(layer).b.is_require_grad()
    assert module.on.is_enabled()


@pytest.mark.clause("LRA-2", "REP-24")
def test_a_group_chooses_what_is_adapted_and_not_what_is_frozen() -> None:
    group = ParamGroup.from_path("layers.1.weight")
    module = layers(AUTODIFF).apply_lora(Lora(1, 1.0, param_group=group))

    assert module.layers[0].weight.reparameterization() is None
    assert module.layers[1].weight.reparameterization() is not None
    assert [layer.weight.is_require_grad() for layer in module.layers] == [False, False]
    by_id = ParamGroup.from_ids([layers().layers[0].weight.id])
    assert (
        layers().apply_lora(Lora(1, 1.0, param_group=by_id)).layers[0].weight.reparameterization() is not None
    )


@pytest.mark.clause("LRA-2", "REP-24")
@pytest.mark.report("BL-31")
def test_a_group_that_matches_nothing_freezes_all_and_warns() -> None:
    nothing = ParamGroup.from_path("nope")
    with pytest.warns(EmptyGroupWarning):
        module = linear(device=AUTODIFF).apply_lora(Lora(1, 1.0, param_group=nothing))

    assert module.weight.reparameterization() is None
    assert not module.weight.is_require_grad()


@pytest.mark.report("BL-31")
def test_a_model_of_vectors_has_nothing_to_adapt_and_warns() -> None:
    class Scale(Module):
        gamma: Param[Tensor]

    with pytest.warns(EmptyGroupWarning, match="Lora attached nothing"):
        assert Scale(gamma=param(1, [1, 2])).apply_lora(Lora(1, 1.0)).num_params() == 2


@pytest.mark.report("BL-31")
@pytest.mark.parametrize("call", ["freeze_group", "quantize_weights_group", "into_record_group"])
def test_other_groups_that_match_nothing_warn_too(call: str) -> None:
    nothing = ParamGroup.from_path("nope")
    first = [Quantizer(Calibration.MIN_MAX, QuantScheme())] if call.startswith("quantize") else []
    with pytest.warns(EmptyGroupWarning, match=call.removesuffix("_group")):
        getattr(linear(), call)(*first, nothing)


@pytest.mark.clause("REP-25")
def test_matrices_are_initialised_even_out_of_the_group_and_others_stay_lazy() -> None:
    module = Linear(weight=lazy(1, np.ones((2, 3))), bias=lazy(2, [1, 2, 3]))
    group = ParamGroup.from_path("bias")
    with pytest.warns(EmptyGroupWarning):
        adapted = module.apply_lora(Lora(1, 1.0, param_group=group))
    assert adapted.bias is not None

    assert (adapted.weight.is_initialized(), adapted.bias.is_initialized()) == (True, False)
    assert not adapted.bias.lazy_is_require_grad()


@pytest.mark.clause("LRA-3", "REP-26")
def test_the_first_factor_is_drawn_with_one_over_the_rank_and_the_second_is_zero(drawn: list[Any]) -> None:
    module = layers(AUTODIFF).apply_lora(Lora(4, 8.0))

    assert drawn == [((2, 4), "Normal(0.0, 0.25)", "cpu+autodiff")] * 2
    for layer in module.layers:
        found = adapter(layer)
        assert numbers(found.a.val()) == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert numbers(found.b.val()) == np.zeros((4, 3)).tolist()
        assert found.scale == 2.0
        assert numbers(found.delta()) == np.zeros((2, 3)).tolist()
        assert len({found.a.id, found.b.id, layer.weight.id}) == 3


@pytest.mark.clause("LRA-3")
@pytest.mark.parametrize(("init_std", "drawn_with"), [(None, 0.5), (0.02, 0.02), (0.0, 0.0)])
def test_a_given_deviation_is_taken_and_zero_is_one(
    init_std: float | None, drawn_with: float, drawn: list[Any]
) -> None:
    linear().apply_lora(Lora(2, 1.0, init_std=init_std))

    assert [text for _, text, _ in drawn] == [f"Normal(0.0, {drawn_with})"]


@pytest.mark.clause("LRA-3")
def test_factors_really_drawn_have_that_deviation() -> None:
    Tensor.seed(CPU, 3)
    module = Linear(weight=param(1, np.zeros((500, 2))), bias=None).apply_lora(Lora(20, 1.0))
    values = adapter(module).a.val().to_numpy()

    assert abs(float(values.mean())) < 0.002
    assert abs(float(values.std()) - 1 / 20) < 0.002


@pytest.mark.clause("LRA-4", "LRA-5", "REP-22", "REP-26")
@pytest.mark.report("BL-29")
@pytest.mark.parametrize(
    ("base", "configured", "factors"),
    [
        (np.float32, None, "F32"),
        (np.float16, None, "F16"),
        (ml_dtypes.bfloat16, None, "BF16"),
        (np.float64, None, "F64"),
        (np.float32, "F16", "F16"),
        (np.float16, "F32", "F32"),
        ("Q8S", None, "F32"),
        ("Q4S", None, "F32"),
        ("Q8S", "F16", "F16"),
        ("Q4S", "BF16", "BF16"),
    ],
)
def test_the_factors_take_a_dense_bases_dtype_and_the_effective_weight_theirs(
    base: Any, configured: str | None, factors: str
) -> None:
    module = linear(dtype=np.float32 if isinstance(base, str) else base)
    if isinstance(base, str):
        scheme = QuantScheme(QuantValue[base], QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
        module = module.quantize_weights(Quantizer(Calibration.MIN_MAX, scheme))
    dtype = None if configured is None else DType.parse(configured)
    adapted = module.apply_lora(Lora(2, 1.0, dtype=dtype))
    found, effective = adapter(adapted), adapted.weight.val()

    assert {repr(t.val().dtype) for t in (found.a, found.b)} == {factors}
    assert repr(effective.dtype) == factors
    expected = module.weight.val().dequantize()
    assert numbers(effective) == expected.to_numpy().astype(effective.dtype.numpy).tolist()


# --- The effective weight --------------------------------------------------------------------------


@pytest.mark.clause("LRA-5", "REP-22")
def test_the_effective_weight_is_the_base_and_the_scaled_product() -> None:
    module = with_factors(linear(), [[1, 2], [3, 4]], [[1, 0, 1], [0, 1, 1]], scale=0.5)

    assert numbers(adapter(module).delta()) == [[0.5, 1.0, 1.5], [1.5, 2.0, 3.5]]
    assert numbers(module.weight.val()) == [[1.5, 3.0, 4.5], [5.5, 7.0, 9.5]]
    assert numbers(module.weight.base()) == numbers(linear().weight.val())


@pytest.mark.clause("LRA-5")
def test_the_scale_comes_after_the_product() -> None:
    module = with_factors(Linear(weight=param(1, [[0.0]]), bias=None), [[5.0]], [[0.3]], scale=1 / 3)
    third, factor = np.float32(1 / 3), np.float32(0.3)
    before = (np.float32(5) * third) * factor

    assert numbers(module.weight.val()) == [[np.float32(5) * factor * third]] == [[0.5]]
    assert before != 0.5


F32 = ScaleDtype.F32
LARGE = {
    "dense": None,
    "per tensor": QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=F32),
    "packed": QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0), per_block=(BlockSize([32]), F32)),
    "rectangles": QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=(BlockSize([4, 64]), F32)),
    "packed along rows": QuantScheme(QuantValue.Q8S, QuantStore.packed_u32(1), per_tensor=F32),
}


@pytest.mark.clause("LRA-5")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", LARGE)
def test_a_large_weight_is_summed_in_tiles_to_the_same_values(scheme: str, dtype: Any) -> None:
    rows, columns = 300, TILE // 256
    assert rows * columns > TILE
    random = np.random.default_rng(1)
    module = Linear(weight=param(1, random.integers(-8, 8, (rows, columns)), dtype=dtype), bias=None)
    how = LARGE[scheme]
    if how is not None:
        module = module.quantize_weights(Quantizer(Calibration.MIN_MAX, how))
    a, b = random.integers(-4, 4, (rows, 3)), random.integers(-4, 4, (3, columns))
    factors = LoraAdapter(a=param(11, a, dtype=dtype), b=param(12, b, dtype=dtype), scale=0.5)
    adapted = module.weight.with_reparameterization(factors)

    # small integers: neither the order of the sum nor the scale rounds
    base = module.weight.val().dequantize(DType.of(np.dtype(dtype))).to_numpy()
    assert np.array_equal(adapted.val().to_numpy(), base + 0.5 * (a @ b).astype(dtype))


@pytest.mark.clause("LRA-7", "REP-28", "REP-29")
def test_only_the_factors_train_until_the_base_is_unfrozen() -> None:
    module = linear(device=AUTODIFF).apply_lora(Lora(1, 1.0))

    assert not module.weight.is_require_grad()
    assert module.weight.val().is_tracked
    assert module.unfreeze().weight.is_require_grad()
    base = ParamGroup.from_ids([module.weight.id])
    spared = module.freeze().unfreeze_group(ParamGroup.all().exclude(base))
    assert not spared.weight.is_require_grad()
    assert adapter(spared).a.is_require_grad()


@pytest.mark.clause("LRA-8", "REP-20")
def test_valid_keeps_base_and_factors_apart_and_train_restores_the_factors_only() -> None:
    module = with_factors(linear(device=AUTODIFF).freeze(), np.ones((2, 1)), np.ones((1, 3)))
    validating = module.valid()
    training = validating.train()

    assert not validating.weight.val().is_autodiff
    assert numbers(validating.weight.base()) == numbers(linear().weight.val())
    assert numbers(adapter(validating).delta()) == np.ones((2, 3)).tolist()
    assert (training.weight.is_require_grad(), adapter(training).a.is_require_grad()) == (False, True)


# --- Names, counts, records -------------------------------------------------------------------------


@pytest.mark.clause("LRA-6", "REP-22")
def test_the_factors_stand_below_their_weight() -> None:
    module = linear().apply_lora(Lora(2, 4.0))

    assert paths(module) == ["weight", "weight.lora.a", "weight.lora.b", "bias"]
    assert (LoraAdapter.NAME, adapter(module).scale) == ("lora", 2.0)
    assert linear().num_params() == 9
    assert module.num_params() == 9 + 2 * 2 + 2 * 3


@pytest.mark.clause("LRA-6", "MOD-55", "REC-6")
def test_the_adapters_alone_are_saved_and_loaded_over_a_base() -> None:
    tuned = with_factors(linear(), np.ones((2, 1)), np.ones((1, 3)))
    record = tuned.into_record_group(LORA)
    base = linear(21).apply_lora(Lora(1, 1.0))
    loaded = base.load_record(ModuleRecord.from_bytes(record.into_bytes()).allow_partial(True))

    assert [path for path, _, _ in record.entries] == ["weight.lora.a", "weight.lora.b"]
    assert numbers(loaded.weight.val()) == numbers(tuned.weight.val())
    assert int(loaded.weight.id) == 21
    assert [int(adapter(loaded).a.id), int(adapter(loaded).b.id)] == [11, 12]
    with pytest.raises(RecordError, match="Missing tensors"):
        base.try_load_record(record)
    with pytest.raises(RecordError, match="Unused tensors"):
        linear().try_load_record(record.allow_partial(True))


@pytest.mark.clause("LRA-5", "MOD-55")
def test_a_base_is_loaded_below_adapters_that_stay() -> None:
    adapted = with_factors(linear(), np.ones((2, 1)), np.ones((1, 3)))
    loaded = adapted.load_record(linear(31).into_record().allow_partial(True))

    assert int(loaded.weight.id) == 31
    assert numbers(adapter(loaded).delta()) == np.ones((2, 3)).tolist()


@pytest.mark.clause("LRA-6", "REP-16")
def test_the_scale_is_the_modules_own_and_no_record_changes_it() -> None:
    record = linear().apply_lora(Lora(2, 4.0)).into_record()
    loaded = linear().apply_lora(Lora(2, 10.0)).load_record(record)

    assert adapter(loaded).scale == 5.0


@pytest.mark.report("BL-42")
def test_a_weight_without_rows_is_adapted() -> None:
    module = Linear(weight=param(1, np.zeros((0, 4))), bias=None).apply_lora(Lora(2, 1.0))

    assert (adapter(module).a.shape, adapter(module).b.shape) == ((0, 2), (2, 4))
    assert module.weight.val().shape == (0, 4)
    assert module.materialize().num_params() == 0


# --- Merging, and applying again -----------------------------------------------------------------------


@pytest.mark.clause("LRA-8", "REP-18", "MOD-52")
@pytest.mark.report("BL-12")
def test_merging_adds_the_delta_once_and_returns_another_module() -> None:
    module = ones()
    merged = module.materialize()

    assert numbers(merged.weight.base()) == [[2.0, 2.0], [2.0, 2.0]]
    assert merged.weight.reparameterization() is None
    assert merged.materialize() is merged
    assert numbers(module.weight.base()) == [[1.0, 1.0], [1.0, 1.0]]
    assert module.weight.reparameterization() is not None
    plain = linear()
    assert plain.materialize() is plain


@pytest.mark.clause("LRA-8", "REP-18")
def test_a_merged_weight_stays_frozen_as_its_base_was() -> None:
    merged = linear(device=AUTODIFF).apply_lora(Lora(1, 1.0)).materialize()

    assert not merged.weight.is_require_grad()
    assert not merged.train().weight.is_require_grad()


@pytest.mark.clause("LRA-9", "REP-6")
@pytest.mark.report("BL-12")
def test_applied_again_the_factors_are_adapted_and_frozen_and_the_first_rank_stays(drawn: list[Any]) -> None:
    """Pinned: Burn calls it unsupported and says nothing. A [4, 6] weight and its bias: 30, 50, then 92."""
    module = Linear(weight=param(1, np.zeros((4, 6))), bias=param(2, np.zeros(6)))
    once = module.apply_lora(Lora(2, 1.0))
    twice = once.apply_lora(Lora(3, 1.0))

    assert [m.num_params() for m in (module, once, twice)] == [30, 50, 92]
    assert paths(twice) == [
        "weight",
        "weight.lora.a",
        "weight.lora.a.lora.a",
        "weight.lora.a.lora.b",
        "weight.lora.b",
        "weight.lora.b.lora.a",
        "weight.lora.b.lora.b",
        "bias",
    ]
    assert [shape for shape, _, _ in drawn] == [(4, 2), (4, 3), (4, 3), (2, 3)]
    assert adapter(twice).scale == 0.5
    assert adapter(twice).a.id == adapter(once).a.id
    assert not adapter(twice).a.is_active
    assert numbers(twice.weight.val()) == numbers(once.weight.val())
    assert numbers(twice.materialize().weight.base()) == numbers(once.weight.val())


@pytest.mark.clause("QNT-39", "MOD-54")
@pytest.mark.report("BL-29")
def test_quantising_an_adapted_module_quantises_its_factors_unless_a_group_spares_them() -> None:
    """Pinned: factors are float parameters like any other."""
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_tensor=ScaleDtype.F32)
    module = with_factors(linear(), np.ones((2, 1)), np.ones((1, 3)))
    whole = module.quantize_weights(Quantizer(Calibration.MIN_MAX, scheme))
    base = module.quantize_weights_group(
        Quantizer(Calibration.MIN_MAX, scheme), ParamGroup.from_path("weight")
    )

    assert isinstance(adapter(whole).a.val(), QuantizedTensor)
    assert isinstance(whole.weight.base(), QuantizedTensor)
    assert isinstance(base.weight.base(), QuantizedTensor)
    assert not isinstance(adapter(base).a.val(), QuantizedTensor)
    assert np.allclose(base.weight.val().to_numpy(), module.weight.val().to_numpy(), atol=0.05)
    assert np.allclose(whole.weight.val().to_numpy(), module.weight.val().to_numpy(), atol=0.1)


class Renamed(PathMapper):
    """Notes the paths at which it meets float parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[str] = []

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        self.met.append(self.path)
        return param


@pytest.mark.clause("LRA-6")
def test_a_mapper_meets_base_and_factors_under_their_paths() -> None:
    mapper = Renamed()
    layers().apply_lora(Lora(1, 1.0)).map(mapper)

    assert mapper.met[:4] == [
        "layers.0.weight",
        "layers.0.weight.lora.a",
        "layers.0.weight.lora.b",
        "layers.0.bias",
    ]
