"""Arguments of the wrong type to modules and parameters: an error of ours that names what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from refimpl.errors import ArgumentTypeError, InvalidArgumentError, RefimplError
from refimpl.module.display import DisplaySettings
from refimpl.module.lora import Lora
from refimpl.module.module import Module
from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.param.param_id import ParamId
from refimpl.param.reparameterization import Reparameterizer
from refimpl.param.traversal import ModuleMapper, ModuleVisitor
from refimpl.tensor.device import Device
from refimpl.tensor.tensor import Tensor

CPU = Device("cpu")
WEIGHT: Any = Param.from_tensor(Tensor.ones([2, 3], CPU))
ANY: Any = 3


class Linear(Module):
    weight: Param[Tensor]


class Gives(Reparameterizer):
    """A reparameterizer that gives what it was told to."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def reparameterize(self, path: str, param: Param[Tensor]) -> Any:
        return self.given


class Fails(ModuleVisitor):
    """A visitor with a fault of its own."""

    def visit_float(self, param: Param[Tensor]) -> None:
        raise TypeError("a fault of the visitor")


LINEAR: Any = Linear(weight=WEIGHT)
ASKS: dict[str, tuple[Callable[[], Any], str]] = {
    "reparameterization": (lambda: WEIGHT.reparameterization(3), "asked for by its class, got 3"),
    "visit by a class": (lambda: LINEAR.visit(ModuleVisitor), "walked by a ModuleVisitor, got <class"),
    "visit of a parameter by a class": (lambda: WEIGHT.visit(ModuleVisitor), "walked by a ModuleVisitor"),
    "visit of a parameter by nothing": (lambda: WEIGHT.visit(None), "walked by a ModuleVisitor, got None"),
    "map by a class": (lambda: LINEAR.map(ModuleMapper), "walked by a ModuleMapper, got <class"),
    "map of a parameter": (lambda: WEIGHT.map(None), "map takes a function of the value, got None"),
    "map of a parameter by a class": (lambda: WEIGHT.map(ModuleMapper), "map takes a function"),
    "load_mapper": (lambda: WEIGHT.load_mapper(None), "load_mapper takes a function"),
    "save_mapper": (lambda: WEIGHT.save_mapper(3), "save_mapper takes a function"),
    "init_mapper": (lambda: WEIGHT.init_mapper(3), "init_mapper takes a function"),
    "into_record_group": (lambda: LINEAR.into_record_group(None), "group is a ParamGroup, got None"),
    "flag": (lambda: Flag(ANY), "a flag is True or False, got 3"),
    "flag, text": (lambda: Param.from_bool("x"), "a flag is True or False, got 'x'"),  # type: ignore[arg-type]
    "flag, with_": (lambda: Flag(True).with_(ANY), "a flag is True or False"),
    "flag, with_value": (lambda: Param.from_bool(True).with_value(ANY), "a flag is True or False"),
    "set_require_grad": (
        lambda: WEIGHT.set_require_grad(1),
        "gradient is required is True or False, got 1",
    ),
    "set_require_grad of a module": (lambda: LINEAR.set_require_grad(1), "is True or False, got 1"),
    "uninitialized": (
        lambda: Param.uninitialized(ParamId.new(), lambda d, _: Tensor.ones([1], d), CPU, ANY, (1,)),
        "is True or False, got 3",
    ),
    "settings": (lambda: DisplaySettings(ANY), "`show_param_id` is True or False, got 3"),
    "settings, the last": (
        lambda: DisplaySettings().with_new_line_after_attribute(ANY),
        "`new_line_after_attribute` is True or False, got 3",
    ),
    "format": (lambda: LINEAR.format(3), "written under DisplaySettings, got 3"),
    "alpha": (lambda: Lora(2, True), "alpha of LoRA is a number, got True"),
    "init_std": (lambda: Lora(2, 1.0, init_std="a"), "init_std of LoRA is a number"),  # type: ignore[arg-type]
    **{
        f"a reparameterizer gives answer {number}": (
            lambda given=given: LINEAR.apply_reparameterization(Gives(given)),  # type: ignore[misc]
            "a reparameterizer gives a Param and what .* for parameter 'weight'",
        )
        for number, given in enumerate(
            (None, 3, (WEIGHT,), (WEIGHT, None, None), (None, None), [WEIGHT, None])
        )
    },
}


@pytest.mark.parametrize(("ask", "message"), ASKS.values(), ids=ASKS)
def test_it_is_refused_and_named(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        ask()


def test_a_fault_of_the_visitor_is_told_as_it_is() -> None:
    for node in (LINEAR, WEIGHT):
        with pytest.raises(TypeError, match="a fault of the visitor"):
            node.visit(Fails())


@pytest.mark.parametrize("level", [-1, 1.0, True, "1"])
def test_a_level_is_a_natural_number(level: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a level is an integer from 0"):
        DisplaySettings(level=level)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lora(2, 10**400),
        lambda: Lora(2, 1.0, init_std=-(10**400)),
        lambda: Lora(2**64, 1.0),
        lambda: Lora(10**5000, 1.0),
    ],
    ids=["alpha", "init_std", "rank", "rank of many digits"],
)
def test_what_burns_types_cannot_hold_is_refused(make: Callable[[], Lora]) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), -1.0])
def test_an_alpha_that_burn_takes_is_taken(alpha: float) -> None:
    tensor = LINEAR.apply_lora(Lora(2, alpha)).weight.val().to_numpy()
    assert tensor.shape == (2, 3)
    with pytest.raises(RefimplError):
        Lora(0, alpha)
