"""The parameters that take a parameter's place: mapped, set, loaded, cloned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from ..errors import ArgumentTypeError
from ..tensor.arguments import check_bool
from ..tensor.device import Device
from .lazy import LazyCell, Uninitialized
from .mapper import NO_MAPPER, ParamMapper
from .param_id import ParamId
from .reading import ReadParam
from .reparameterization import Reparameterization
from .value import ParameterValue, load_to_device, set_require_grad

T = TypeVar("T", bound=ParameterValue)


class ReplacedParam(ReadParam[T], Generic[T]):
    """The part of `Param` that gives another parameter.

    A method that does takes the state of a parameter that is not initialised along, and the old one then
    refuses to initialise, unless a clone shares the state.

    Clauses: PAR-21, PAR-52.
    """

    __slots__ = ()

    def consume(self) -> tuple[ParamId, T, ParamMapper[T]]:
        """Id, stored value and mapper; the mapper carries what the parameter remembers (PAR-38)."""
        mapper = ParamMapper(self._mapper.load, self._mapper.save, self._is_active)
        return self._id, self.base(), mapper

    def _mapped(self, func: Callable[[T], T]) -> Self:
        check_function("map", func)
        value = func(self.base())
        self._same_kind(value)
        return self._make(self._id, LazyCell.initialized(value), self._mapper, self._is_active)

    def with_id(self, id: ParamId) -> Self:
        """The parameter under another id."""
        return self._with(self._by_value("with_id"), id=checked_id(id))

    def load_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` applied to whatever is loaded into it, in place of an earlier one.

        Burn: Param::load_mapper
        Clauses: PAR-34, PAR-35.
        """
        check_function("load_mapper", func)
        return self._with(self._by_value("load_mapper"), mapper=ParamMapper(func, self._mapper.save))

    def save_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` applied to whatever is saved of it, in place of an earlier one.

        Burn: Param::save_mapper
        Clauses: PAR-34, PAR-35.
        """
        check_function("save_mapper", func)
        return self._with(self._by_value("save_mapper"), mapper=ParamMapper(self._mapper.load, func))

    def init_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` of the value it is initialised with; mapped at once if it is there.

        The declared shape stays. `func` gets a value without gradient, and its result is the leaf.

        Burn: Param::init_mapper
        Clauses: PAR-27, PAR-28, PAR-29, PAR-30, PAR-31, PAR-32, PAR-33.
        """
        check_function("init_mapper", func)
        pending = self._pending()
        if pending is None:
            return self._mapped(func)
        origin = self._with(self._by_value("init_mapper"))
        # The captured parameter moves as one with what is attached to it, before `func` sees the value.
        attached = origin._reparameterization

        def init(device: Device, require_grad: bool) -> T:
            moved = origin._map_to_device(device, lambda value: load_to_device(value, device))
            if attached is not None:
                moved = moved._attach(attached.to_device(device))
            value = set_require_grad(moved.val(), False)
            return set_require_grad(func(value), require_grad)

        lazy = Uninitialized(init, pending.device, pending.is_require_grad, pending.shape)
        cell = LazyCell.uninitialized(self._cell.kind, lazy)
        return self._make(self._id, cell, self._mapper, self._is_active)

    def set_require_grad(self, require_grad: bool) -> Self:
        """The parameter with the gradient setting, which it remembers; a plain device waits for `train`.

        A parameter not initialised yet stays so; if a clone shares its state, the clone initialises with the
        setting too. One that is initialised drops its reparameterization: the module's method keeps it.

        Raises:
            GradientError: True on a tracked tensor that is no leaf.

        Burn: Param::set_require_grad
        Clauses: PAR-36, PAR-39, PAR-40, PAR-41, PAR-43.
        """
        if type(require_grad) is not bool:
            check_bool(require_grad, "whether a gradient is required", "PAR-36")  # type: ignore[unreachable]
        cell = self._cell
        value = cell.value
        if value is not None:
            changed = set_require_grad(value, require_grad)
            if changed is value and require_grad is self._is_active and self._reparameterization is None:
                return self
            return self._make(self._id, LazyCell.initialized(changed), self._mapper, require_grad)
        if cell.is_shared:
            kept = cell if cell.set_pending_require_grad(require_grad) else None
        else:
            kept = cell.moved("set_require_grad", is_require_grad=require_grad)
        if kept is None:  # another thread initialised it meanwhile
            return self.set_require_grad(require_grad)
        return self._with(kept, is_active=require_grad)

    def with_value(self, value: bool) -> Self:
        """The flag set to `value`, which it remembers.

        Burn: Param::<Flag>::with_value
        Clauses: FLG-2, FLG-7.
        """
        flag = self._flag()
        if flag.value is value and self._is_active is value:
            return self
        return self._make(self._id, LazyCell.initialized(flag.with_(value)), self._mapper, value)

    def transform_for_load(self, tensor: T, id: ParamId) -> Self:
        """The parameter with `tensor` loaded into it: on its device, mapped, with its own gradient setting.

        The old value is never read.

        Burn: Param::transform_for_load
        Clauses: PAR-61, PAR-62, PAR-63, PAR-65.
        """
        self._same_kind(tensor)
        expected = self.lazy_is_require_grad()
        value = self._mapper.on_load(load_to_device(tensor, self.lazy_device()))
        value = set_require_grad(value, expected)
        return self._make(id, LazyCell.initialized(value), self._mapper, expected)

    def transform_for_save(self) -> Self:
        """The parameter as it is stored: the save function applied once, no functions left.

        Burn: Param::transform_for_save
        Clauses: PAR-64.
        """
        value = self._mapper.on_save(self.val())
        return self._make(self._id, LazyCell.initialized(value), NO_MAPPER, self._is_active)

    def share_if_in(self, seen: set[int]) -> None:
        """Mark the state of an uninitialised parameter as shared if `seen` knows it; `seen` knows it then.

        Clauses: PAR-52.
        """
        cell = self._cell
        if cell.value is None:
            if id(cell) in seen:
                cell.is_shared = True
            seen.add(id(cell))

    def with_reparameterization(self, reparameterization: Reparameterization) -> Self:
        """The parameter with `reparameterization` attached, in place of an earlier one (REP-4)."""
        return self._with(self._by_value("with_reparameterization"))._attach(reparameterization)

    def without_reparameterization(self) -> Self:
        """The parameter's stored base alone, sharing its initialisation."""
        return self._attach(None)

    def clone(self) -> Self:
        """The parameter again; both share one initialisation (PAR-21).

        Clauses: PAR-21, REP-11.
        """
        cell = self._cell
        if cell.value is None:
            cell.is_shared = True
        attached = self._reparameterization
        return self._with(cell)._attach(None if attached is None else attached.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def _with(
        self,
        cell: LazyCell[T],
        *,
        id: ParamId | None = None,
        mapper: ParamMapper[T] | None = None,
        is_active: bool | None = None,
    ) -> Self:
        return self._make(
            self._id if id is None else id,
            cell,
            self._mapper if mapper is None else mapper,
            self._is_active if is_active is None else is_active,
            self._reparameterization,
        )

    def _attach(self, reparameterization: Reparameterization | None) -> Self:
        """The parameter with exactly `reparameterization` attached."""
        if reparameterization is self._reparameterization:
            return self
        return self._make(self._id, self._cell, self._mapper, self._is_active, reparameterization)

    def _by_value(self, call: str) -> LazyCell[T]:
        """The cell of the parameter that takes this one's place: its own state, unless somebody shares it."""
        cell = self._cell
        if cell.value is not None or cell.is_shared:
            return cell
        return cell.moved(call) or cell

    def _map_to_device(self, device: Device, move: Callable[[T], T]) -> Self:
        cell = self._cell
        if cell.value is None and not cell.is_shared:
            retargeted = cell.moved("to_device", device=device)
            if retargeted is not None:
                return self._with(retargeted)._attach(None)
        value = self.base()
        moved = move(value)
        return (self if moved is value else self._with(LazyCell.initialized(moved)))._attach(None)


def check_function(call: str, function: object) -> None:
    """Refuse what cannot be called with a value; a class of mappers is no mapper.

    Raises:
        ArgumentTypeError: as above.
    """
    if not callable(function) or isinstance(function, type):
        raise ArgumentTypeError(
            f"{call} takes a function of the value, got {function!r}",
            clause="PAR-36",
            hint="param.map also takes an instance of a subclass of ModuleMapper",
        )


def checked_id(id: ParamId) -> ParamId:
    """`id`, if it is one.

    Raises:
        ArgumentTypeError: it is not.
    """
    if not isinstance(id, ParamId):
        raise ArgumentTypeError(
            f"an id is a ParamId, got {id!r}", clause="PAR-1", hint="ParamId.new(), or ParamId.from_int(7)"
        )
    return id
