"""Quantising a file, one tensor at a time."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from ..burnpack.api import open_burnpack, write_burnpack
from ..burnpack.layout import byte_length
from ..burnpack.paths import path_text
from ..burnpack.reader import Entry
from ..errors import ArgumentTypeError, PanicError, TensorError
from ..module.quantizer import Quantizer
from ..param.param import Param
from ..param.param_id import ParamId
from ..tensor.blocks import BlockLayout
from ..tensor.data import Buffer, TensorData
from ..tensor.device import Device
from ..tensor.dtype import DType
from ..tensor.packing import check_axis
from ..tensor.tensor import Tensor

CPU = Device("cpu")


def quantize_file(
    source: str | PathLike[str],
    target: str | PathLike[str],
    quantizer: Quantizer,
    *,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Write to `target` what `source` holds, with the float tensors that the quantizer selects quantised.

    Names, parameter ids, order, metadata and scalars stay, and whatever is no dense float stays as it is.
    One tensor is in memory at a time, and `target` is written all or nothing.

    Args:
        source: A burnpack file.
        target: Where to write; it may be `source`.
        quantizer: Calibration, scheme, and the group of what is quantised, by id and by path.
        progress: Called with the name and the bytes of each tensor before it is read.

    Raises:
        BurnpackError: the source cannot be read, or the target not be written.
        TensorError: the scheme does not fit a selected tensor, or one has no elements or no axes. No tensor
            was read then, and nothing written.

    Clauses: QNT-36, QNT-28.
    """
    if not isinstance(quantizer, Quantizer):
        raise ArgumentTypeError(f"quantize_file takes a Quantizer, got {quantizer!r}", clause="QNT-36")
    if progress is not None and not callable(progress):
        raise ArgumentTypeError(f"progress is a function of a name and a number of bytes, got {progress!r}")
    source, target = path_text(source), path_text(target)
    with open_burnpack(source) as pack:
        names = sorted(pack, key=lambda name: (pack[name].start, name))
        entries = [(name, pack[name]) for name in names]
        chosen = {name for name, entry in entries if _is_selected(name, entry, quantizer)}
        items = [
            (name, _planned(name, entry, quantizer, name in chosen, progress), entry.param_id)
            for name, entry in entries
        ]
        write_burnpack(target, items, dict(pack.metadata), dict(pack.scalars))


def _is_selected(name: str, entry: Entry, quantizer: Quantizer) -> bool:
    """Whether an entry is quantised; refused now if its shape does not fit, before anything is written."""
    if not entry.dtype.is_float or not quantizer.group.matches(_id(entry), name):
        return False
    shape = tuple(entry.shape)
    if not shape or 0 in shape:
        raise TensorError(
            f"tensor {name!r} of shape {list(shape)} cannot be quantised: "
            f"it has no {'elements' if shape else 'axes'}",
            clause="QNT-12",
            hint="leave it out by a group",
        )
    try:
        BlockLayout.of(shape, quantizer.scheme)
        check_axis(quantizer.scheme, len(shape))
    except PanicError as error:
        error.add_note(f"tensor: {name!r} of shape {list(shape)}")
        raise
    return True


def _planned(
    name: str,
    entry: Entry,
    quantizer: Quantizer,
    is_selected: bool,
    progress: Callable[[str, int], None] | None,
) -> TensorData:
    shape = tuple(entry.shape)

    def read() -> TensorData:
        if progress is not None:
            progress(name, entry.nbytes)
        return entry.data

    def quantized() -> Buffer:
        tensor = Tensor.from_record_data(read(), CPU, entry.dtype)
        return quantizer.at_path(Param.initialized(_id(entry), tensor), name).base().to_data().bytes

    if not is_selected:
        return TensorData.deferred(entry.dtype, shape, entry.nbytes, lambda: read().bytes)
    dtype = DType.qfloat(quantizer.scheme)
    return TensorData.deferred(dtype, shape, byte_length(dtype, shape) or 0, quantized)


def _id(entry: Entry) -> ParamId:
    return ParamId.from_int(0 if entry.param_id is None else entry.param_id)
