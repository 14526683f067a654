"""One tensor of a file: its numbers, and a picture of them."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..burnpack.api import open_burnpack
from ..burnpack.reader import Pack
from ..burnpack.refusal import shown
from ..errors import ResourceError, TensorNotFoundError
from ..tensor.device import Device
from ..tensor.fidelity import fidelity
from ..tensor.quantized import QuantizedTensor
from ..tensor.tensor import BoolTensor, IntTensor, Tensor
from .picture import picture
from .terminal import console, write_json

#: As many names, of as many characters, are compared with one that is not there.
_COMPARED: Final = 1000


def look_at(pack: Pack, name: str, *, as_json: bool, plot: str | None, against: str | None) -> None:
    """Print the numbers of the tensor `name`, and write its picture to `plot`."""
    tensor = read(pack, name)
    original = None
    if against is not None:
        with open_burnpack(against) as other:
            original = read(other, name)
    numbers = described(tensor)
    if isinstance(tensor, Tensor) and isinstance(original, Tensor):
        numbers |= asdict(fidelity(original, tensor))
    if plot is not None:
        drawn = picture(f"{shown(name)}  {list(tensor.shape)}", tensor, _float(original))
        try:
            with open(plot, "w", encoding="utf-8") as file:
                file.write(drawn)
        except OSError as error:
            raise ResourceError(f"cannot write '{plot}': {error.strerror}") from error
    if as_json:
        write_json({"name": name, **numbers})
        return
    out = console()
    out.print(shown(name) or '""', style="bold", soft_wrap=True)
    for key, value in numbers.items():
        out.print(f"  {key.replace('_', ' '):16} {value}", soft_wrap=True)


def read(pack: Pack, name: str) -> Tensor | IntTensor | BoolTensor:
    """The tensor `name` of a file, on the host, in the dtype that it is stored in."""
    try:
        data = pack[name].data
    except TensorNotFoundError as error:
        error.hint = _nearest(name, pack)
        raise
    kind = IntTensor if data.dtype.is_int else BoolTensor if data.dtype.is_bool else Tensor
    return kind.from_data(data, Device("cpu"))


def _nearest(name: str, pack: Pack) -> str:
    """The names that `name` may be meant for."""
    few = [known for known in islice(pack, _COMPARED) if len(known) <= _COMPARED]
    near = get_close_matches(name[:_COMPARED], few, n=3)
    if not near:
        return "without a name, `refimpl inspect` lists all tensors"
    return f"there is {', '.join(shown(known) for known in near)}"


def described(tensor: Tensor | IntTensor | BoolTensor) -> dict[str, Any]:
    """What there is to say of a tensor alone."""
    dense = tensor.dequantize() if isinstance(tensor, Tensor) else tensor
    values = dense.to_numpy()
    found: dict[str, Any] = {"dtype": repr(tensor.dtype), "shape": list(tensor.shape), "values": values.size}
    if isinstance(tensor, Tensor):
        values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    if finite.size:
        # An integer stays one: those past 2^53 are no floats.
        found |= {"least": finite.min().item(), "greatest": finite.max().item(), "mean": _mean(finite)}
    found |= {"not_finite": int(values.size - finite.size), "zeros": int(np.count_nonzero(values == 0))}
    if isinstance(tensor, QuantizedTensor):
        codes, scales = tensor.codes(), tensor.scales()
        found |= {"codes_used": int(np.unique(codes).size), "scales": int(scales.size)}
        if codes.size:
            found["bits_per_value"] = 8 * tensor.to_data().nbytes / codes.size
    return found


def _mean(values: NDArray[Any]) -> float:
    """The mean, of values whose sum no float may hold too."""
    with np.errstate(over="ignore"):
        mean = float(values.mean(dtype=np.float64))
    return mean if np.isfinite(mean) else float((values / values.size).sum())


def _float(tensor: Tensor | IntTensor | BoolTensor | None) -> Tensor | None:
    return tensor if isinstance(tensor, Tensor) else None
