"""What a type checker says about placements; a comment at each mistake holds a part of what is said."""

from typing import assert_type

from refimpl import AfterHidden, Device, DeviceMemory, LayerMemory, LayerPlacement, LayerStage, WithInput

sim = Device("sim", 0)

assert_type(LayerPlacement.even([sim], 3), LayerPlacement)
assert_type(LayerPlacement.even([sim], 3).hidden, tuple[Device, ...])
assert_type(LayerPlacement.even([sim], 3).stages(), tuple[LayerStage, ...])
assert_type(
    LayerPlacement.by_memory(
        [DeviceMemory(device=sim, capacity=8)], LayerMemory(input=1, hidden=(1,), output=AfterHidden(1))
    ),
    LayerPlacement | None,
)

LayerMemory(input=1, hidden=(1,), output=WithInput(1))
LayerMemory(input=1, hidden=(1,), output=1)  # error: Argument "output"
LayerPlacement.even(sim, 3)  # error: Argument 1 to "even"
LayerPlacement.by_memory([], LayerMemory(input=1, hidden=(), output=AfterHidden(1))).devices()  # error: None
LayerPlacement.even([sim], 1).hidden = ()  # error: read-only
