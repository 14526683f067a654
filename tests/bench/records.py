"""Saving and loading, beside the same bytes written plainly and beside safetensors."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from refimpl import Device, Module, Param, ParamId, Tensor, TensorData, open_burnpack, write_burnpack
from tests.bench.figure import Figure, least, ratio, span

COUNT, SIDE, SMALL = 64, 1024, 10_000
MIB = 2**20
CPU = Device("cpu")


class Layers(Module):
    """Square weights."""

    weights: tuple[Param[Tensor], ...]


def lazy() -> Layers:
    """A model that holds no value yet: what a load fills."""

    def zeros(device: Device, require_grad: bool) -> Tensor:
        return Tensor.zeros((SIDE, SIDE), device)

    return Layers(
        weights=tuple(
            Param.uninitialized(ParamId.new(), zeros, CPU, True, (SIDE, SIDE)) for _ in range(COUNT)
        )
    )


def write_plainly(path: Path, arrays: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> None:
    """The physical limit of a save: the bytes, and a sync."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for array in arrays:
            rest = memoryview(array).cast("B")
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_plainly(path: Path, start: int) -> bytes:
    """The physical limit of reading one tensor: its bytes, where they are known to be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, SIDE * SIDE * 4, start)
    finally:
        os.close(descriptor)


def one_of_ours(path: Path, name: str) -> TensorData:
    with open_burnpack(path) as pack:
        return pack[name].data


def all_of_ours(path: Path) -> list[TensorData]:
    with open_burnpack(path) as pack:
        return [entry.data for entry in pack.values()]


def one_of_theirs(path: Path, name: str) -> object:
    with safe_open(path, "numpy") as file:
        return file.get_tensor(name)


def large(folder: Path) -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((SIDE, SIDE), dtype=np.float32) for _ in range(COUNT)]
    model = Layers(weights=tuple(Param.from_data(array, CPU) for array in arrays))
    ours, theirs, plain = folder / "ours.bpk", folder / "theirs.safetensors", folder / "plain"

    save, limit = least(lambda: model.save_file(ours), lambda: write_plainly(plain, arrays), rounds=9)
    yield ratio("save_file, 64 x [1024,1024] f32", save, limit, 1.15, "writing and syncing the bytes")
    plain.unlink()

    save_file({f"weights.{i}": array for i, array in enumerate(arrays)}, theirs)
    loaded = lazy().load_file(ours)
    if not np.array_equal(loaded.weights[-1].val().to_numpy(), arrays[-1]):
        raise AssertionError("the file is meant to hold what was saved")
    del loaded

    load, peer = least(lambda: lazy().load_file(ours), lambda: load_file(theirs), rounds=5)
    yield ratio("load_file", load, peer, 0.9, "safetensors.numpy.load_file")

    peak, theirs_peak = peak_of("ours", ours), peak_of("theirs", theirs)
    data = COUNT * SIDE * SIDE * 4 / MIB
    yield Figure(
        "load_file: peak memory above the data",
        peak - data,
        16,
        "MiB",
        f"{peak:.0f} MiB for {data:.0f} MiB; safetensors {theirs_peak:.0f} MiB",
    )

    (opening,) = least(lambda: open_burnpack(ours).close(), rounds=15, number=5)
    yield Figure("opening", opening * 1e3, 1.0, "ms", span(opening))

    name = f"weights.{COUNT // 2}"
    with open_burnpack(ours) as pack:
        start = pack.data_start + pack[name].start
    one, peer = least(lambda: one_of_ours(ours, name), lambda: one_of_theirs(theirs, name), rounds=40)
    plain_read, same = least(
        lambda: read_plainly(ours, start), lambda: one_of_theirs(theirs, name), rounds=40
    )
    why = (
        f"opening checks the metadata of all {COUNT} tensors, in Python, and takes {opening / peer:.2f} of "
        f"safe_open; one `pread` of the same bytes into fresh memory takes {plain_read / same:.2f}."
    )
    yield ratio("one tensor of 64", one, peer, 0.7, "safetensors.safe_open", why)


def small(folder: Path) -> Iterator[Figure]:
    rng = np.random.default_rng(1)
    arrays = {f"layer.{i}.weight": rng.standard_normal((4, 4), dtype=np.float32) for i in range(SMALL)}
    entries = [(name, Tensor.from_data(array, CPU).to_data(), None) for name, array in arrays.items()]
    ours, theirs = folder / "small.bpk", folder / "small.safetensors"

    save, peer = least(lambda: write_burnpack(ours, entries), lambda: save_file(arrays, theirs), rounds=9)
    yield ratio("10,000 small arrays: write_burnpack", save, peer, 1.0, "safetensors")
    load, peer = least(lambda: all_of_ours(ours), lambda: load_file(theirs), rounds=9)
    yield ratio("10,000 small arrays: read all", load, peer, 2.0, "safetensors")
    name = f"layer.{SMALL // 2}.weight"
    one, peer = least(lambda: one_of_ours(ours, name), lambda: one_of_theirs(theirs, name), rounds=9)
    yield ratio("10,000 small arrays: open and read one", one, peer, 4.0, "safetensors")


def peak_of(side: str, path: Path) -> float:
    """How far a load in a process of its own raises the most memory it ever held, in MiB."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.records", side, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def raised_by_load(side: str, path: str) -> float:
    """The peak of this process after the load, less what it held before."""
    model = lazy() if side == "ours" else None
    before = most_held()
    kept = load_file(path) if model is None else model.load_file(path)
    after = most_held()
    del kept
    return (after - before) / MIB


def most_held() -> int:
    """The most memory that this process has held so far, in bytes.

    Linux counts a parent's pages into the `ru_maxrss` of its child, but not into `VmHWM`.
    """
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text("ascii")
        return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        yield from large(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from small(Path(folder))


if __name__ == "__main__":
    print(raised_by_load(sys.argv[1], sys.argv[2]))
