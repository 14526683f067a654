"""A buffer that forward passes update, averaged over threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from ..errors import ArgumentTypeError
from ..tensor.device import Device
from ..tensor.tensor import Tensor
from .param import Param
from .param_id import ParamId
from .traversal import ModuleMapper, ModuleNode, ModuleVisitor
from .value import set_require_grad

if TYPE_CHECKING:
    from collections.abc import Callable


class _Shared:
    """What all clones of one running state see: the committed value, and the last update of each thread.

    The lock is re-entrant: a visitor may read the state that it visits (PAR-81).
    """

    __slots__ = ("lock", "pending", "value")

    def __init__(self, value: Tensor) -> None:
        self.value = value
        self.pending: dict[int, Tensor] = {}
        self.lock = threading.RLock()

    def commit(self) -> None:
        """Replace the value by the average of the pending updates, on the device of the oldest."""
        updates = list(self.pending.values())
        self.pending.clear()
        total = updates[0]
        for update in updates[1:]:
            total = update.to_device(total.device) + total
        self.value = total / len(updates)


class RunningState(ModuleNode):
    """A float tensor that a layer updates in `forward`, such as a running mean.

    Clones share the value: this is the one part of a module that changes in place. An update takes effect
    one update later, or when `value_sync`, `valid` or `train` commit it; what is committed is the average
    over the threads that updated.

    Burn: burn_core::module::RunningState
    Clauses: PAR-68, PAR-69, PAR-70, PAR-71, PAR-72, PAR-73, PAR-74, PAR-75, PAR-76, PAR-77, PAR-78, PAR-79,
        PAR-80, PAR-81, PAR-82.
    """

    __slots__ = ("_id", "_shared")

    _id: ParamId
    _shared: _Shared

    def __init__(self, value: Tensor, id: ParamId | None = None) -> None:
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"a running state holds a float Tensor, got {type(value).__name__}", clause="PAR-68"
            )
        self._id = ParamId.new() if id is None else id
        self._shared = _Shared(value)

    @classmethod
    def new(cls, value: Tensor) -> Self:
        """A state that holds `value` under a fresh id."""
        return cls(value)

    @classmethod
    def with_id(cls, id: ParamId, value: Tensor) -> Self:
        """A state that holds `value` under `id`."""
        return cls(value, id)

    @classmethod
    def from_record(cls, param: Param[Tensor]) -> Self:
        """A state with the id and the effective value of `param` (PAR-68)."""
        return cls(param.val(), param.id)

    @property
    def id(self) -> ParamId:
        """The identity of the state, which loading a record does not change (PAR-80)."""
        return self._id

    def value(self) -> Tensor:
        """The committed value, which may be one update late (PAR-71)."""
        with self._shared.lock:
            return self._shared.value

    def value_sync(self) -> Tensor:
        """The value, after a commit if this thread has an update pending (PAR-71)."""
        shared = self._shared
        with shared.lock:
            if threading.get_ident() in shared.pending:
                shared.commit()
            return shared.value

    def update(self, value: Tensor) -> None:
        """Let `value` be this thread's next update; one that it has pending already is committed (PAR-69)."""
        shared = self._shared
        with shared.lock:
            thread = threading.get_ident()
            if thread in shared.pending:
                shared.commit()
            shared.pending[thread] = value

    def clone(self) -> Self:
        """The state itself: clones share value and updates (PAR-68)."""
        return self

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value(), self._id)

    def visit(self, visitor: ModuleVisitor) -> None:
        """One float event, with the committed value (PAR-73)."""
        visitor.visit_float(Param.initialized(self._id, self.value()))

    def map(self, mapper: ModuleMapper) -> Self:
        """The state itself, holding what `mapper` makes of the committed value, without gradient (PAR-74)."""

        def mapped(value: Tensor) -> Tensor:
            return set_require_grad(mapper.map_float(Param.initialized(self._id, value)).base(), False)

        return self._in_place(mapped)

    def collect_devices(self, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """The device of the committed value (PAR-79)."""
        device = self.value().device
        return devices if device in devices else (*devices, device)

    def to_device(self, device: Device) -> Self:
        """The state itself, its committed value moved; pending updates stay where they are (PAR-78)."""
        return self._in_place(lambda value: value.to_device(device))

    fork = to_device

    def valid(self) -> Self:
        """A state of its own with everything committed, on plain tensors (PAR-77)."""
        return type(self)(self._synced().inner(), self._id)

    def train(self) -> Self:
        """A state of its own with everything committed, in an autodiff context (PAR-77)."""
        return type(self)(self._synced().autodiff(), self._id)

    def materialize(self) -> Self:
        """The state itself."""
        return self

    def __str__(self) -> str:
        return f"RunningState(id={self._id})"

    def __repr__(self) -> str:
        return f"RunningState(id={self._id}, value={self.value()!r})"

    def _synced(self) -> Tensor:
        shared = self._shared
        with shared.lock:
            if shared.pending:
                shared.commit()
            return shared.value

    def _in_place(self, change: Callable[[Tensor], Tensor]) -> Self:
        shared = self._shared
        with shared.lock:
            shared.value = change(shared.value)
        return self
