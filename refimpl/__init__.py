"""An executable specification of Burn's module system, in NumPy, on simulated devices.

Every public name is imported when it is first used, so that `import refimpl` and the command line cost
what they use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from . import errors as errors
    from .burnpack.api import open_burnpack as open_burnpack
    from .burnpack.api import write_burnpack as write_burnpack
    from .interchange.quantize_file import quantize_file as quantize_file
    from .module.display import DisplaySettings as DisplaySettings
    from .module.fields import Array as Array
    from .module.fields import Skip as Skip
    from .module.lora import Lora as Lora
    from .module.lora import LoraAdapter as LoraAdapter
    from .module.lora import QLora as QLora
    from .module.module import Module as Module
    from .module.quantizer import Quantizer as Quantizer
    from .module.variants import ModuleEnum as ModuleEnum
    from .parallel.layer import DistributedLayer as DistributedLayer
    from .parallel.layer import LayerParallelism as LayerParallelism
    from .parallel.layer import LayerSequence as LayerSequence
    from .parallel.model import DistributedLayeredModel as DistributedLayeredModel
    from .parallel.placement import AfterHidden as AfterHidden
    from .parallel.placement import DeviceMemory as DeviceMemory
    from .parallel.placement import LayerMemory as LayerMemory
    from .parallel.placement import LayerPlacement as LayerPlacement
    from .parallel.placement import LayerStage as LayerStage
    from .parallel.placement import WithInput as WithInput
    from .parallel.stages import HeldStage as HeldStage
    from .parallel.stages import StagedLayers as StagedLayers
    from .param.flag import Flag as Flag
    from .param.group import ParamGroup as ParamGroup
    from .param.param import Param as Param
    from .param.param_id import ParamId as ParamId
    from .param.reparameterization import Reparameterization as Reparameterization
    from .param.reparameterization import Reparameterizer as Reparameterizer
    from .param.running import RunningState as RunningState
    from .param.traversal import ModuleMapper as ModuleMapper
    from .param.traversal import ModuleVisitor as ModuleVisitor
    from .record.policy import DTypePolicy as DTypePolicy
    from .record.record import ModuleRecord as ModuleRecord
    from .tensor.calibration import Calibration as Calibration
    from .tensor.calibration import CalibrationRange as CalibrationRange
    from .tensor.calibration import QParams as QParams
    from .tensor.calibration import compute_q_params as compute_q_params
    from .tensor.calibration import compute_range as compute_range
    from .tensor.data import TensorData as TensorData
    from .tensor.device import Device as Device
    from .tensor.dtype import DType as DType
    from .tensor.random import Distribution as Distribution
    from .tensor.scheme import BlockSize as BlockSize
    from .tensor.scheme import QuantScheme as QuantScheme
    from .tensor.scheme import QuantStore as QuantStore
    from .tensor.scheme import QuantValue as QuantValue
    from .tensor.scheme import ScaleDtype as ScaleDtype
    from .tensor.tensor import BoolTensor as BoolTensor
    from .tensor.tensor import IntTensor as IntTensor
    from .tensor.tensor import Tensor as Tensor

__version__ = "0.1.0"

_HOME: Final = {
    "tensor.device": ("Device",),
    "tensor.dtype": ("DType",),
    "tensor.scheme": ("BlockSize", "QuantScheme", "QuantStore", "QuantValue", "ScaleDtype"),
    "tensor.data": ("TensorData",),
    "tensor.calibration": ("Calibration", "CalibrationRange", "QParams", "compute_q_params", "compute_range"),
    "tensor.random": ("Distribution",),
    "tensor.tensor": ("BoolTensor", "IntTensor", "Tensor"),
    "param.param_id": ("ParamId",),
    "param.flag": ("Flag",),
    "param.traversal": ("ModuleMapper", "ModuleVisitor"),
    "param.param": ("Param",),
    "param.running": ("RunningState",),
    "param.group": ("ParamGroup",),
    "param.reparameterization": ("Reparameterization", "Reparameterizer"),
    "burnpack.api": ("open_burnpack", "write_burnpack"),
    "record.policy": ("DTypePolicy",),
    "record.record": ("ModuleRecord",),
    "module.fields": ("Array", "Skip"),
    "module.display": ("DisplaySettings",),
    "module.module": ("Module",),
    "module.quantizer": ("Quantizer",),
    "module.lora": ("Lora", "LoraAdapter", "QLora"),
    "module.variants": ("ModuleEnum",),
    "interchange.quantize_file": ("quantize_file",),
    "parallel.layer": ("DistributedLayer", "LayerParallelism", "LayerSequence"),
    "parallel.model": ("DistributedLayeredModel",),
    "parallel.placement": (
        "AfterHidden",
        "DeviceMemory",
        "LayerMemory",
        "LayerPlacement",
        "LayerStage",
        "WithInput",
    ),
    "parallel.stages": ("HeldStage", "StagedLayers"),
}
_MODULE_OF: Final = {name: home for home, names in _HOME.items() for name in names}
__all__ = sorted([*_MODULE_OF, "errors"])


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module(".errors", __name__)
    home = _MODULE_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
