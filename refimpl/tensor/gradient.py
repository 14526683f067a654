"""The gradient state of a tensor, and what each operation does to it. No gradient is ever computed."""

from __future__ import annotations

from enum import Enum
from typing import Final

from ..errors import GradientError
from .device import Device


class GradState(Enum):
    """How a tensor takes part in a graph that Burn would record.

    `PLAIN`: no autodiff context. `UNTRACKED`: in a context, a constant of the graph. `LEAF`: tracked, with
    no recorded parents; its gradient is kept. `NON_LEAF`: the result of a recorded operation.

    Clauses: DEV-8, DEV-9, PAR-40.
    """

    PLAIN = "plain"
    UNTRACKED = "untracked"
    LEAF = "leaf"
    NON_LEAF = "non-leaf"

    __hash__ = object.__hash__  # members are single objects; Enum's own hash is computed in Python


PLAIN: Final = GradState.PLAIN
UNTRACKED: Final = GradState.UNTRACKED
LEAF: Final = GradState.LEAF
NON_LEAF: Final = GradState.NON_LEAF


def fresh(device: Device) -> GradState:
    """The state of a tensor made on `device`: it takes the context of the device, and is not tracked."""
    return UNTRACKED if device.is_autodiff else PLAIN


def of_operation(lhs: GradState, rhs: GradState) -> GradState:
    """A tracked operand makes the result a non-leaf; else an autodiff operand makes it untracked (DEV-10)."""
    if lhs is PLAIN and rhs is PLAIN:
        return PLAIN
    tracked = lhs is LEAF or lhs is NON_LEAF or rhs is LEAF or rhs is NON_LEAF
    return NON_LEAF if tracked else UNTRACKED


def detached(state: GradState) -> GradState:
    """A detached leaf is a new leaf, a detached non-leaf a constant (PAR-57)."""
    return UNTRACKED if state is NON_LEAF else state


def untracked(state: GradState) -> GradState:
    """Without the need for a gradient a new, untracked lineage starts (PAR-40)."""
    return PLAIN if state is PLAIN else UNTRACKED


def required(state: GradState) -> GradState:
    """An untracked tensor whose gradient is required is a leaf, and a leaf stays one (PAR-40).

    Raises:
        GradientError: the tensor is plain, or no leaf.
    """
    if state is PLAIN:
        raise GradientError(
            "Tensor::require_grad requires autodiff; call Tensor::autodiff first",
            clause="PAR-40",
            hint="in Python: tensor.autodiff().require_grad(), or make the tensor on device.autodiff()",
        )
    if state is NON_LEAF:
        raise GradientError(
            "Can't convert a non leaf tensor into a tracked tensor",
            clause="PAR-40",
            hint="detach() first, to start a new lineage; for a moved module take fork() or valid().train()",
        )
    return LEAF


def merged(lhs: Device, rhs: Device) -> Device:
    """The context of a result: that of whichever operand has one (DEV-10).

    Both are on one hardware, and differ in their contexts.

    Raises:
        GradientError: both have one, with different checkpointing strategies.
    """
    if not rhs.is_autodiff:
        return lhs
    if not lhs.is_autodiff:
        return rhs
    assert lhs.checkpointing is not None
    assert rhs.checkpointing is not None
    left, right = lhs.checkpointing.value, rhs.checkpointing.value
    raise GradientError(
        f"assertion `left == right` failed: Gradient checkpointing strategy mismatch: {left} vs {right}. "
        f"Tensors in the same operation must share a strategy.\n  left: {left}\n right: {right}",
        clause="DEV-10",
        hint="make both tensors on devices with one strategy",
    )
