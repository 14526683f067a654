"""A model split across devices, with where each of its layers runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from operator import methodcaller
from typing import Generic, Self, TypeVar

from ..errors import ArgumentTypeError, PlacementError
from ..module.trait import ModuleTrait
from ..module.walk import Devices, Operation, form_of
from ..param.traversal import ModuleMapper, ModuleNode, ModuleVisitor
from ..tensor.device import Device
from .layer import DistributedLayer, In, LayerParallelism, Out, Signal
from .placement import LayerPlacement, LayerStage
from .stages import HeldStage, StagedLayers

T = TypeVar("T")


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class DistributedLayeredModel(ModuleTrait, Generic[In, Signal, Out]):
    """A `LayerParallelism` model and its placement, which the forward reads and does not work out again.

    It is itself a module, and transparent: paths, records, groups and counts are those of the model.
    A mapper is trusted to leave each parameter where it was; only a move of the whole model rewrites the
    placement.

    Burn: burn_core::module::parallel::DistributedLayeredModel
    Clauses: DLM-6, DLM-7, DLM-12.
    """

    _model: LayerParallelism[In, Signal, Out]
    _placement: LayerPlacement

    def __init__(self) -> None:
        raise ArgumentTypeError(
            "a DistributedLayeredModel is not made by calling the class",
            clause="DLM-2",
            hint="DistributedLayeredModel.new(model, placement) checks that each layer is where it is placed",
        )

    @classmethod
    def new(
        cls, model: LayerParallelism[In, Signal, Out], placement: LayerPlacement
    ) -> DistributedLayeredModel[In, Signal, Out]:
        """Split `model` across the devices of `placement`: nothing moves, each layer must be there already.

        A layer is on a device when all its tensors are, whatever their autodiff tag: one without tensors is
        anywhere, and a parameter not yet initialised is where it will be.

        Raises:
            PlacementError: the number of hidden layers differs, or a layer is on another device.

        Burn: DistributedLayeredModel::new
        Clauses: DLM-2, DLM-3.
        """
        if not isinstance(model, LayerParallelism):
            raise ArgumentTypeError(
                f"a LayerParallelism is split, got {type(model).__name__}", clause="DLM-1"
            )
        if not isinstance(placement, LayerPlacement):
            raise ArgumentTypeError(
                f"a placement is a LayerPlacement, got {type(placement).__name__}", clause="DLM-2"
            )
        _check_built_where_placed(model, placement)
        return cls._make(model, placement)

    @classmethod
    def _make(cls, model: LayerParallelism[In, Signal, Out], placement: LayerPlacement) -> Self:
        made = object.__new__(cls)
        object.__setattr__(made, "_model", model)
        object.__setattr__(made, "_placement", placement)
        return made

    def placement(self) -> LayerPlacement:
        """Where each layer runs.

        Burn: DistributedLayeredModel::placement
        """
        return self._placement

    def model(self) -> LayerParallelism[In, Signal, Out]:
        """The model, its layers where the placement puts them.

        Burn: DistributedLayeredModel::model
        """
        return self._model

    def into_inner(self) -> LayerParallelism[In, Signal, Out]:
        """The model on its own, no longer carrying where its layers run.

        Burn: DistributedLayeredModel::into_inner
        """
        return self._model

    def forward(self, input: In) -> Out:
        """Run each layer on its device, moving what passes between them; the result stays on the last one.

        A move takes over the hardware of the device alone: what passes keeps its own autodiff context.

        Burn: DistributedLayeredModel::forward
        Clauses: DLM-4, DLM-5.
        """
        model, placement = self._model, self._placement
        signal = model.layer_input().forward(moved(input, placement.input))
        for layer, device in zip(model.layers_hidden(), placement.hidden, strict=False):
            signal = layer.forward(moved(signal, device))
        return model.layer_output().forward(moved(signal, placement.output))

    def into_stages(self) -> StagedLayers[In, Signal, Out]:
        """The model taken apart, its hidden layers cut into the placement's stages.

        Only devices are compared: another order within a device, and too few or too many layers, pass.

        Raises:
            PlacementError: a stage would hold a layer that is off its device.

        Burn: DistributedLayeredModel::into_stages
        Clauses: DLM-10.
        """
        layers = self._model.into_layers()
        hidden = iter(layers.hidden)
        stages = tuple(
            _held(index, stage, tuple(islice(hidden, stage.num_hidden_layers)))
            for index, stage in enumerate(self._placement.stages())
        )
        return StagedLayers(layers.input, stages, layers.output)

    def visit(self, visitor: ModuleVisitor) -> None:
        """The events of the model, under no name of its own (DLM-7)."""
        self._model.visit(visitor)

    def map(self, mapper: ModuleMapper) -> Self:
        """The mapped model in the same placement, which is not checked again (DLM-9)."""
        return self._with(self._model.map(mapper))

    def collect_devices(self, devices: Devices) -> Devices:
        """With those of the model, in the order of its parameters and not of the placement (DLM-7)."""
        return self._model.collect_devices(devices)

    def to_device(self, device: Device) -> Self:
        """The whole model on `device`, and every layer placed there, with the tag that `device` has.

        Tracked values are no leaves afterwards: to train, build the layers where they run, or `fork`.

        Burn: Module::to_device
        Clauses: DLM-8, DLM-11.
        """
        return self._make(self._model.to_device(device), self._on_one(device))

    def fork(self, device: Device) -> Self:
        """The whole model on `device` as new leaves, and every layer placed there.

        Burn: Module::fork
        Clauses: DLM-8, DLM-11.
        """
        return self._make(self._model.fork(device), self._on_one(device))

    def valid(self) -> Self:
        """The model for validation; the placement keeps its devices' tags (DLM-9)."""
        return self._with(self._model.valid())

    def train(self) -> Self:
        """The model for training; the placement keeps its devices' tags (DLM-9)."""
        return self._with(self._model.train())

    def materialize(self) -> Self:
        """The model with reparameterizations folded in, in the same placement (DLM-9)."""
        return self._with(self._model.materialize())

    def clone(self) -> Self:
        """The model cloned, in the same placement (DLM-12)."""
        return self._with(self._model.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: object) -> Self:
        return self.clone()

    def __repr__(self) -> str:
        return f"DistributedLayeredModel {{ model: {self._model!r}, placement: {self._placement!r} }}"

    def _with(self, model: LayerParallelism[In, Signal, Out]) -> Self:
        return self if model is self._model else self._make(model, self._placement)

    def _on_one(self, device: Device) -> LayerPlacement:
        return LayerPlacement.new([LayerStage(device, len(self._placement.hidden))])


def moved(value: T, device: Device) -> T:
    """`value` on the hardware of `device`: a tensor, a module, or a tuple of such.

    Raises:
        ArgumentTypeError: it is none of these.

    Clauses: DLM-1, DLM-4.
    """
    move = methodcaller("to_device", device)
    return form_of(value).rebuild(value, Operation(move, move))  # type: ignore[no-any-return]  # keeps the type


def _is_on(layer: ModuleNode, device: Device) -> bool:
    """Whether all that the layer holds is on `device`, autodiff tags aside (DLM-3)."""
    return all(found == device for found in layer.devices())


def _check_built_where_placed(model: LayerParallelism[In, Signal, Out], placement: LayerPlacement) -> None:
    hidden = tuple(model.layers_hidden())
    first, last = model.layer_input(), model.layer_output()
    for layer in (first, *hidden, last):
        if not isinstance(layer, DistributedLayer):
            raise ArgumentTypeError(
                f"the layers of a model are DistributedLayers, got {type(layer).__name__}", clause="DLM-1"
            )
    if len(hidden) != len(placement.hidden):
        raise PlacementError(
            "the placement must give a device to every hidden layer: the model has "
            f"{len(hidden)}, the placement gives {len(placement.hidden)}",
            clause="DLM-2",
        )
    places: list[tuple[str, ModuleNode, Device]] = [("the input layer", first, placement.input)]
    places += [
        (f"hidden layer {index}", layer, device)
        for index, (layer, device) in enumerate(zip(hidden, placement.hidden, strict=True))
    ]
    for name, layer, device in (*places, ("the output layer", last, placement.output)):
        if not _is_on(layer, device):
            raise PlacementError(
                f"{name} must be built on {device}",
                clause="DLM-2",
                hint="build each layer on the device its placement names; `new` moves nothing",
            )


def _held(
    index: int, stage: LayerStage, layers: tuple[DistributedLayer[Signal, Signal], ...]
) -> HeldStage[Signal]:
    if not all(_is_on(layer, stage.device) for layer in layers):
        raise PlacementError(
            f"stage {index} holds a layer off {stage.device}: `into_layers` must give the hidden layers in "
            "the order `layers_hidden` does",
            clause="DLM-10",
        )
    return HeldStage(stage.device, layers)
