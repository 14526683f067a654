"""Where each layer of a model split across devices runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Self

from ..errors import ArgumentTypeError, PlacementError, ResourceError
from ..tensor.device import Device
from .layer_memory import AfterHidden as AfterHidden
from .layer_memory import DeviceMemory as DeviceMemory
from .layer_memory import LayerMemory as LayerMemory
from .layer_memory import OutputMemory as OutputMemory
from .layer_memory import WithInput as WithInput
from .layer_memory import check_device, several, u64
from .memory import fill


@dataclass(frozen=True, slots=True, repr=False)
class LayerStage:
    """A run of consecutive hidden layers on one device; of no layers, when it only names the device.

    Burn: burn_core::module::parallel::LayerStage
    Clauses: PLC-5.
    """

    device: Device
    num_hidden_layers: int

    def __post_init__(self) -> None:
        check_device(self.device)
        object.__setattr__(self, "num_hidden_layers", u64("num_hidden_layers", self.num_hidden_layers))

    def __repr__(self) -> str:
        return f"LayerStage {{ device: {self.device}, num_hidden_layers: {self.num_hidden_layers} }}"


@dataclass(frozen=True, slots=True, repr=False)
class LayerPlacement:
    """The device of the input layer, of each hidden layer in forward order, and of the output layer.

    Equality is that of the hardware: the autodiff tag of a device does not count (DEV-2).

    Burn: burn_core::module::parallel::LayerPlacement
    Clauses: PLC-1.
    """

    input: Device
    hidden: tuple[Device, ...]
    output: Device

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", several("the hidden layers' devices", self.hidden))
        for device in (self.input, *self.hidden, self.output):
            check_device(device)

    @classmethod
    def new(cls, stages: Iterable[LayerStage]) -> Self:
        """The hidden layers of each stage on its device, the input with the first, the output with the last.

        A stage of no hidden layers gives input or output a device of its own.

        Raises:
            PlacementError: there is no stage.

        >>> stages = [LayerStage(Device("sim", 0), 2), LayerStage(Device("sim", 1), 0)]
        >>> LayerPlacement.new(stages)
        LayerPlacement { input: sim:0, hidden: [sim:0, sim:0], output: sim:1 }

        Burn: burn_core::module::parallel::LayerPlacement::new
        Clauses: PLC-2.
        """
        made = several("stages", stages)
        for stage in made:
            if not isinstance(stage, LayerStage):
                raise ArgumentTypeError(f"a stage is a LayerStage, got {stage!r}", clause="PLC-2")
        if not made:
            raise PlacementError("a placement needs at least one stage", clause="PLC-2")
        try:
            runs = [(stage.device,) * stage.num_hidden_layers for stage in made]
        except (MemoryError, OverflowError):
            count = sum(stage.num_hidden_layers for stage in made)
            raise ResourceError(f"no memory for a placement of {count} hidden layers") from None
        hidden = tuple(chain.from_iterable(runs))
        return cls(input=made[0].device, hidden=hidden, output=made[-1].device)

    @classmethod
    def even(cls, devices: Iterable[Device], num_hidden_layers: int) -> Self:
        """Share the hidden layers out in order across `devices`, as evenly as they divide.

        When they do not divide, the first devices take one layer more. Devices past the
        layer count are left out; `new` places those on purpose.

        Args:
            devices: In forward order; at least one.
            num_hidden_layers: May be 0: input and output layer then share the first device.

        Raises:
            PlacementError: `devices` is empty.

        >>> LayerPlacement.even([Device("sim", i) for i in range(3)], 5).hidden
        (sim:0, sim:0, sim:1, sim:1, sim:2)

        Burn: burn_core::module::parallel::LayerPlacement::even
        Clauses: PLC-3.
        """
        count = u64("num_hidden_layers", num_hidden_layers)
        used = several("devices", devices)
        if not used:
            raise PlacementError("a placement needs at least one device", clause="PLC-3")
        used = used[: max(1, min(count, len(used)))]
        each, one_more = divmod(count, len(used))
        return cls.new(LayerStage(device, each + (i < one_more)) for i, device in enumerate(used))

    @classmethod
    def by_memory(cls, devices: Iterable[DeviceMemory], memory: LayerMemory) -> Self | None:
        """The layers in order across `devices`, each device holding about the same share of its capacity.

        The fullest device is as empty as a split in order allows. A layer too large for what a device
        has left moves on to the next; devices past the last run are left out. None when the layers do
        not fit.

        Raises:
            CapacityOverflowError: a sum that Burn takes on the way is more than 64 bits.

        >>> devices = [DeviceMemory(Device("sim", i), 30) for i in range(2)]
        >>> LayerPlacement.by_memory(devices, LayerMemory(10, (10,) * 4, AfterHidden(0)))
        LayerPlacement { input: sim:0, hidden: [sim:0, sim:0, sim:1, sim:1], output: sim:1 }

        Burn: burn_core::module::parallel::LayerPlacement::by_memory
        Clauses: PLC-6, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14, PLC-15.
        """
        made = several("devices", devices)
        for device in made:
            if not isinstance(device, DeviceMemory):
                raise ArgumentTypeError(
                    f"a device and its capacity are a DeviceMemory, got {device!r}", clause="PLC-6"
                )
        if not isinstance(memory, LayerMemory):
            raise ArgumentTypeError(f"the layers' bytes are a LayerMemory, got {memory!r}", clause="PLC-6")
        layers = memory.in_fill_order()
        found = fill([device.capacity for device in made], layers)
        if found is None:
            return None
        on = [made[index].device for index in found]
        after = isinstance(memory.output, AfterHidden)
        return cls(
            input=on[0],
            hidden=tuple(on[1 : 1 + len(memory.hidden)]),
            output=on[-1] if after else on[0],
        )

    def devices(self) -> tuple[Device, ...]:
        """Every device a layer runs on, each once, in forward order: the input layer's first.

        Of equal devices the first one stays, with its autodiff tag.

        Clauses: PLC-4.
        """
        return tuple(dict.fromkeys((self.input, *self.hidden, self.output)))

    def stages(self) -> tuple[LayerStage, ...]:
        """Each device's run of consecutive hidden layers: what `new` takes, but not all that it took.

        A device of no hidden layer is in no run, and neighbours on one device are one run.

        Clauses: PLC-4.
        """
        runs = (tuple(run) for _, run in groupby(self.hidden))
        return tuple(LayerStage(run[0], len(run)) for run in runs)

    def __repr__(self) -> str:
        hidden = ", ".join(map(str, self.hidden))
        return f"LayerPlacement {{ input: {self.input}, hidden: [{hidden}], output: {self.output} }}"
