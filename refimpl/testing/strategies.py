"""Hypothesis strategies for modules, records, groups and placements."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from ..conformance.reference.dynamic import dynamic
from ..conformance.reference.parameters import Site
from ..conformance.reference.state import State
from ..conformance.tree import draw_tree
from ..errors import InvalidArgumentError
from ..module.trait import ModuleTrait
from ..parallel.placement import LayerPlacement
from ..param.group import ParamGroup
from ..param.param_id import ParamId
from ..record.record import ModuleRecord
from ..tensor.device import Device

_SEEDS = st.integers(0, 2**32 - 1)
_WORDS = ("w", "bias", "lin", "layers", "x", "head", "norm", "a", "scale", "0", "1")


def modules(*, max_nodes: int = 6, device: Device | None = None) -> st.SearchStrategy[ModuleTrait]:
    """Small modules of every kind of node: structs, lists, tuples, options, enums, flags, constants.

    Each is drawn by a size and a seed, so a failing one shrinks to fewer nodes.

    >>> from hypothesis import given
    >>> @given(modules())
    ... def test_mapping_nothing_changes_no_id(module):
    ...     assert module.clone().materialize().num_params() == module.num_params()
    >>> test_mapping_nothing_changes_no_id()

    Raises:
        InvalidArgumentError: `max_nodes` is less than 1.
    """
    _at_least("max_nodes", max_nodes, 1)
    name = "d0" if device is None else f"d{device}".replace("sim:", "", 1)
    return st.builds(_module, st.integers(1, max_nodes), _SEEDS, st.just(name))


def records(*, max_nodes: int = 6) -> st.SearchStrategy[ModuleRecord]:
    """The records of such modules.

    Raises:
        InvalidArgumentError: `max_nodes` is less than 1.
    """
    return modules(max_nodes=max_nodes).map(_record)


def groups() -> st.SearchStrategy[ParamGroup]:
    """Groups by id, by path and by words in the path, joined and excluded."""
    words = st.sampled_from(_WORDS)
    paths = st.lists(words, min_size=1, max_size=3).map(".".join)
    plain = st.one_of(
        st.just(ParamGroup.all()),
        st.lists(st.integers(1, 9).map(ParamId.from_int), max_size=3).map(ParamGroup.from_ids),
        paths.map(ParamGroup.from_path),
        st.lists(paths, max_size=3).map(ParamGroup.from_paths),
        words.map(ParamGroup.from_predicate),
    )
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(lambda one, other: one.fuse(other), inner, inner),
            st.builds(lambda one, other: one.exclude(other), inner, inner),
        ),
        max_leaves=4,
    )


def placements(*, max_devices: int = 5, max_layers: int = 12) -> st.SearchStrategy[LayerPlacement]:
    """Placements in one piece a device, and placements that come back to a device.

    Raises:
        InvalidArgumentError: `max_devices` is less than 1, or `max_layers` less than 0.
    """
    _at_least("max_devices", max_devices, 1)
    _at_least("max_layers", max_layers, 0)
    devices = st.integers(0, max_devices - 1).map(lambda index: Device("sim", index))
    scattered = st.builds(
        LayerPlacement,
        input=devices,
        hidden=st.lists(devices, max_size=max_layers).map(tuple),
        output=devices,
    )
    even = st.builds(
        LayerPlacement.even,
        st.lists(devices, min_size=1, max_size=max_devices),
        st.integers(0, max_layers),
    )
    return st.one_of(even, scattered)


def _at_least(name: str, given: int, least: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise InvalidArgumentError(f"{name} is an integer of at least {least}, got {given!r}")


def _module(nodes: int, seed: int, device: str) -> ModuleTrait:
    tree: dict[str, Any] = draw_tree(Random(seed), nodes).root
    state = State()
    return dynamic(Site(state, state.device(device), 0), {"tree": tree})


def _record(module: ModuleTrait) -> ModuleRecord:
    return module.into_record()
