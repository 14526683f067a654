from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from refimpl.errors import GradientError
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.gradient import GradState
from refimpl.tensor.tensor import BoolTensor, IntTensor, Tensor

PLAIN, UNTRACKED, LEAF, NON_LEAF = GradState
SIM, OTHER = Device("sim", 0), Device("sim", 1)
STATES = {
    PLAIN: Tensor.ones([2, 2], SIM),
    UNTRACKED: Tensor.ones([2, 2], SIM.autodiff()),
    LEAF: Tensor.ones([2, 2], SIM.autodiff()).require_grad(),
    NON_LEAF: Tensor.ones([2, 2], SIM.autodiff()).require_grad() + 1.0,
}


@pytest.mark.clause("DEV-8")
def test_a_tensor_takes_the_context_of_the_device_it_is_made_on() -> None:
    balanced = SIM.autodiff().gradient_checkpointing()

    for device, state in ((SIM, PLAIN), (SIM.autodiff(), UNTRACKED), (balanced, UNTRACKED)):
        tensor = Tensor.zeros([1], device)
        assert (tensor.device, tensor.device.checkpointing) == (device, device.checkpointing)
        assert tensor.grad_state is state


@pytest.mark.clause("DEV-8")
@pytest.mark.parametrize("kind", [Tensor, IntTensor, BoolTensor])
def test_a_move_keeps_the_tensors_own_context_and_never_takes_the_devices(kind: type[Tensor]) -> None:
    plain, tagged = kind.zeros([1], SIM), kind.zeros([1], SIM.autodiff().gradient_checkpointing())

    assert str(plain.to_device(OTHER.autodiff()).device) == "sim:1"
    assert str(tagged.to_device(OTHER).device) == "sim:1+autodiff(balanced)"
    assert str(tagged.to_device(SIM).device) == "sim:0+autodiff(balanced)"


@pytest.mark.clause("PAR-54")
@pytest.mark.parametrize("device", [SIM, SIM.autodiff(), OTHER])
@pytest.mark.parametrize(
    ("state", "want"), [(PLAIN, PLAIN), (UNTRACKED, UNTRACKED), (LEAF, NON_LEAF), (NON_LEAF, NON_LEAF)]
)
def test_a_move_is_a_recorded_operation_even_to_the_same_device(
    state: GradState, want: GradState, device: Device
) -> None:
    assert STATES[state].to_device(device).grad_state is want


@pytest.mark.clause("PAR-54")
def test_a_move_to_the_same_device_gives_the_same_tensor_unless_it_is_a_leaf() -> None:
    for state in (PLAIN, UNTRACKED, NON_LEAF):
        assert STATES[state].to_device(SIM) is STATES[state]


@pytest.mark.clause("PAR-57")
@pytest.mark.parametrize(
    ("state", "want"), [(PLAIN, PLAIN), (UNTRACKED, UNTRACKED), (LEAF, LEAF), (NON_LEAF, UNTRACKED)]
)
def test_detach_keeps_a_leaf_and_leaves_no_other_tracked(state: GradState, want: GradState) -> None:
    assert STATES[state].detach().grad_state is want


@pytest.mark.clause("PAR-57")
def test_a_detached_leaf_is_another_leaf() -> None:
    assert STATES[LEAF].detach() is not STATES[LEAF]


@pytest.mark.clause("PAR-55", "PAR-56")
def test_a_fork_by_hand_is_a_leaf_on_the_other_device() -> None:
    moved = STATES[LEAF].to_device(OTHER).detach()

    assert moved.grad_state is UNTRACKED
    assert moved.require_grad().grad_state is LEAF


@pytest.mark.clause("PAR-40")
def test_requiring_the_gradient_of_a_leaf_gives_the_same_leaf() -> None:
    assert STATES[LEAF].set_require_grad(True) is STATES[LEAF]


@pytest.mark.clause("PAR-40")
def test_requiring_the_gradient_of_an_untracked_tensor_gives_a_leaf() -> None:
    assert STATES[UNTRACKED].require_grad().is_require_grad


@pytest.mark.clause("PAR-40")
def test_requiring_the_gradient_of_a_non_leaf_is_refused() -> None:
    with pytest.raises(GradientError) as caught:
        STATES[NON_LEAF].set_require_grad(True)

    assert str(caught.value) == "Can't convert a non leaf tensor into a tracked tensor"


@pytest.mark.clause("PAR-40")
def test_requiring_the_gradient_of_a_plain_tensor_is_refused() -> None:
    with pytest.raises(GradientError) as caught:
        STATES[PLAIN].require_grad()

    assert str(caught.value) == "Tensor::require_grad requires autodiff; call Tensor::autodiff first"


@pytest.mark.clause("PAR-40")
@pytest.mark.parametrize(
    ("state", "want"), [(PLAIN, PLAIN), (UNTRACKED, UNTRACKED), (LEAF, UNTRACKED), (NON_LEAF, UNTRACKED)]
)
def test_giving_up_the_gradient_starts_an_untracked_lineage(state: GradState, want: GradState) -> None:
    assert STATES[state].set_require_grad(False).grad_state is want


@pytest.mark.clause("PAR-40")
def test_a_leaf_that_was_given_up_and_is_required_again_is_another_leaf() -> None:
    again = STATES[LEAF].set_require_grad(False).set_require_grad(True)

    assert again.grad_state is LEAF
    assert again is not STATES[LEAF]


@pytest.mark.clause("DEV-9")
def test_autodiff_adds_the_plain_strategy_to_a_plain_tensor_alone() -> None:
    balanced = Tensor.ones([1], SIM.autodiff().gradient_checkpointing())

    assert str(STATES[PLAIN].autodiff().device) == "sim:0+autodiff"
    assert STATES[PLAIN].autodiff().grad_state is UNTRACKED
    assert balanced.autodiff() is balanced
    assert Tensor.from_inner(STATES[LEAF]) is STATES[LEAF]


@pytest.mark.clause("DEV-9")
@pytest.mark.parametrize("state", STATES)
def test_inner_takes_context_and_graph_away(state: GradState) -> None:
    inner = STATES[state].inner()

    assert (inner.grad_state, inner.is_autodiff, str(inner.device)) == (PLAIN, False, "sim:0")
    assert inner.inner() is inner
    assert STATES[state].without_autodiff().grad_state is PLAIN


@pytest.mark.clause("DEV-10")
@pytest.mark.parametrize("lhs", STATES)
@pytest.mark.parametrize("rhs", STATES)
@pytest.mark.parametrize(
    "operate",
    [
        lambda x, y: x + y,
        lambda x, y: x @ y,
        lambda x, y: Tensor.cat([x, y], 0),
        lambda x, y: x.mask_where(BoolTensor.ones([2, 2], SIM), y),
    ],
)
def test_a_tracked_operand_makes_a_non_leaf_and_an_autodiff_operand_an_autodiff_result(
    lhs: GradState, rhs: GradState, operate: Callable[[Tensor, Tensor], Tensor]
) -> None:
    result = operate(STATES[lhs], STATES[rhs])

    states = {lhs, rhs}
    want = NON_LEAF if states & {LEAF, NON_LEAF} else PLAIN if states == {PLAIN} else UNTRACKED
    assert result.grad_state is want
    assert result.device.is_autodiff == (want is not PLAIN)


@pytest.mark.parametrize(
    "operate",
    [
        lambda x: x + 1.0,
        lambda x: -x,
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x.mean_dim(0),
        lambda x: x.reshape([4]),
        lambda x: x[0],
        lambda x: x.T,
        lambda x: x.softmax(1),
        lambda x: x.cast(DType.F16),
        lambda x: x.select(0, IntTensor.from_data([1], SIM)),
        lambda x: x.gelu(),
        lambda x: x.expand([3, 2, 2]),
    ],
)
def test_every_operation_on_a_leaf_gives_a_non_leaf(operate: Callable[[Tensor], Tensor]) -> None:
    wants = {PLAIN: PLAIN, UNTRACKED: UNTRACKED, LEAF: NON_LEAF, NON_LEAF: NON_LEAF}

    assert {state: operate(tensor).grad_state for state, tensor in STATES.items()} == wants


@pytest.mark.parametrize(
    "operate", [lambda x: x > 0, lambda x: x.int(), lambda x: x.argmax(0), Tensor.ones_like]
)
def test_what_has_no_gradient_is_untracked_in_an_autodiff_context(
    operate: Callable[[Tensor], Tensor],
) -> None:
    assert operate(STATES[LEAF]).grad_state is UNTRACKED
    assert operate(STATES[PLAIN]).grad_state is PLAIN


@pytest.mark.clause("DEV-10")
@pytest.mark.parametrize(
    ("lhs", "rhs", "names"),
    [(SIM.autodiff(), SIM.autodiff().gradient_checkpointing(), ("Disabled", "Balanced"))],
)
def test_two_checkpointing_strategies_are_never_mixed(
    lhs: Device, rhs: Device, names: tuple[str, str]
) -> None:
    with pytest.raises(GradientError) as caught:
        Tensor.ones([1], lhs) + Tensor.ones([1], rhs)

    left, right = names
    assert str(caught.value) == (
        f"assertion `left == right` failed: Gradient checkpointing strategy mismatch: {left} vs {right}. "
        f"Tensors in the same operation must share a strategy.\n  left: {left}\n right: {right}"
    )


@pytest.mark.clause("DEV-10")
@pytest.mark.parametrize("flip", [False, True])
def test_the_strategy_of_the_operand_that_has_one_is_the_results(flip: bool) -> None:
    pair = [Tensor.ones([1], SIM), Tensor.ones([1], SIM.autodiff().gradient_checkpointing())]
    lhs, rhs = reversed(pair) if flip else pair

    assert str((lhs + rhs).device) == "sim:0+autodiff(balanced)"
    assert str((lhs > rhs).device) == "sim:0+autodiff(balanced)"


def test_a_copy_of_a_tensor_is_the_tensor() -> None:
    leaf = STATES[LEAF]

    assert copy.copy(leaf) is leaf
    assert copy.deepcopy([leaf])[0] is leaf
    assert leaf.clone() is leaf


@pytest.mark.parametrize(
    ("state", "want"), [(PLAIN, PLAIN), (UNTRACKED, UNTRACKED), (LEAF, LEAF), (NON_LEAF, UNTRACKED)]
)
def test_a_pickled_tensor_comes_back_whole_but_for_the_graph(state: GradState, want: GradState) -> None:
    again = pickle.loads(pickle.dumps(STATES[state]))

    assert (again.to_data(), again.device, again.grad_state) == (
        STATES[state].to_data(),
        STATES[state].device,
        want,
    )
