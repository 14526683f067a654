"""The small model of the recorded answers: input, hidden and output layers, each a matrix and a flag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import refimpl as rf
from refimpl.errors import RefimplError
from refimpl.param.traversal import PathVisitor
from tests.golden.recorded import load

RECORDED = load("distributed.json.gz")
#: The devices of the answers, and ours in their place.
FLEX, C0, C1, C2 = (rf.Device("sim", index) for index in range(4))
NAMES = {"flex": FLEX, "c0": C0, "c1": C1, "c2": C2, "wgpu": C0, "far": C2}
DEBUG = {
    "Flex(Cpu)": FLEX,
    "Capture(CaptureDevice { id: 0 })": C0,
    "Capture(CaptureDevice { id: 1 })": C1,
    "Capture(CaptureDevice { id: 2 })": C2,
    "Cube(Wgpu(WgpuDevice { kind: Cpu, backend: Auto }))": C0,
    "Cube(Wgpu(WgpuDevice { kind: DiscreteGpu(3), backend: Auto }))": C2,
}
EVENTS: list[dict[str, Any]] = []


def ours(recorded: Any) -> Any:
    """A recorded answer with our devices' texts in place of Burn's Debug of its own."""
    if isinstance(recorded, dict):
        return {key: ours(value) for key, value in recorded.items()}
    if isinstance(recorded, list):
        return [ours(item) for item in recorded]
    if isinstance(recorded, str):
        for text, device in DEBUG.items():
            tagged = f"Device<Autodiff {{ device: {text}, checkpointing: Disabled }}>"
            recorded = recorded.replace(tagged, str(device.autodiff())).replace(
                f"Device<{text}>", str(device)
            )
    return recorded


def device(name: str) -> rf.Device:
    """The device that an answer calls `flex`, `c0+ad` or `wgpu.ad`."""
    plain, tag = name.replace(".ad", "+ad").split("+")[0], "ad" in name
    return NAMES[plain].autodiff() if tag else NAMES[plain]


class Lin(rf.DistributedLayer[rf.Tensor, rf.Tensor]):
    weight: rf.Param[rf.Tensor]
    on: rf.Param[rf.Flag]

    def forward(self, input: rf.Tensor) -> rf.Tensor:
        EVENTS.append({"forward": str(int(self.weight.id)), "input_device": _device(input.device)})
        return input @ self.weight.val()


class Stack(rf.LayerParallelism[rf.Tensor, rf.Tensor, rf.Tensor]):
    input: Lin
    hidden: tuple[Lin, ...]
    output: Lin

    def layer_input(self) -> Lin:
        return self.input

    def layers_hidden(self) -> Iterable[Lin]:
        return iter(self.hidden)

    def layer_output(self) -> Lin:
        return self.output

    def into_layers(self) -> rf.LayerSequence[rf.Tensor, rf.Tensor, rf.Tensor]:
        return rf.LayerSequence(self.input, self.hidden, self.output)


class Rev(rf.LayerParallelism[rf.Tensor, rf.Tensor, rf.Tensor]):
    """Gives its hidden layers away in another order than it runs them."""

    stack: Stack

    def layer_input(self) -> Lin:
        return self.stack.input

    def layers_hidden(self) -> Iterable[Lin]:
        return self.stack.hidden

    def layer_output(self) -> Lin:
        return self.stack.output

    def into_layers(self) -> rf.LayerSequence[rf.Tensor, rf.Tensor, rf.Tensor]:
        return rf.LayerSequence(self.stack.input, self.stack.hidden[::-1], self.stack.output)


def lin(number: int, where: rf.Device, lazy: bool) -> Lin:
    values = np.array([[1, 2], [3, number]], np.float32)
    own = rf.ParamId.from_int(number)

    def init(on: rf.Device, require_grad: bool) -> rf.Tensor:
        EVENTS.append({"init": number, "device": _device(on), "require_grad": require_grad})
        return rf.Tensor.from_data(values, on).set_require_grad(require_grad)

    if lazy:
        weight = rf.Param.uninitialized(own, init, where, True, (2, 2))
    else:
        weight = rf.Param.from_tensor(rf.Tensor.from_data(values, where)).with_id(own)
    return Lin(weight=weight, on=rf.Param.from_bool(True).with_id(rf.ParamId.from_int(number + 1000)))


def stack(placement: rf.LayerPlacement, lazy: bool) -> Stack:
    return Stack(
        input=lin(1, placement.input, lazy),
        hidden=tuple(lin(10 + index, where, lazy) for index, where in enumerate(placement.hidden)),
        output=lin(2, placement.output, lazy),
    )


def placed(*stages: tuple[rf.Device, int]) -> rf.LayerPlacement:
    return rf.LayerPlacement.new([rf.LayerStage(where, count) for where, count in stages])


def model(placement: rf.LayerPlacement, lazy: bool = False) -> rf.DistributedLayeredModel[Any, Any, Any]:
    return rf.DistributedLayeredModel.new(stack(placement, lazy), placement)


def taken_events() -> list[dict[str, Any]]:
    events = list(EVENTS)
    EVENTS.clear()
    return events


def names(where: rf.Device) -> str:
    """What the answers of one kind call our devices; the second device is `c0` and `wgpu` alike."""
    plain = {FLEX: "flex", C0: "c0", C1: "c1", C2: "c2"}[where]
    return plain + ("+ad" if where.is_autodiff else "")


def written(placement: rf.LayerPlacement) -> dict[str, Any]:
    return {
        "input": names(placement.input),
        "hidden": [names(where) for where in placement.hidden],
        "output": names(placement.output),
        "devices": [names(where) for where in placement.devices()],
        "stages": [[names(run.device), run.num_hidden_layers] for run in placement.stages()],
    }


def dump(module: rf.DistributedLayeredModel[Any, Any, Any]) -> list[dict[str, Any]]:
    dumper = Dumper()
    module.visit(dumper)
    return dumper.found


class Dumper(PathVisitor):
    """Writes down each parameter as the recording program did."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []

    def visit_float(self, param: rf.Param[rf.Tensor]) -> None:
        where = param.lazy_device()
        entry: dict[str, Any] = {
            "path": self.path,
            "kind": "float",
            "rank": len(param.lazy_shape()),
            "id": str(int(param.id)),
            "shape": list(param.lazy_shape()),
            "initialized": param.is_initialized(),
            "device_autodiff": where.is_autodiff,
            "device": str(where),
        }
        if param.is_initialized():
            value = param.val()
            entry["value"] = data(value)
            entry["value_autodiff"] = value.is_autodiff
            entry["require_grad"] = value.is_require_grad
            try:
                entry["require_grad_after_train"] = param.clone().train().val().is_require_grad
            except RefimplError as error:
                entry["require_grad_after_train"] = {"panic": str(error)}
        self.found.append(entry)

    def visit_flag(self, flag: rf.Param[rf.Flag]) -> None:
        self.found.append(
            {
                "path": self.path,
                "kind": "flag",
                "id": str(int(flag.id)),
                "enabled": flag.is_enabled(),
                "enabled_after_train": flag.clone().train().is_enabled(),
                "initialized": flag.is_initialized(),
            }
        )


def data(value: rf.Tensor) -> dict[str, Any]:
    held = value.to_data()
    return {"dtype": "f32", "shape": list(held.shape), "hex": bytes(held.bytes).hex()}


def _device(where: rf.Device) -> dict[str, Any]:
    return {"debug": str(where), "autodiff": where.is_autodiff}
