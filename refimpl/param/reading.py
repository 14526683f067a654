"""What a parameter holds, and what can be asked of it."""

from __future__ import annotations

from typing import Any, Final, Generic, Self, TypeVar, cast, overload

from ..errors import ArgumentTypeError
from ..tensor.device import Device
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .flag import Flag
from .lazy import LazyCell, Uninitialized
from .mapper import ParamMapper
from .param_id import ParamId
from .reparameterization import Reparameterization
from .value import KIND_OF, ParameterValue

T = TypeVar("T", bound=ParameterValue)
R = TypeVar("R", bound=Reparameterization)
_new: Final = object.__new__


class ReadParam(Generic[T]):
    """The part of `Param` that answers: id, values, laziness, device, shape, gradient setting.

    Clauses: PAR-9, PAR-10, PAR-11, PAR-12, PAR-20, PAR-23.
    """

    __slots__ = ("_cell", "_id", "_is_active", "_mapper", "_reparameterization")

    _id: ParamId
    _cell: LazyCell[T]
    _mapper: ParamMapper[T]
    _is_active: bool
    _reparameterization: Reparameterization | None

    @classmethod
    def _make(
        cls,
        id: ParamId,
        cell: LazyCell[Any],
        mapper: ParamMapper[Any],
        is_active: bool,
        reparameterization: Reparameterization | None = None,
    ) -> Self:
        """A parameter of these parts, unchecked: the one place where parameters begin."""
        made: Self = _new(cls)
        made._id = id
        made._cell = cell
        made._mapper = mapper
        made._is_active = is_active
        made._reparameterization = reparameterization
        return made

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
        if not isinstance(kind, type):
            raise ArgumentTypeError(
                f"a reparameterization is asked for by its class, got {kind!r}",
                clause="REP-12",
                hint="param.reparameterization(LoraAdapter), or without an argument for any",
            )
        attached = self._reparameterization
        return attached if isinstance(attached, kind) else None

    def __str__(self) -> str:
        return f"Param: {self._id}"

    def __repr__(self) -> str:
        return f"Param: {self._id} - {self._mapper!r}"

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
