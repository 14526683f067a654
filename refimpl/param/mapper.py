"""What a parameter applies when it is loaded and saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from ..errors import ArgumentTypeError
from .value import ParameterValue

T = TypeVar("T", bound=ParameterValue)


@dataclass(frozen=True, slots=True)
class ParamMapper(Generic[T]):
    """The load and the save function of a parameter, and the training state that `consume` carries.

    Burn: burn_core::module::ParamMapper
    Clauses: PAR-18, PAR-19, PAR-34, PAR-35.
    """

    load: Callable[[T], T] | None = None
    save: Callable[[T], T] | None = None
    #: Read once, by the parameter that `from_mapped_value` makes.
    carried_is_active: bool | None = None

    def on_load(self, value: T) -> T:
        """`value` as the parameter uses it, from the form that is stored."""
        return value if self.load is None else self.load(value)

    def on_save(self, value: T) -> T:
        """`value` as it is stored."""
        return value if self.save is None else self.save(value)

    def refuse_to_pickle(self, name: str) -> None:
        """Refuse functions that have no name in a module, under which a pickle would find them again.

        Raises:
            ArgumentTypeError: the load or the save function of the parameter `name` is such a one.
        """
        for what, function in (("load", self.load), ("save", self.save)):
            called = getattr(function, "__qualname__", "")
            if "<" in called:
                raise ArgumentTypeError(
                    f"the {what} function of parameter {name}, `{called}`, cannot be pickled",
                    clause="PAR-34",
                    hint="write it with `def` at the top of a file, or save a record: module.save_file(path)",
                )

    def __repr__(self) -> str:
        load, save = (str(f is not None).lower() for f in (self.load, self.save))
        return f"ParamMapper {{ load: {load}, save: {save} }}"


NO_MAPPER: Final[ParamMapper[Any]] = ParamMapper()
