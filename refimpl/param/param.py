"""A value with an identity, which a module owns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, cast, overload

from ..errors import ArgumentTypeError
from ..tensor.arguments import as_shape, check_bool
from ..tensor.device import Device
from ..tensor.settings import settings
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .flag import Flag
from .lazy import InitFn, LazyCell, Uninitialized
from .mapper import NO_MAPPER, ParamMapper
from .param_id import ParamId
from .reparameterization import Reparameterization
from .replacing import ReplacedParam, checked_id
from .traversal import ModuleMapper, ModuleNode, ModuleVisitor, no_visitor
from .value import KIND_OF, ParameterValue, is_active, set_require_grad

T = TypeVar("T", bound=ParameterValue)
V = TypeVar("V", bound=ParameterValue)


class Param(ReplacedParam[T], ModuleNode, Generic[T]):
    """A float, int or bool tensor, or a flag, that a module owns under an id.

    A parameter holds its stored *base*, perhaps not initialised yet; a memory of whether it takes part in
    training, which `valid` keeps and `train` restores; the functions applied when it is loaded and saved;
    and perhaps a reparameterization, which makes the *effective* value from the base.

    Parameters never change. A method that gives another parameter takes the state of one that is not
    initialised along, and the old one then refuses to initialise, unless a clone shares the state.

    Burn: burn_core::module::Param
    Clauses: PAR-9, PAR-10, PAR-11, PAR-12, PAR-20, PAR-23.
    """

    __slots__ = ()

    def __init__(self, *values: object, **named: object) -> None:  # noqa: ARG002
        raise ArgumentTypeError(
            "a Param is not made by calling the class",
            clause="PAR-13",
            hint="use Param.from_tensor, from_data, from_bool, initialized or uninitialized",
        )

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
        return Param._make(checked_id(id), LazyCell.initialized(value), NO_MAPPER, is_active(value))

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
                hint="Param.initialized(ParamId.new(), value) takes the other kinds"
                if type(tensor) in KIND_OF
                else "Param.from_data(values, device) makes the tensor too",
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
        check_bool(require_grad, "whether a gradient is required", "PAR-16")
        pending = Uninitialized(init, device, require_grad, as_shape(shape))
        return Param._make(checked_id(id), LazyCell.uninitialized(kind, pending), NO_MAPPER, require_grad)

    @staticmethod
    def from_mapped_value(id: ParamId, value: V, mapper: ParamMapper[V]) -> Param[V]:
        """A parameter rebuilt from what `consume` gave: the state that `mapper` carries is used once.

        Burn: Param::from_mapped_value
        Clauses: PAR-18, PAR-19.
        """
        carried = mapper.carried_is_active
        active = is_active(value) if carried is None else carried
        return Param._make(id, LazyCell.initialized(value), ParamMapper(mapper.load, mapper.save), active)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._cell.value is None:
            raise ArgumentTypeError(
                f"parameter {self._id} is not initialised, and its initialiser cannot be pickled",
                clause="PAR-21",
                hint="read it first with `val()`, or save a record: module.save_file(path)",
            )
        self._mapper.refuse_to_pickle(str(self._id))
        state = (self._id, self._cell.value, self._mapper, self._is_active, self._reparameterization)
        return _unpickled, state

    # --- A node of the module tree -------------------------------------------------------------------

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
        return self._map_with(func) if isinstance(func, ModuleMapper) else self._mapped(func)

    def visit(self, visitor: ModuleVisitor) -> None:
        """One event for the base, then the attached state below its name (MOD-8, REP-8)."""
        attached = self._reparameterization
        if attached is not None:
            self.without_reparameterization().visit(visitor)
            visitor.enter_module(attached.NAME, "Reparameterization")
            attached.visit(visitor)
            visitor.exit_module(attached.NAME, "Reparameterization")
            return
        me: Any = self
        kind = self._cell.kind
        try:
            if kind is Tensor:
                visitor.visit_float(me)
            elif kind is IntTensor:
                visitor.visit_int(me)
            elif kind is BoolTensor:
                visitor.visit_bool(me)
            else:
                visitor.visit_flag(me)
        except (AttributeError, TypeError):
            if hasattr(visitor, "visit_float") and not isinstance(visitor, type):
                raise
            raise no_visitor("ModuleVisitor", visitor) from None

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
            return self._make(self._id, LazyCell.initialized(Flag(False)), NO_MAPPER, self._is_active)
        plain = value.inner()
        if plain is value and attached is None:
            return self
        made = self._with(LazyCell.initialized(plain))
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
            return self._make(self._id, LazyCell.initialized(Flag(active)), NO_MAPPER, active)
        tagged = set_require_grad(value.autodiff(), active)
        if tagged is value and attached is None:
            return self
        made = self._with(LazyCell.initialized(tagged))
        return made if attached is None else made._attach(attached.train())

    def materialize(self) -> Self:
        """The parameter with its effective value as base, detached, trainable as the base was (REP-18)."""
        if self._reparameterization is None:
            return self
        value = set_require_grad(cast(Tensor, self.val()).detach(), self.is_require_grad())
        return self._with(LazyCell.initialized(cast(T, value)))._attach(None)


def _forked(value: Any, device: Device) -> Any:
    moved = value.to_device(device)
    if not isinstance(value, Tensor):
        return moved
    detached = moved.detach()
    return detached.set_require_grad(True) if value.is_require_grad else detached


def _unpickled(
    id: ParamId, value: Any, mapper: ParamMapper[Any], active: bool, attached: Reparameterization | None
) -> Param[Any]:
    return Param._make(id, LazyCell.initialized(value), mapper, active, attached)
