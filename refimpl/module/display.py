"""Modules as text: the settings, the content, and how a tree is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from ..errors import DisplayError, InvalidArgumentError
from ..param.flag import Flag
from ..param.param import Param
from ..param.running import RunningState
from ..rust_text import debug_bool, debug_float, debug_str, display_float
from ..tensor.arguments import check_bool
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .fields import Field, Role, constant_parts
from .walk import Constant, Dynamic, Form, Optional, Sequence, Tuple, form_of

if TYPE_CHECKING:
    from .module import Module

_SWITCHES = ("show_param_id", "show_all_attributes", "show_num_parameters", "new_line_after_attribute")
_KINDS = {Tensor: "float", IntTensor: "int", BoolTensor: "bool"}


@dataclass(frozen=True)
class DisplaySettings:
    """How a tree is written; what is not set falls back to the default of the property below.

    Burn: burn_core::module::DisplaySettings
    Clauses: DSP-1, DSP-2.
    """

    show_param_id: bool | None = None
    show_all_attributes: bool | None = None
    show_num_parameters: bool | None = None
    new_line_after_attribute: bool | None = None
    indentation_size: int | None = None
    level: int = 1

    def __post_init__(self) -> None:
        for name in _SWITCHES:
            if getattr(self, name) is not None:
                check_bool(getattr(self, name), f"`{name}`", "DSP-1")
        if type(self.level) is not int or self.level < 0:
            raise InvalidArgumentError(f"a level is an integer from 0, got {self.level!r}", clause="DSP-1")
        size = self.indentation_size
        if size is not None and (type(size) is not int or size < 0):
            raise InvalidArgumentError(f"an indentation is an integer from 0, got {size!r}", clause="DSP-1")

    def with_show_param_id(self, flag: bool) -> Self:
        """Whether parameters show their id; False unless set."""
        return replace(self, show_param_id=flag)

    def with_show_all_attributes(self, flag: bool) -> Self:
        """Whether the default content is shown in place of a custom one; False unless set."""
        return replace(self, show_all_attributes=flag)

    def with_show_num_parameters(self, flag: bool) -> Self:
        """Whether a module ends with its number of parameters; True unless set."""
        return replace(self, show_num_parameters=flag)

    def with_new_line_after_attribute(self, flag: bool) -> Self:
        """Whether each attribute stands on a line of its own; True unless set."""
        return replace(self, new_line_after_attribute=flag)

    def with_indentation_size(self, size: int) -> Self:
        """Spaces a level; 2 unless set.

        Raises:
            InvalidArgumentError: `size` is negative, or no integer.
        """
        return replace(self, indentation_size=size)

    def inherit(self, outer: DisplaySettings) -> DisplaySettings:
        """What a module's own settings become under those passed down: whatever the outer ones set wins."""
        kept = {name: getattr(outer, name) for name in (*_SWITCHES, "indentation_size")}
        return replace(self, level=outer.level, **{n: v for n, v in kept.items() if v is not None})

    def level_up(self) -> Self:
        """The settings one level deeper."""
        return replace(self, level=self.level + 1)

    @property
    def indent(self) -> int:
        """Spaces a level, as it is in force."""
        return 2 if self.indentation_size is None else self.indentation_size

    @property
    def is_multiline(self) -> bool:
        """Whether attributes stand on lines of their own, as it is in force."""
        return self.new_line_after_attribute is not False

    def __repr__(self) -> str:
        def option(value: bool | int | None) -> str:
            text = debug_bool(value) if isinstance(value, bool) else str(value)
            return "None" if value is None else f"Some({text})"

        return (
            f"DisplaySettings {{ show_param_id: {option(self.show_param_id)}, "
            f"show_all_attributes: {option(self.show_all_attributes)}, "
            f"show_num_parameters: {option(self.show_num_parameters)}, "
            f"new_line_after_attribute: {option(self.new_line_after_attribute)}, "
            f"indentation_size: {option(self.indentation_size)}, level: {self.level} }}"
        )


@dataclass(frozen=True)
class Content:
    """What is shown of a module: attributes, or one single item, and perhaps another type name.

    Burn: burn_core::module::Content
    Clauses: DSP-3, DSP-4, DSP-5.
    """

    display_settings: DisplaySettings = field(default_factory=DisplaySettings)
    attributes: tuple[tuple[str, str], ...] = ()
    single_item: str | None = None
    top_level_type: str | None = None

    def add(self, name: str, value: Any) -> Content:
        """With the attribute `name`: a module, tensor or constant, rendered now.

        Raises:
            DisplayError: a single item is set.
        """
        return self._with_attribute(name, render(form_of(value), value, self.display_settings))

    def add_debug_attribute(self, name: str, value: Any) -> Content:
        """With the attribute `name`: a value as Rust's Debug writes it.

        Raises:
            DisplayError: a single item is set.
        """
        return self._with_attribute(name, debug(value))

    def add_single(self, value: Any) -> Content:
        """With a module, tensor or constant as the single item, rendered now.

        Raises:
            DisplayError: there are attributes.
        """
        return self.add_formatted(render(form_of(value), value, self.display_settings))

    def add_formatted(self, value: object) -> Content:
        """With `str(value)` as the single item.

        Raises:
            DisplayError: there are attributes.
        """
        if self.attributes:
            raise DisplayError(
                "Cannot add single item when attributes are set.",
                clause="DSP-5",
                hint="a content has attributes or one single item",
            )
        return replace(self, single_item=str(value))

    def set_top_level_type(self, name: str) -> Content:
        """With `name` in place of the name of the class."""
        return replace(self, top_level_type=name)

    def optional(self) -> Content | None:
        """The content, or None when nothing at all was put into it."""
        empty = not self.attributes and self.single_item is None and self.top_level_type is None
        return None if empty else self

    def _with_attribute(self, name: str, text: str) -> Content:
        if self.single_item is not None:
            raise DisplayError(
                "Cannot add multiple attributes when single item is set.",
                clause="DSP-5",
                hint="a content has attributes or one single item",
            )
        return replace(self, attributes=(*self.attributes, (name, text)))


def format_module(module: Module, passed: DisplaySettings) -> str:
    """`module` as text under the settings passed down.

    Burn: ModuleDisplay::format
    Clauses: DSP-2, DSP-6, DSP-8, DSP-11, DSP-12, DSP-13.
    """
    own = module.custom_settings()
    settings = passed if own is None else own.inherit(passed)
    inner = settings.level_up()
    content = None if inner.show_all_attributes else module.custom_content(Content(inner))
    if content is None:
        content = _fields_content(module, inner)
    table = type(module)._table
    return _written(content, type(module).__name__, settings, module.num_params() if table else 0)


def render(form: Form, value: Any, settings: DisplaySettings) -> str:
    """A value of a field as text, under the settings of the content that it stands in.

    Clauses: DSP-14, DSP-15, DSP-16, DSP-17, DSP-18, DSP-19, FLG-11.
    """
    inner = settings.level_up()
    match form:
        case Dynamic():
            return render(form_of(value), value, settings)
        case Optional():
            # An option renders its value as a single item of its own, one level deeper (DSP-17).
            return "None" if value is None else render(form.inner, value, inner)
        case Sequence():
            name = f"Vec<0..{len(value)}>" if form.container == "Vec" else f"[0..{len(value)}]"
            items = tuple((str(i), render(form.inner, item, inner)) for i, item in enumerate(value))
            return _written(Content(inner, items), name, settings, 0)
        case Tuple():
            name = f"({', '.join(f'L{i}' for i in range(len(value)))})"
            pairs = enumerate(zip(form.inners, value, strict=True))
            items = tuple((str(i), render(inner_form, item, inner)) for i, (inner_form, item) in pairs)
            return _written(Content(inner, items), name, settings, 0)
        case Constant():
            return display(value)
        case _:
            return _render_node(value, settings)


def _render_node(value: Any, settings: DisplaySettings) -> str:
    if isinstance(value, Param):
        if value.kind is Flag:
            return str(value.base())
        identity = f", id: {value.id}" if settings.show_param_id else ""
        shape = list(value.shape)
        return f"ParamTensor {{rank: {len(shape)}, shape: {shape}, kind: {_KINDS[value.kind]}{identity}}}"
    if isinstance(value, (Tensor, IntTensor, BoolTensor)):
        return f"Tensor {{rank: {len(value.shape)}, shape: {list(value.shape)}}}"
    if isinstance(value, RunningState):
        return "RunningState"
    text: str = value.format(settings) if hasattr(value, "format") else repr(value)
    return text


def _fields_content(module: Module, settings: DisplaySettings) -> Content:
    content = Content(settings)
    is_variant = type(module)._container_type().startswith("Enum:")
    for f in type(module)._module_fields():
        value = module.__dict__[f.name]
        text = debug_field(f, value) if f.form is None else render(f.form, value, settings)
        content = content._with_attribute("_0" if is_variant else f.name, text)
    return content


def _written(content: Content, name: str, settings: DisplaySettings, num_params: int) -> str:
    """The block of a content (DSP-7, DSP-9, DSP-10, DSP-28)."""
    if content.single_item is not None:
        return content.single_item
    name = name if content.top_level_type is None else content.top_level_type
    if not content.attributes:
        return name
    lines = [f"{key}: {text}" for key, text in content.attributes]
    if settings.show_num_parameters is not False and num_params > 0:
        lines.append(f"params: {num_params}")
    if not settings.is_multiline:
        return f"{name} {{{', '.join(lines)}}}"
    indent = " " * (settings.level * settings.indent)
    close = " " * ((settings.level - 1) * settings.indent)
    return "\n".join([f"{name} {{", *(indent + line for line in lines), close + "}"])


def display(value: Any) -> str:
    """A constant as Rust's Display writes it (DSP-14, DSP-19)."""
    if isinstance(value, bool):
        return debug_bool(value)
    return display_float(value) if isinstance(value, float) else str(value)


def debug(value: Any) -> str:
    """A value as Rust's Debug writes it; a tuple as a tuple (DSP-14)."""
    match value:
        case bool():
            return debug_bool(value)
        case float():
            return debug_float(value)
        case str():
            return debug_str(value)
        case tuple():
            return _debug_tuple([debug(item) for item in value])
        case _:
            return repr(value)


def _debug_tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def debug_struct(module: Module) -> str:
    """`module` as Rust's derived Debug writes it, skipped fields and constants too (DSP-21)."""
    cls = type(module)
    texts = [(f.name, debug_field(f, module.__dict__[f.name])) for f in cls._module_fields()]
    if cls._container_type().startswith("Enum:"):
        return f"{cls.__name__}({texts[0][1]})"
    inside = ", ".join(f"{name}: {text}" for name, text in texts)
    return f"{cls.__name__} {{ {inside} }}" if texts else cls.__name__


def debug_field(f: Field, value: Any) -> str:
    """The value of a field as Rust's Debug writes it: the annotation says what a tuple or None is."""
    return _debug_hint(f.hint, value) if f.role is not Role.MODULE else debug_form(f.form, value)


def debug_form(form: Form | None, value: Any) -> str:
    """A traversed value as Rust's Debug writes it: its form says what a tuple or None is (DSP-21)."""
    match form:
        case Dynamic():
            return debug_form(form_of(value), value)
        case Optional():
            return "None" if value is None else f"Some({debug_form(form.inner, value)})"
        case Sequence():
            return f"[{', '.join(debug_form(form.inner, item) for item in value)}]"
        case Tuple():
            return f"({', '.join(map(debug_form, form.inners, value))})"
        case _:
            return debug(value)


def _debug_hint(hint: Any, value: Any) -> str:
    match constant_parts(hint):
        case ("option", inner):
            return "None" if value is None else f"Some({_debug_hint(inner, value)})"
        case ("list", inner) if isinstance(value, tuple):
            return f"[{', '.join(_debug_hint(inner, item) for item in value)}]"
        case ("tuple", inners) if isinstance(value, tuple) and len(inners) == len(value):
            return _debug_tuple(list(map(_debug_hint, inners, value)))
        case _:
            return debug(float(value) if hint is float and isinstance(value, int) else value)
