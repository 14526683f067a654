"""A boolean of the module itself, such as whether dropout drops."""

from __future__ import annotations

from dataclasses import dataclass

from ..tensor.arguments import check_bool


@dataclass(frozen=True, slots=True)
class Flag:
    """An immutable boolean that a `Param` gives an identity and a memory.

    >>> print(Flag(True), Flag(True).with_(False))
    enabled disabled

    Burn: burn_core::module::Flag
    Clauses: FLG-1.
    """

    value: bool

    def __post_init__(self) -> None:
        check_bool(self.value, "a flag", "FLG-1")

    def is_enabled(self) -> bool:
        """Whether the flag is on."""
        return self.value

    def with_(self, value: bool) -> Flag:
        """A flag with `value`, whatever this one holds (Burn's `with`, a keyword of Python)."""
        return Flag(value)

    def __str__(self) -> str:
        return "enabled" if self.value else "disabled"

    def __repr__(self) -> str:
        return f"Flag({str(self.value).lower()})"
