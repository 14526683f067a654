"""Classes whose objects never change, and what follows for copies and pickles: one rule for all of them."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Never, Self, TypeVar

V = TypeVar("V", bound="Value")
_new: Final = object.__new__


class Value:
    """The base of classes with `__slots__` whose objects are set while they are made, and never again.

    A copy, deep or not, is the object itself. A pickle holds the slots, and gives an equal object.

    Whoever makes many objects makes them of the class `_open`, whose attributes can be set, and then lets
    `__class__` be the class itself: that costs a third of setting each attribute past the refusal.
    """

    __slots__ = ()
    _open: ClassVar[type[Any]]

    def __init_subclass__(cls, is_open: bool = False, **named: Any) -> None:
        super().__init_subclass__(**named)
        if not is_open:
            body = {
                "__slots__": (),
                "__module__": cls.__module__,
                "__setattr__": object.__setattr__,
                "__delattr__": object.__delattr__,
            }
            cls._open = type(cls)(cls.__name__, (cls,), body, is_open=True)  # type: ignore[misc]

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a {type(self).__name__} is a value: {name!r} cannot be set")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"a {type(self).__name__} is a value: {name!r} cannot be deleted")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self)
        names = [name for each in kind.__mro__ for name in vars(each).get("__slots__", ())]
        return value_of, (kind, {name: getattr(self, name) for name in names})


def value_of(kind: type[V], facts: dict[str, Any]) -> V:
    """The object of `kind` with these attributes, unchecked."""
    made: V = _new(kind)
    for name, fact in facts.items():
        object.__setattr__(made, name, fact)
    return made
