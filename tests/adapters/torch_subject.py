"""PyTorch under protocol 1: what `torch.nn.Module` shares with Burn's modules, and nothing else.

A tree of `dynamic/1` becomes `torch.nn.Module`s, and every answer is what PyTorch's own methods give: the
order of `named_parameters` and `named_children`, `requires_grad_`, `numel`, `state_dict`, `load_state_dict`.
A device that records no gradients is `torch.inference_mode`, a running state a buffer; quantised values are
the formula in PyTorch's arithmetic. The ids are an attribute that the adapter keeps on each parameter. What
PyTorch has no word for is answered with `unsupported`. The answers stand in `pytorch/`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .pytorch.data import DTYPES, Step
from .pytorch.files import FILES
from .pytorch.mapping import MAPPING
from .pytorch.modules import MODULES
from .pytorch.quant_ops import QUANT_OPS
from .pytorch.quantised import QUANTISED
from .pytorch.records import RECORDS
from .pytorch.tensors import TENSORS
from .pytorch.trace import Trace

ANSWERS = MODULES | MAPPING | RECORDS | FILES | TENSORS | QUANTISED | QUANT_OPS


class TorchSubject:
    """Answers cases in process."""

    def hello(self) -> Step:
        return {
            "protocol": 1,
            "impl": {
                "name": "torch",
                "version": str(torch.__version__).partition("+")[0],
                "language": "python",
                "backend": "cpu",
            },
            "caps": {
                "fixtures": ["dynamic/1", "zoo/1"],
                "devices": {"executing": ["d0"], "count": 1},
                "dtypes": list(DTYPES),
                "capabilities": ["autodiff", "records", "quant", "safetensors"],
            },
            "limits": {},
        }

    def reset(self) -> None:
        pass

    def case(self, name: str, steps: Sequence[Step]) -> list[Step]:
        trace = Trace()
        try:
            return [trace.outcome(step, ANSWERS) for step in steps]
        finally:
            trace.close()
