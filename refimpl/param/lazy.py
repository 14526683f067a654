"""The cell that the clones of a parameter share, so that it is initialised once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from ..errors import LazyInitError, MovedError
from ..tensor.device import Device
from .flag import Flag
from .value import KIND_OF, ParameterValue

T = TypeVar("T", bound=ParameterValue)
V = TypeVar("V", bound=ParameterValue)
_new: Final = object.__new__

#: Makes the value, given the device and whether it requires a gradient there.
InitFn = Callable[[Device, bool], T]


@dataclass(frozen=True, slots=True)
class Uninitialized(Generic[T]):
    """What a parameter will be made of when it is first read.

    Clauses: PAR-16.
    """

    init: InitFn[T]
    device: Device
    is_require_grad: bool
    shape: tuple[int, ...]

    def initialize(self) -> T:
        """The value, asked to require a gradient only where the device can follow one."""
        return self.init(self.device, self.is_require_grad and self.device.is_autodiff)


class LazyCell(Generic[T]):
    """A value, or what it will be made of: the one thing that parameters change in place.

    `is_shared` says whether several parameters may read the cell; it is set by `clone`, and when one
    walk meets a cell twice, and never taken back: nothing here depends on the garbage collector.

    Burn: burn_core::module::param::LazyInitState
    Clauses: PAR-21, PAR-22, PAR-25, PAR-26, PAR-52.
    """

    __slots__ = ("_lock", "_moved_by", "_pending", "is_shared", "kind", "value")

    kind: type[T]
    value: T | None
    is_shared: bool
    _pending: Uninitialized[T] | None
    _moved_by: str | None
    _lock: threading.RLock | None

    @staticmethod
    def initialized(value: V) -> LazyCell[V]:
        """A cell that holds its value already."""
        cell: LazyCell[V] = _new(LazyCell)
        cell.kind = KIND_OF[type(value)]
        cell.value = value
        cell.is_shared = False
        return cell

    @staticmethod
    def uninitialized(kind: type[V], pending: Uninitialized[V]) -> LazyCell[V]:
        """A cell that makes a value of `kind` at its first reading."""
        cell: LazyCell[V] = _new(LazyCell)
        cell.kind = kind
        cell.value = None
        cell.is_shared = False
        cell._pending = pending
        cell._moved_by = None
        cell._lock = threading.RLock()
        return cell

    def get(self) -> T:
        """The value of a cell that had none just now: who asks first makes it, others wait for that one.

        Raises:
            MovedError: a by-value call took the state away before it was initialised.
            LazyInitError: the initialiser failed before, or reads the parameter that it makes.
        """
        assert self._lock is not None
        with self._lock:
            if self.value is None:
                pending = self._taken()
                self._pending = None  # an initialiser that fails is gone (PAR-26)
                value = pending.initialize()
                self._check(value, pending)
                self.value = value
            return self.value

    def pending(self) -> Uninitialized[T] | None:
        """What the value of a cell that had none just now will be made of, or None when it is there.

        Raises:
            MovedError, LazyInitError: as `get`.
        """
        assert self._lock is not None
        with self._lock:
            return None if self.value is not None else self._taken()

    def set_pending_require_grad(self, require_grad: bool) -> bool:
        """Whether the cell is still uninitialised; then every sharer initialises so (PAR-43)."""
        assert self._lock is not None
        with self._lock:
            waits = self.value is None  # unless another thread was quicker
            if waits:
                self._pending = replace(self._taken(), is_require_grad=require_grad)
            return waits

    def moved(
        self, call: str, device: Device | None = None, is_require_grad: bool | None = None
    ) -> LazyCell[T] | None:
        """A new cell with the state of this one, which from now on refuses to initialise.

        None if another thread has initialised the cell meanwhile: then there is no state to move. `device`
        keeps the autodiff context the parameter was built with (PAR-51).
        """
        assert self._lock is not None
        with self._lock:
            if self.value is not None:
                return None
            pending = self._taken()
            if device is not None:
                pending = replace(pending, device=device.with_autodiff_context_from(pending.device))
            if is_require_grad is not None:
                pending = replace(pending, is_require_grad=is_require_grad)
            self._pending, self._moved_by = None, call
            return LazyCell.uninitialized(self.kind, pending)

    def _taken(self) -> Uninitialized[T]:
        if self._pending is not None:
            return self._pending
        if self._moved_by is not None:
            raise MovedError(
                f"`{self._moved_by}` moved this parameter before it was initialised",
                clause="PAR-52",
                hint="clone the module first to keep it: `module.clone()`",
            )
        raise LazyInitError(
            "Should exist when not initialized",
            clause="PAR-26",
            hint="its initialiser failed, or reads the parameter that it makes: make the parameter anew",
        )

    def _check(self, value: Any, pending: Uninitialized[T]) -> None:
        # Rust's types hold kind and rank; the extents are free there and here (PAR-17).
        if KIND_OF.get(type(value)) is not self.kind:
            raise LazyInitError(
                f"the initialiser must return a {self.kind.__name__}, it returned {type(value).__name__}",
                clause="PAR-17",
            )
        if not isinstance(value, Flag) and value.rank != len(pending.shape):
            raise LazyInitError(
                f"the initialiser must return rank {len(pending.shape)}, got shape {list(value.shape)}",
                clause="PAR-17",
                hint=f"the parameter was declared with shape {list(pending.shape)}",
            )
