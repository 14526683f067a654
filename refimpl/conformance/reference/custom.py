"""`zoo/custom`: a module with its own display, whose content and settings the case chooses."""

from __future__ import annotations

from typing import Any

from ...module.display import Content, DisplaySettings
from ...module.fields import Skip
from ...module.module import Module
from ...module.trait import ModuleTrait
from .args import Args, flag
from .faults import StepError
from .zoo import Linear

_SETTINGS = (
    "show_param_id",
    "show_all_attributes",
    "show_num_parameters",
    "new_line_after_attribute",
    "indentation_size",
)


class Wishes:
    """The display that a case asks for."""

    def __init__(self, args: Args) -> None:
        self.content = args.get("content")
        self.settings = args.get("settings")

    def __repr__(self) -> str:
        return "Wishes"


class Custom(Module):
    """A module whose display is what the case asks for."""

    lin: Linear
    x: float
    wishes: Skip[Wishes]

    def custom_settings(self) -> DisplaySettings | None:
        """The settings that the case gave."""
        given = self.wishes.settings
        return None if given is None else settings(given)

    def custom_content(self, content: Content) -> Content | None:
        """What the case's calls make."""
        for call in self.wishes.content or ():
            content = self._call(content, call)
        return content.optional()

    def _call(self, content: Content, call: list[Any]) -> Content:
        match call:
            case ["type", name]:
                return content.set_top_level_type(name)
            case ["debug", name, value]:
                return content.add_debug_attribute(name, value)
            case ["formatted", value]:
                return content.add_formatted(value)
            case ["add", name, what]:
                return content.add(name, self._shown(what))
            case ["single", what]:
                return content.add_single(self._shown(what))
        raise StepError(f"{call!r} is no call on a display content")

    def _shown(self, what: Any) -> Any:
        if what == "lin":
            return self.lin
        return float(what["float"]) if isinstance(what, dict) else what

    def __repr__(self) -> str:
        return f"Custom {{ lin: {self.lin!r}, x: {self.x} }}"


class Wrapper(Module):
    """A default display around the custom one."""

    inner: Custom


def settings(given: Args) -> DisplaySettings:
    """Display settings; what is absent stays unset."""
    return DisplaySettings(**{name: given[name] for name in _SETTINGS if given.get(name) is not None})


def custom(args: Args, lin: Linear) -> ModuleTrait:
    """The fixture, perhaps in its wrapper."""
    made = Custom(lin=lin, x=1.0, wishes=Wishes(args))
    return Wrapper(inner=made) if flag(args, "wrap", False) else made
