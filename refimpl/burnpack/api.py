"""The container in two calls: open one, write one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from ..errors import ArgumentTypeError, BurnpackError
from ..tensor.arguments import check_bool
from .atomic import AtomicFile
from .in_place import write_in_place
from .limits import ReaderLimits
from .paths import PathLike, existing, path_text, with_extension
from .reader import Pack
from .refusal import io
from .scalar import Scalar
from .source import FileSource, MemorySource
from .writer import Buffer, Item, plan


def open_burnpack(
    path: PathLike | bytes | bytearray | memoryview,
    *,
    exact: bool = False,
    limits: ReaderLimits | None = None,
) -> Pack:
    """Open a container: its metadata is read now, its tensors when they are asked for.

    Args:
        path: A file, or the bytes of a container. A file name without an extension that does not exist
            gets `.bpk`.
        exact: Take the file name as it is.
        limits: Other limits than Burn's defaults.

    Raises:
        BurnpackError: it cannot be read, or is no burnpack container.

    >>> from refimpl import DType, TensorData
    >>> pack = open_burnpack(burnpack_bytes([("w", TensorData(DType.U8, [2], b"ab"), 7)]))
    >>> pack["w"].data.bytes.tobytes(), pack["w"].param_id
    (b'ab', 7)

    Burn: burn_pack::Reader::from_file, from_file_exact, from_bytes
    Clauses: BPK-18 to BPK-28.
    """
    check_bool(exact, "`exact`", "BPK-28")
    if limits is not None and not isinstance(limits, ReaderLimits):
        raise ArgumentTypeError(
            f"the limits of a reader are ReaderLimits, got {limits!r}",
            clause="BPK-22",
            hint="ReaderLimits(max_tensor_size=2**40)",
        )
    if isinstance(path, (bytes, bytearray, memoryview)):
        return Pack(MemorySource(path), limits)
    name = path_text(path) if exact else existing(path_text(path))
    source = FileSource(name)
    try:
        return Pack(source, limits)
    except BaseException as error:
        source.close()
        if isinstance(error, BurnpackError):
            error.found_in(name)
        raise


def write_burnpack(
    target: PathLike,
    entries: Iterable[Item],
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, Scalar | bool | int | float] | None = None,
    *,
    exact: bool = False,
    overwrite: bool = True,
    in_place: bool = False,
) -> None:
    """Write a container to a file that is, at every moment, wholly the old one or wholly the new one.

    Args:
        target: Where to; a name without an extension gets `.bpk`.
        entries: Name, data and parameter id or None; written in this order.
        metadata: Texts by name.
        scalars: Scalars, or bools, ints and floats, by name.
        exact: Take the file name as it is.
        overwrite: Replace a file that stands there; otherwise that is an error.
        in_place: Write over the file as it lies instead, without a second copy: a failure then leaves it
            cut short.

    Raises:
        BurnpackError: nothing was written and the old file is as it was, unless the message says that the
            new one was saved.

    Burn: burn_pack::Writer::write_to_file, write_to_file_in_place
    Clauses: BPK-11 to BPK-17, BPK-29 to BPK-33.
    """
    for name, option in (("exact", exact), ("overwrite", overwrite), ("in_place", in_place)):
        check_bool(option, f"`{name}`", "BPK-29")
    path = path_text(target) if exact else with_extension(path_text(target))
    planned = plan(entries, metadata, scalars)
    if in_place:
        write_in_place(path, planned, overwrite=overwrite)
        return
    with AtomicFile(path) as file:
        planned.emit(file.write)
        file.publish(overwrite=overwrite)


def burnpack_bytes(
    entries: Iterable[Item],
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, Scalar | bool | int | float] | None = None,
) -> bytes:
    """The container that `write_burnpack` would write, in memory.

    Burn: burn_pack::Writer::into_bytes
    Clauses: BPK-11 to BPK-17.
    """
    pieces: list[bytes] = []
    planned = plan(entries, metadata, scalars)
    planned.emit(lambda piece: pieces.append(cast("bytes", piece)))
    return b"".join(pieces)


def burnpack_into(
    buffer: bytearray | memoryview,
    entries: Iterable[Item],
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, Scalar | bool | int | float] | None = None,
) -> int:
    """Write the container into the front of `buffer`, and say how many bytes it takes.

    Raises:
        BurnpackError: `buffer` is too small, which is found before anything is written, or the container
            cannot be made.

    Burn: burn_pack::Writer::write_into, size
    Clauses: BPK-14, BPK-16.
    """
    planned = plan(entries, metadata, scalars)
    view = memoryview(buffer).cast("B")
    if view.nbytes < planned.size:
        raise io(
            f"Buffer too small: need {planned.size} bytes, got {view.nbytes} bytes",
            clause="BPK-16",
            hint="burnpack_bytes makes one of the right size",
        )
    at = 0

    def write(piece: Buffer) -> None:
        nonlocal at
        view[at : at + len(piece)] = piece
        at += len(piece)

    planned.emit(write)
    return at
