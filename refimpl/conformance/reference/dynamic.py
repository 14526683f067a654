"""`dynamic/1`: a tree described in JSON becomes instances of Module classes made at run time."""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from ...module.fields import Array, Skip, is_constant
from ...module.module import Module
from ...module.trait import ModuleTrait
from ...module.tree import Tree
from ...module.variants import ModuleEnum
from ...param.flag import Flag
from ...param.param import Param
from ...param.param_id import ParamId
from ...param.running import RunningState
from ...tensor.device import Device
from .args import Args, flag, items, number, only, signed, text, whole
from .faults import LackingError, StepError
from .parameters import Habits, Site, lazy
from .values import KINDS, declared, express, make, read_data, with_require_grad

#: A value with the annotation of a field that may hold it.
Typed = tuple[Any, Any]
_T = TypeVar("_T")
_NONE: Final = type(None)


def _param_of(kind: Any) -> Any:
    return Param[kind]


#: The annotation of a parameter, by the kind of its value.
_PARAM: Final[dict[str, Any]] = {kind: _param_of(cls) for kind, cls in KINDS.items()}


def dynamic(s: Site, args: Args) -> ModuleTrait:
    """The tree; what is no module by itself stands in a `Tree`."""
    value, hint = _Builder(s).node(args.get("tree"))
    return value if isinstance(value, ModuleTrait) else _tree(value, hint)


def _tree(value: Any, hint: Any) -> Tree[Any]:
    """`value` as a tree; the annotation is left out where the value itself says the same."""
    args = get_args(hint)
    is_plain = get_origin(hint) is tuple and args[1] is Ellipsis and not _is_container(args[0])
    return Tree(value) if hint is _NONE or is_plain else Tree(value, hint)


class _Builder:
    """Builds nodes depth first."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._labels: dict[str, Param[Any]] = {}

    def node(self, spec: Any) -> Typed:
        """Any node but a field's `const` or `skip`."""
        if isinstance(spec, dict) and isinstance(spec.get("struct"), str):
            return self._struct(spec)
        if isinstance(spec, dict) and isinstance(spec.get("enum"), str):
            return self._variant(spec)
        key, inner = only(spec, "node")
        match key:
            case "vec" | "array":
                return self._sequence(key, inner)
            case "tuple":
                parts = [self.node(one) for one in inner]
                if not 2 <= len(parts) <= 10:
                    raise StepError(f"a tuple holds 2 to 10 nodes, not {len(parts)}")
                return tuple(value for value, _ in parts), tuple[tuple(_declared(hint) for _, hint in parts)]  # type: ignore[misc]
            case "some":
                value, hint = self.node(inner)
                if _is_optional(hint):  # an option of an option: the inner one says itself what it is
                    value, hint = _tree(value, hint), Tree
                return value, hint | None
            case "none":
                return None, _NONE
            case "const":
                return constant(inner)
            case "flag":
                return self._flag(inner), Param[Flag]
            case "running":
                return self._running(inner), RunningState
            case "tensor":
                return self._tensor(inner)
            case "same":
                return self._same(inner)
            case "float" | "int" | "bool":
                param = self._parameter(key, inner)
                if "label" in inner:
                    self._labels[text(inner, "label")] = param
                return param, _PARAM[key]
        raise StepError(f"{key!r} is no node")

    # --- Structs, variants, lists ----------------------------------------------------------------------

    def _field(self, spec: Any) -> Typed:
        if isinstance(spec, dict) and "const" in spec:
            return constant(spec["const"])
        if isinstance(spec, dict) and "skip" in spec:
            value, hint = self.node(spec["skip"])
            skipped: Any = Skip  # an alias, filled in at run time
            return value, skipped[_declared(hint)]
        value, hint = self.node(spec)
        if is_constant(_declared(hint)) and hint is not _NONE:  # as a field of its own it would be a constant
            return Tree(value, hint), Tree
        return value, _declared(hint)

    def _struct(self, spec: Args) -> Typed:
        fields = [(name, *self._field(one)) for name, one in items(spec, "fields")]
        if any(not name.isidentifier() or hasattr(Module, name) for name, _, _ in fields) or (
            len({name for name, _, _ in fields}) < len(fields)
        ):
            return odd_struct(spec["struct"], fields)
        cls = _class(spec["struct"], Module, tuple((name, hint) for name, _, hint in fields))
        return cls(**{name: value for name, value, _ in fields}), cls

    def _variant(self, spec: Args) -> Typed:
        value, hint = self._field(spec.get("payload"))
        base = _class(spec["enum"], ModuleEnum, ())
        variant: Any = _class(text(spec, "variant"), base, (("value", hint),))
        return variant(value=value), base

    def _sequence(self, key: str, inner: Any) -> Typed:
        parts = _alike([self.node(one) for one in inner])
        hint = _element([hint for _, hint in parts])
        values = tuple(value for value, _ in parts)
        if key == "vec":
            return values, tuple[hint, ...]  # type: ignore[valid-type]
        if len(parts) > 4:
            raise StepError(f"an array here holds at most 4 nodes, not {len(parts)}")
        return values, Annotated[tuple[hint, ...], Array]  # type: ignore[valid-type]

    # --- Parameters, running states --------------------------------------------------------------------

    def _id(self, spec: Args) -> tuple[ParamId | None, int]:
        """The id that the node names, if it names one, and the seed that goes with it."""
        if spec.get("id") is None:
            return None, 0
        named = self._site.id(whole(spec["id"]))
        return named, int(named)

    def _device(self, spec: Args) -> Device:
        return self._site.device if spec.get("device") is None else self._site.state.device(spec["device"])

    def _tensor(self, spec: Args) -> Typed:
        kind = text(spec, "kind")
        made = make(kind, read_data(spec, kind, 0), self._device(spec))
        if flag(spec, "require_grad", False):
            made = with_require_grad(made, True)
        return made, KINDS[kind]

    def _flag(self, spec: Args) -> Param[Flag]:
        made, named = Param.from_bool(flag(spec, "value")), self._id(spec)[0]
        return made if named is None else made.with_id(named)

    def _running(self, spec: Args) -> RunningState:
        named, seed = self._id(spec)
        value: Any = make("float", read_data(spec, "float", seed), self._device(spec))
        return RunningState.new(value) if named is None else RunningState.with_id(named, value)

    def _same(self, label: Any) -> Typed:
        if label not in self._labels:
            raise StepError(f"no parameter before has the label {label!r}")
        clone = self._labels[label].clone()
        return clone, _param_of(clone.kind)

    def _parameter(self, kind: str, spec: Args) -> Param[Any]:
        named, seed = self._id(spec)
        device, how = self._device(spec), spec.get("how", "from_tensor" if kind == "float" else "initialized")
        made: Any
        match how:
            case "lazy":
                made = self._lazy(kind, spec, ParamId.new() if named is None else named, seed)
            case "initialized":
                value: Any = make(kind, read_data(spec, kind, seed), device)
                if flag(spec, "require_grad", False):
                    value = with_require_grad(value, True)
                made = Param.initialized(ParamId.new() if named is None else named, value)
            case "from_tensor" if kind == "float":
                tensor: Any = make(kind, read_data(spec, kind, seed), device)
                made = Param.from_tensor(tensor)
            case "from_data" if kind == "float":
                made = Param.from_data(read_data(spec, kind, seed), device)
            case _:
                raise StepError(f"{how!r} is no way to make a parameter of kind {kind}")
        made = made if named is None or how == "lazy" else made.with_id(named)
        for mapper in ("init", "load", "save"):
            if spec.get(mapper) is not None:
                made = _mapped(made, mapper, spec[mapper])
        return made  # type: ignore[no-any-return]

    def _lazy(self, kind: str, spec: Args, named: ParamId, seed: int) -> Param[Any]:
        source = spec
        if spec.get("init_shape") is not None:
            source = {"shape": spec["init_shape"], "dtype": spec.get("dtype"), "seed": spec.get("seed")}
        data, shape = read_data(source, kind, seed), declared(spec, kind)[1]
        habits = Habits(spec.get("panics"), flag(spec, "ignore_require_grad", False))
        require_grad = flag(spec, "require_grad", True)
        return lazy(self._site.state, named, data, shape, self._device(spec), require_grad, kind, habits)


@lru_cache(maxsize=1024)
def _class(name: str, base: type[Module], fields: tuple[tuple[str, Any], ...]) -> type[Module]:
    """Equal structs are one class, and can stand in one list; to make one takes half a millisecond."""
    annotations = {"__annotations__": dict(fields), "__module__": __name__}
    return types.new_class(name, (base,), exec_body=lambda space: space.update(annotations))


def _mapped(param: Any, which: str, expr: Any) -> Any:
    return getattr(param, f"{which}_mapper")(lambda value: express(value, expr))


def constant(spec: Any) -> Typed:
    """A constant with its annotation."""
    key, inner = only(spec, "constant")
    match key:
        case "float":
            return number(inner), float
        case "int":
            return signed(inner), int
        case "bool":
            return flag(spec, key), bool
        case "str":
            return text(spec, key), str
        case "floats":
            return tuple(number(one) for one in inner), tuple[float, ...]
        case "ints":
            return tuple(signed(one) for one in inner), tuple[int, ...]
        case "some_int":
            return signed(inner), int | None
        case "none_int":
            return None, int | None
    raise StepError(f"{key!r} is no constant")


def odd_struct(name: str, fields: list[tuple[str, Any, Any]]) -> Typed:
    """A struct whose field names Python cannot write: they are entered as named, and never displayed."""
    attributes = [f"field_{index}" for index in range(len(fields))]
    names = dict(zip(attributes, (field for field, _, _ in fields), strict=True))
    hints = dict(zip(attributes, (hint for _, _, hint in fields), strict=True))
    space = {
        "__annotations__": hints,
        "__module__": __name__,
        "_entered_as": classmethod(lambda _, field: names[field]),
        "format": _unwritten,
        "__repr__": _unwritten,
    }
    cls = types.new_class(name, (Module,), exec_body=lambda body: body.update(space))
    return cls(**dict(zip(attributes, (value for _, value, _ in fields), strict=True))), cls


def _unwritten(*_: Any) -> str:
    raise LackingError("tuple_struct", "a Python module has no fields without proper names to display")


def _is_optional(hint: Any) -> bool:
    return hint is _NONE or (get_origin(hint) in (Union, types.UnionType) and _NONE in get_args(hint))


def _declared(hint: Any) -> Any:
    """The annotation of a field: an option that is None names no type, so it gets one."""
    return _PARAM["float"] | None if hint is _NONE else hint


def _alike(parts: list[Typed]) -> list[Typed]:
    """The elements of a list; where they are of several types, containers say themselves what they are."""
    cores = {_core(hint) for _, hint in parts if hint is not _NONE}
    optional = [_is_optional(hint) for _, hint in parts]
    if len(cores) <= 1 and (all(optional) or not any(optional)):
        return parts
    return [(_tree(value, hint), Tree) if _is_container(hint) else (value, hint) for value, hint in parts]


def _is_container(hint: Any) -> bool:
    return _is_optional(hint) or hasattr(hint, "__metadata__") or get_origin(hint) is tuple


def _element(hints: list[Any]) -> Any:
    """One annotation for the elements of a list; a type variable where they have several."""
    cores = list(dict.fromkeys(_core(hint) for hint in hints if hint is not _NONE))
    core: Any = _PARAM["float"] if not cores else cores[0] if len(cores) == 1 else _T
    return core | None if any(map(_is_optional, hints)) else core


def _core(hint: Any) -> Any:
    if not _is_optional(hint) or hint is _NONE:
        return hint
    return next(arg for arg in get_args(hint) if arg is not _NONE)
