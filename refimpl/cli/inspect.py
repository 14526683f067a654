"""`refimpl inspect`: what is in a burnpack file, one line a tensor, or all of it as JSON."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import click

from .apart import refuse_shared
from .terminal import console, write_json

if TYPE_CHECKING:
    from ..burnpack.reader import Entry, Pack
    from ..burnpack.scalar import Scalar


@click.command("inspect")
@click.argument("file", type=click.Path())
@click.argument("tensor", required=False)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON, with the SHA-256 of the data.")
@click.option("--tree", "as_tree", is_flag=True, help="The names as a tree, by their dots.")
@click.option("--plot", type=click.Path(), help="Write histograms of TENSOR to this SVG file.")
@click.option(
    "--against", type=click.Path(), help="A file with TENSOR before it was quantised: show the errors."
)
def command(
    file: str, tensor: str | None, as_json: bool, as_tree: bool, plot: str | None, against: str | None
) -> int:
    """Show what is in a burnpack file: names, dtypes, shapes, parameter ids and sizes.

    With TENSOR, what is in that tensor: its range, and for a quantised one what it costs and loses.
    Without an extension, `.bpk` is added to a name that does not exist.
    """
    from ..burnpack.api import open_burnpack
    from ..burnpack.paths import existing

    if tensor is None and (plot is not None or against is not None):
        raise click.UsageError("--plot and --against look at one tensor: name it after the file")
    if as_tree and (tensor is not None or as_json):
        raise click.UsageError("--tree shows the names of a whole file: leave out TENSOR and --json")
    read = {"FILE": [file, existing(file)], "--against": [against, existing(against)] if against else None}
    refuse_shared({"--plot": plot}, read)
    with open_burnpack(file) as pack:
        if tensor is not None:
            from .look import look_at

            look_at(pack, tensor, as_json=as_json, plot=plot, against=against)
        elif as_json:
            write_json(_document(pack))
        elif as_tree:
            _print_tree(pack)
        else:
            _print_table(pack)
    return 0


def _document(pack: Pack) -> dict[str, Any]:
    return {
        "tensors": [_tensor(entry) for entry in pack.values()],
        "metadata": dict(pack.metadata),
        "scalars": {name: _scalar(value) for name, value in pack.scalars.items()},
    }


def _tensor(entry: Entry) -> dict[str, Any]:
    digest = hashlib.sha256()
    for piece in entry.pieces():
        digest.update(piece)
    return {
        "name": entry.name,
        "dtype": str(entry.dtype),
        "shape": entry.shape,
        "param_id": entry.param_id,
        "nbytes": entry.nbytes,
        "sha256": digest.hexdigest(),
    }


def _scalar(value: Scalar) -> dict[str, Any]:
    """A scalar under its kind; a float that JSON cannot write is text, and has its bits beside it."""
    from ..burnpack.scalar import FloatScalar

    kind = type(value).__name__.removesuffix("Scalar")
    if not isinstance(value, FloatScalar):
        return {kind: value.value}
    number = value.value
    return {kind: number if math.isfinite(number) else str(number), "bits": f"{value.bits:016x}"}


def _print_table(pack: Pack) -> None:
    from rich.cells import cell_len

    out = console()
    rows = [("name", "bytes", "shape", "parameter id", "dtype")]
    rows += [(_shown(entry.name) or '""', *_facts(entry)) for entry in pack.values()]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows if len(pack) else ():
        # Padded here: a table of rich's cuts what is wider than the terminal.
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        out.print("  ".join(cells).rstrip(), soft_wrap=True)
    for name, text in pack.metadata.items():
        out.print(f"metadata  {_shown(name)} = {_shown(text)}", soft_wrap=True)
    for name, value in pack.scalars.items():
        kind = type(value).__name__.removesuffix("Scalar")
        out.print(f"scalar    {_shown(name)} = {value.value} ({kind})", soft_wrap=True)
    out.print(_summary(pack), style="bold")


def _print_tree(pack: Pack) -> None:
    out = console()
    entered: list[str] = []
    for entry in pack.values():
        *path, leaf = entry.name.split(".")
        depth = 0
        while depth < min(len(path), len(entered)) and path[depth] == entered[depth]:
            depth += 1
        for level, name in enumerate(path[depth:], depth):
            out.print(_indent(level) + (_shown(name) or '""'), soft_wrap=True)
        entered = path
        nbytes, *facts = _facts(entry)
        line = "  ".join((_shown(leaf) or '""', f"{nbytes} bytes", *facts))
        out.print(_indent(len(path)) + line, soft_wrap=True)
    out.print(_summary(pack), style="bold")


def _indent(level: int) -> str:
    """A name may have a million dots: past 40 levels the tree goes straight down."""
    return "  " * min(level, 40)


def _facts(entry: Entry) -> tuple[str, str, str, str]:
    from ..param.param_id import ParamId

    identity = "" if entry.param_id is None else str(ParamId.from_int(entry.param_id))
    return str(entry.nbytes), str(list(entry.shape)), identity, str(entry.dtype)


def _summary(pack: Pack) -> str:
    total = sum(entry.nbytes for entry in pack.values())
    return f"{len(pack)} tensors, {total} bytes of data, {pack.size} in the file"


def _shown(text: str) -> str:
    from ..burnpack.refusal import shown

    return shown(text)
