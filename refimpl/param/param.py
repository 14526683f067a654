"""A value with an identity, which a module owns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeVar, cast, overload

from ..errors import ArgumentTypeError
from ..tensor.device import Device
from ..tensor.settings import settings
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .flag import Flag
from .lazy import InitFn, LazyCell, Uninitialized
from .mapper import NO_MAPPER, ParamMapper
from .param_id import ParamId
from .reparameterization import Reparameterization
from .traversal import ModuleMapper, ModuleNode, ModuleVisitor
from .value import KIND_OF, ParameterValue, is_active, load_to_device, set_require_grad

T = TypeVar("T", bound=ParameterValue)
V = TypeVar("V", bound=ParameterValue)
R = TypeVar("R", bound=Reparameterization)
_new: Final = object.__new__


class Param(ModuleNode, Generic[T]):
    """A float, int or bool tensor, or a flag, that a module owns under an id.

    A parameter holds its stored *base*, perhaps not initialised yet; a memory of whether it takes part in
    training, which `valid` keeps and `train` restores; the functions applied when it is loaded and saved;
    and perhaps a reparameterization, which makes the *effective* value from the base.

    Parameters never change. A method that gives another parameter takes the state of one that is not
    initialised along, and the old one then refuses to initialise, unless a clone shares the state.

    Burn: burn_core::module::Param
    Clauses: PAR-9, PAR-10, PAR-11, PAR-12, PAR-20, PAR-23.
    """

    __slots__ = ("_cell", "_id", "_is_active", "_mapper", "_reparameterization")

    _id: ParamId
    _cell: LazyCell[T]
    _mapper: ParamMapper[T]
    _is_active: bool
    _reparameterization: Reparameterization | None

    def __init__(self) -> None:
        raise ArgumentTypeError(
            "a Param is not made by calling the class",
            clause="PAR-13",
            hint="use Param.from_tensor, from_data, from_bool, initialized or uninitialized",
        )

    @staticmethod
    def _make(
        id: ParamId,
        cell: LazyCell[V],
        mapper: ParamMapper[V],
        is_active: bool,
        reparameterization: Reparameterization | None = None,
    ) -> Param[V]:
        made: Param[V] = _new(Param)
        made._id = id
        made._cell = cell
        made._mapper = mapper
        made._is_active = is_active
        made._reparameterization = reparameterization
        return made

    # --- Making one ---------------------------------------------------------------------------------

    @staticmethod
    def initialized(id: ParamId, value: V) -> Param[V]:
        """A parameter that holds `value`, and remembers the training state that `value` has now.

        Raises:
            ArgumentTypeError: `value` is no tensor and no flag.

        Burn: Param::initialized
        Clauses: PAR-13.
        """
        if type(value) not in KIND_OF:
            raise ArgumentTypeError(
                f"a parameter holds a Tensor, IntTensor, BoolTensor or Flag, got {type(value).__name__}",
                clause="PAR-9",
                hint="make a tensor of it first: Tensor.from_data(values, device)",
            )
        return Param._make(_checked(id), LazyCell.initialized(value), NO_MAPPER, is_active(value))

    @staticmethod
    def from_tensor(tensor: Tensor) -> Param[Tensor]:
        """A trainable float parameter under a fresh id; on a plain device it trains after `train`.

        Raises:
            GradientError: `tensor` is tracked and no leaf.

        Burn: Param::from_tensor
        Clauses: PAR-14.
        """
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"a trainable parameter holds a float Tensor, got {type(tensor).__name__}",
                clause="PAR-14",
                hint="Param.initialized(ParamId.new(), value) takes the other kinds",
            )
        value = set_require_grad(tensor, True)
        return Param._make(ParamId.new(), LazyCell.initialized(value), NO_MAPPER, True)

    @staticmethod
    def from_data(data: Any, device: Device) -> Param[Tensor]:
        """A trainable float parameter of `data` on `device`, in the float dtype of the device.

        Burn: Param::from_data
        Clauses: PAR-15.
        """
        return Param.from_tensor(Tensor.from_data(data, device, settings(device).float_dtype))

    @staticmethod
    def from_bool(value: bool) -> Param[Flag]:
        """A flag under a fresh id, which remembers `value`.

        Burn: Param::<Flag>::from_bool
        Clauses: FLG-2.
        """
        return Param.initialized(ParamId.new(), Flag(value))

    @overload
    @staticmethod
    def uninitialized(
        id: ParamId, init: InitFn[Tensor], device: Device, require_grad: bool, shape: tuple[int, ...]
    ) -> Param[Tensor]: ...
    @overload
    @staticmethod
    def uninitialized(
        id: ParamId,
        init: InitFn[V],
        device: Device,
        require_grad: bool,
        shape: tuple[int, ...],
        *,
        kind: type[V],
    ) -> Param[V]: ...
    @staticmethod
    def uninitialized(
        id: ParamId,
        init: InitFn[Any],
        device: Device,
        require_grad: bool,
        shape: tuple[int, ...],
        *,
        kind: type[Any] = Tensor,
    ) -> Param[Any]:
        """A parameter that `init(device, require_grad)` makes when it is first read, at most once.

        `init` gets the device of that moment, and True only where it was asked for and the device has the
        autodiff tag. Its result is taken as it is; kind and rank must be those declared.

        Burn: Param::uninitialized
        Clauses: PAR-16, PAR-17.
        """
        if (
            kind not in (Tensor, IntTensor, BoolTensor)
            or not callable(init)
            or not isinstance(device, Device)
        ):
            raise ArgumentTypeError(
                f"a lazy parameter needs a kind of tensor, a function and a device, "
                f"got {kind!r}, {init!r} and {device!r}",
                clause="PAR-16",
            )
        pending = Uninitialized(init, device, bool(require_grad), tuple(shape))
        return Param._make(_checked(id), LazyCell.uninitialized(kind, pending), NO_MAPPER, bool(require_grad))

    @staticmethod
    def from_mapped_value(id: ParamId, value: V, mapper: ParamMapper[V]) -> Param[V]:
        """A parameter rebuilt from what `consume` gave: the state that `mapper` carries is used once.

        Burn: Param::from_mapped_value
        Clauses: PAR-18, PAR-19.
        """
        carried = mapper.carried_is_active
        active = is_active(value) if carried is None else carried
        return Param._make(id, LazyCell.initialized(value), ParamMapper(mapper.load, mapper.save), active)

    # --- Reading it ---------------------------------------------------------------------------------

    @property
    def id(self) -> ParamId:
        """The identity of the parameter, which records carry."""
        return self._id

    @property
    def kind(self) -> type[T]:
        """The class of the value: `Tensor`, `IntTensor`, `BoolTensor` or `Flag`."""
        return self._cell.kind

    @property
    def is_active(self) -> bool:
        """What `train` restores."""
        return self._is_active

    def base(self) -> T:
        """The stored value, initialised if it is not yet.

        Burn: Param::base
        Clauses: PAR-10.
        """
        cell = self._cell
        value = cell.value
        return cell.get() if value is None else value

    def val(self) -> T:
        """The effective value: the base, or what the attached reparameterization makes of it.

        Burn: Param::val
        Clauses: PAR-10, PAR-12.
        """
        cell = self._cell
        value = cell.value
        if value is None:
            value = cell.get()
        attached = self._reparameterization
        if attached is None:
            return value
        effective: Any = attached.apply(cast(Tensor, value))
        return effective  # type: ignore[no-any-return]

    def into_value(self) -> T:
        """The stored value; an attached reparameterization is left behind (PAR-36)."""
        return self.base()

    def is_initialized(self) -> bool:
        """Whether the value is there; it comes to be for all clones at once (PAR-22)."""
        return self._cell.value is not None

    def lazy_shape(self) -> tuple[int, ...]:
        """The declared shape while the parameter is not initialised, then the real one (PAR-24, PAR-32)."""
        pending = self._pending()
        return self._tensor().shape if pending is None else pending.shape

    def lazy_device(self) -> Device:
        """The device the parameter is on, or will be initialised on (PAR-24)."""
        pending = self._pending()
        return self._tensor().device if pending is None else pending.device

    def lazy_is_require_grad(self) -> bool:
        """The gradient setting that a value loaded now would get (PAR-61)."""
        pending = self._pending()
        return self._is_active if pending is None else pending.is_require_grad

    def is_require_grad(self) -> bool:
        """Whether the stored value requires a gradient; initialises it (PAR-11)."""
        value = self.base()
        return isinstance(value, Tensor) and value.is_require_grad

    def is_enabled(self) -> bool:
        """Whether a flag is on.

        Raises:
            ArgumentTypeError: the parameter is no flag.

        Clauses: FLG-1.
        """
        return self._flag().is_enabled()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stored value; initialises it (PAR-11)."""
        return self._tensor().shape

    @property
    def device(self) -> Device:
        """The device of the stored value; initialises it (PAR-11)."""
        return self._tensor().device

    @property
    def mapper(self) -> ParamMapper[T]:
        """The functions applied at loading and saving."""
        return self._mapper

    @overload
    def reparameterization(self, kind: type[R]) -> R | None: ...
    @overload
    def reparameterization(self) -> Reparameterization | None: ...
    def reparameterization(self, kind: type[Any] = Reparameterization) -> Any:
        """What is attached to the parameter, when it is of type `kind` (REP-12)."""
        attached = self._reparameterization
        return attached if isinstance(attached, kind) else None

    # --- Another parameter in its place --------------------------------------------------------------

    def consume(self) -> tuple[ParamId, T, ParamMapper[T]]:
        """Id, stored value and mapper; the mapper carries what the parameter remembers (PAR-38)."""
        mapper = ParamMapper(self._mapper.load, self._mapper.save, self._is_active)
        return self._id, self.base(), mapper

    @overload
    def map(self, func: ModuleMapper) -> Self: ...
    @overload
    def map(self, func: Callable[[T], T]) -> Self: ...
    def map(self, func: ModuleMapper | Callable[[T], T]) -> Param[T]:
        """The parameter with `func` of its stored value, or what a mapper makes of it.

        What the parameter remembers stays, whatever `func` does to the gradient state. A reparameterization
        is dropped by a function, and mapped apart by a mapper.

        Burn: Param::map, and Module::map of Param
        Clauses: MOD-8, PAR-36, PAR-37, REP-9.
        """
        if isinstance(func, ModuleMapper):
            return self._map_with(func)
        value = func(self.base())
        self._same_kind(value)
        return Param._make(self._id, LazyCell.initialized(value), self._mapper, self._is_active)

    def with_id(self, id: ParamId) -> Self:
        """The parameter under another id."""
        return self._with(self._by_value("with_id"), id=_checked(id))

    def load_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` applied to whatever is loaded into it, in place of an earlier one.

        Burn: Param::load_mapper
        Clauses: PAR-34, PAR-35.
        """
        return self._with(self._by_value("load_mapper"), mapper=ParamMapper(func, self._mapper.save))

    def save_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` applied to whatever is saved of it, in place of an earlier one.

        Burn: Param::save_mapper
        Clauses: PAR-34, PAR-35.
        """
        return self._with(self._by_value("save_mapper"), mapper=ParamMapper(self._mapper.load, func))

    def init_mapper(self, func: Callable[[T], T]) -> Self:
        """The parameter with `func` of the value it is initialised with; mapped at once if it is there.

        The declared shape stays. `func` gets a value without gradient, and its result is the leaf.

        Burn: Param::init_mapper
        Clauses: PAR-27, PAR-28, PAR-29, PAR-30, PAR-31, PAR-32, PAR-33.
        """
        pending = self._pending()
        if pending is None:
            return self.map(func)
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
        return cast(Self, Param._make(self._id, cell, self._mapper, self._is_active))

    def set_require_grad(self, require_grad: bool) -> Self:
        """The parameter with the gradient setting, which it remembers; a plain device waits for `train`.

        A parameter not initialised yet stays so; if a clone shares its state, the clone initialises with the
        setting too. One that is initialised drops its reparameterization: the module's method keeps it.

        Raises:
            GradientError: True on a tracked tensor that is no leaf.

        Burn: Param::set_require_grad
        Clauses: PAR-36, PAR-39, PAR-40, PAR-41, PAR-43.
        """
        cell = self._cell
        value = cell.value
        if value is not None:
            changed = set_require_grad(value, require_grad)
            if changed is value and require_grad is self._is_active and self._reparameterization is None:
                return self
            return cast(
                Self, Param._make(self._id, LazyCell.initialized(changed), self._mapper, require_grad)
            )
        if cell.is_shared:
            if not cell.set_pending_require_grad(require_grad):  # initialised by a clone meanwhile
                return self.set_require_grad(require_grad)
        else:
            cell = cell.moved("set_require_grad", is_require_grad=require_grad)
        return self._with(cell, is_active=require_grad)

    def with_value(self, value: bool) -> Param[Flag]:
        """The flag set to `value`, which it remembers.

        Burn: Param::<Flag>::with_value
        Clauses: FLG-2, FLG-7.
        """
        flag = self._flag()
        if flag.value is value and self._is_active is value:
            return cast(Param[Flag], self)
        mapper = cast(ParamMapper[Flag], self._mapper)
        return Param._make(self._id, LazyCell.initialized(flag.with_(value)), mapper, value)

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
        return cast(Self, Param._make(id, LazyCell.initialized(value), self._mapper, expected))

    def transform_for_save(self) -> Self:
        """The parameter as it is stored: the save function applied once, no functions left.

        Burn: Param::transform_for_save
        Clauses: PAR-64.
        """
        value = self._mapper.on_save(self.val())
        return cast(Self, Param._make(self._id, LazyCell.initialized(value), NO_MAPPER, self._is_active))

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
        elif self._reparameterization is None:
            return self
        attached = self._reparameterization
        return self._with(cell)._attach(None if attached is None else attached.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._cell.value is None:
            raise ArgumentTypeError(
                f"parameter {self._id} is not initialised, and its initialiser cannot be pickled",
                clause="PAR-21",
                hint="read it first with `val()`, or save a record: module.save_file(path)",
            )
        state = (self._id, self._cell.value, self._mapper, self._is_active, self._reparameterization)
        return _unpickled, state

    # --- A node of the module tree -------------------------------------------------------------------

    def visit(self, visitor: ModuleVisitor) -> None:
        """One event for the base, then the attached state below its name (MOD-8, REP-8)."""
        attached = self._reparameterization
        shown: Any = self if attached is None else self.without_reparameterization()
        kind = self._cell.kind
        if kind is Tensor:
            visitor.visit_float(shown)
        elif kind is IntTensor:
            visitor.visit_int(shown)
        elif kind is BoolTensor:
            visitor.visit_bool(shown)
        else:
            visitor.visit_flag(shown)
        if attached is not None:
            visitor.enter_module(attached.NAME, "Reparameterization")
            attached.visit(visitor)
            visitor.exit_module(attached.NAME, "Reparameterization")

    def _map_with(self, mapper: ModuleMapper) -> Param[T]:
        attached = self._reparameterization
        shown: Any = self if attached is None else self.without_reparameterization()
        kind = self._cell.kind
        base: Any
        if kind is Tensor:
            base = mapper.map_float(shown)
        elif kind is IntTensor:
            base = mapper.map_int(shown)
        elif kind is BoolTensor:
            base = mapper.map_bool(shown)
        else:
            base = mapper.map_flag(shown)
        if base is shown and attached is None:
            return self
        if not isinstance(base, Param) or base._cell.kind is not kind:
            raise ArgumentTypeError(
                f"{type(mapper).__name__} must return a Param of {kind.__name__}, got {base!r}",
                clause="MOD-2",
                hint="return the parameter itself to leave it as it is",
            )
        if attached is None:
            return base
        mapper.enter_module(attached.NAME, "Reparameterization")
        mapped = attached.map(mapper)
        mapper.exit_module(attached.NAME, "Reparameterization")
        if base is shown and mapped is attached:
            return self
        return base._attach(mapped)

    def num_params(self) -> int:
        """The elements of a float parameter as declared, and of what is attached (MOD-35, MOD-36)."""
        if self._reparameterization is not None:
            return super().num_params()
        return math.prod(self.lazy_shape()) if self._cell.kind is Tensor else 0

    def collect_devices(self, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """The base's device, then those of what is attached (MOD-42, FLG-8)."""
        if self._cell.kind is not Flag:
            device = self.lazy_device()
            if device not in devices:
                devices = (*devices, device)
        attached = self._reparameterization
        return devices if attached is None else attached.collect_devices(devices)

    def to_device(self, device: Device) -> Self:
        """The parameter on `device`.

        One that is not initialised and not shared will initialise there; any other is initialised where it
        is and moved, which is recorded: a tracked value is no leaf afterwards. Flags stay.

        Clauses: PAR-51, PAR-52, PAR-53, PAR-54, PAR-59, PAR-60, FLG-8.
        """
        if self._cell.kind is Flag:
            return self
        base = self._map_to_device(device, lambda value: cast(T, cast(Tensor, value).to_device(device)))
        attached = self._reparameterization
        return base if attached is None else base._attach(attached.to_device(device))

    def fork(self, device: Device) -> Self:
        """The parameter on `device` as a new leaf, if it required a gradient.

        Clauses: PAR-51, PAR-53, PAR-55, PAR-56, PAR-57, PAR-59, PAR-60.
        """
        if self._cell.kind is Flag:
            return self
        base = self._map_to_device(device, lambda value: _forked(value, device))
        attached = self._reparameterization
        return base if attached is None else base._attach(attached.fork(device))

    def valid(self) -> Self:
        """The parameter without autodiff; what it remembers stays, and a flag is off.

        Clauses: PAR-45, PAR-49, PAR-50, FLG-5.
        """
        value: Any = self.base()
        attached = self._reparameterization
        if isinstance(value, Flag):
            return cast(
                Self, Param._make(self._id, LazyCell.initialized(Flag(False)), NO_MAPPER, self._is_active)
            )
        plain = value.inner()
        memory = self._is_active if self._cell.kind is Tensor else False
        if plain is value and attached is None and memory is self._is_active:
            return self
        made = self._with(LazyCell.initialized(plain), is_active=memory)
        return made if attached is None else made._attach(attached.valid())

    def train(self) -> Self:
        """The parameter with an autodiff context, and the gradient setting it remembers.

        Raises:
            GradientError: it remembers True, and its value is tracked and no leaf (PAR-48).

        Clauses: PAR-46, PAR-47, PAR-48, PAR-49, FLG-5, REP-20.
        """
        value: Any = self.base()
        attached = self._reparameterization
        active = self._is_active
        if isinstance(value, Flag):
            return cast(Self, Param._make(self._id, LazyCell.initialized(Flag(active)), NO_MAPPER, active))
        tagged = value.autodiff()
        if self._cell.kind is Tensor:
            tagged = tagged.set_require_grad(active)
        else:
            active = False
        if tagged is value and attached is None and active is self._is_active:
            return self
        made = self._with(LazyCell.initialized(tagged), is_active=active)
        return made if attached is None else made._attach(attached.train())

    def materialize(self) -> Self:
        """The parameter with its effective value as base, detached, trainable as the base was (REP-18)."""
        if self._reparameterization is None:
            return self
        value = set_require_grad(cast(Tensor, self.val()).detach(), self.is_require_grad())
        return self._with(LazyCell.initialized(cast(T, value)))._attach(None)

    # --- Text ------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"Param: {self._id}"

    def __repr__(self) -> str:
        return f"Param: {self._id} - {self._mapper!r}"

    # --- Inside ----------------------------------------------------------------------------------------

    def _with(
        self,
        cell: LazyCell[T],
        *,
        id: ParamId | None = None,
        mapper: ParamMapper[T] | None = None,
        is_active: bool | None = None,
    ) -> Self:
        made: Any = Param._make(
            self._id if id is None else id,
            cell,
            self._mapper if mapper is None else mapper,
            self._is_active if is_active is None else is_active,
            self._reparameterization,
        )
        return made  # type: ignore[no-any-return]

    def _attach(self, reparameterization: Reparameterization | None) -> Self:
        """The parameter with exactly `reparameterization` attached."""
        if reparameterization is self._reparameterization:
            return self
        made = Param._make(self._id, self._cell, self._mapper, self._is_active, reparameterization)
        return cast(Self, made)

    def _by_value(self, call: str) -> LazyCell[T]:
        """The cell of the parameter that takes this one's place: its own state, unless somebody shares it."""
        cell = self._cell
        return cell if cell.value is not None or cell.is_shared else cell.moved(call)

    def _map_to_device(self, device: Device, move: Callable[[T], T]) -> Self:
        cell = self._cell
        if cell.value is None and not cell.is_shared:
            return self._with(cell.moved("to_device", device=device))._attach(None)
        value = self.base()
        moved = move(value)
        return (self if moved is value else self._with(LazyCell.initialized(moved)))._attach(None)

    def _pending(self) -> Uninitialized[T] | None:
        return None if self._cell.value is not None else self._cell.pending()

    def _tensor(self) -> Tensor | IntTensor | BoolTensor:
        value = self.base()
        if isinstance(value, Flag):
            raise ArgumentTypeError(f"flag {self._id} has no shape and no device", clause="FLG-8")
        return value

    def _flag(self) -> Flag:
        value = self.base()
        if not isinstance(value, Flag):
            raise ArgumentTypeError(
                f"parameter {self._id} holds a {self._cell.kind.__name__}, not a flag", clause="FLG-1"
            )
        return value

    def _same_kind(self, value: object) -> None:
        if KIND_OF.get(type(value)) is not self._cell.kind:
            raise ArgumentTypeError(
                f"parameter {self._id} holds a {self._cell.kind.__name__}, got {type(value).__name__}",
                clause="PAR-9",
            )


def _forked(value: Any, device: Device) -> Any:
    moved = value.to_device(device)
    if not isinstance(value, Tensor):
        return moved
    detached = moved.detach()
    return detached.set_require_grad(True) if value.is_require_grad else detached


def _checked(id: ParamId) -> ParamId:
    if not isinstance(id, ParamId):
        raise ArgumentTypeError(
            f"an id is a ParamId, got {id!r}", clause="PAR-1", hint="ParamId.new(), or ParamId.from_int(7)"
        )
    return id


def _unpickled(
    id: ParamId, value: Any, mapper: ParamMapper[Any], active: bool, attached: Reparameterization | None
) -> Param[Any]:
    return Param._make(id, LazyCell.initialized(value), mapper, active, attached)
