"""Several writers of one file and a reader of it, all at once; also with one process number."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.errors import RefimplError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.faults.points import Points
from tests.faults.saving import STRANGER

SIZE = 50_000
#: Runs a program as process 1 of a namespace of its own, without privileges.
NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
#: With a faked process number both writers want the same scratch names, as two containers do.
WRITER = """
import os, sys
target, who, rounds, number = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
if number:
    os.getpid = lambda: number
os.fsync = lambda fd: None
from refimpl.burnpack.api import write_burnpack
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
for _ in range(rounds):
    write_burnpack(target, [("w", TensorData(DType.U8, [50000], who * 50000), 1)])
"""


def writers_and_reader(points: Points, folder: Path) -> None:
    """Every load is wholly one writer's file or the other's, and strangers' scratch stays."""
    rounds = 200 if points.full else 40
    wanted = {burnpack_bytes([_entry(who)]) for who in (b"a", b"b")}
    ways: list[tuple[str, list[str], int]] = [("two processes", [], 0), ("one process number", [], 1)]
    if _has_namespaces():
        ways.append(("process namespaces", NAMESPACE, 0))
    else:
        points.notes.append("process namespaces: `unshare` is missing or forbidden")
    for fault, prefix, number in ways:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        target = folder / "m.bpk"
        (folder / STRANGER).write_bytes(b"a stranger's")
        write_burnpack(target, [_entry(b"a")])
        command = [*prefix, sys.executable, "-c", WRITER, str(target)]
        writers = [subprocess.Popen([*command, who, str(rounds), str(number)]) for who in "ab"]
        points.add("save: race", fault, 2 * rounds)
        while any(writer.poll() is None for writer in writers):
            try:
                with open_burnpack(target) as found:
                    read = bytes(found["w"].data.bytes)
                if read not in (b"a" * SIZE, b"b" * SIZE):
                    points.find(f"{fault}: a mixture was read")
            except RefimplError as error:
                points.find(f"{fault}: {error}")
        if [writer.wait() for writer in writers] != [0, 0]:
            points.find(f"{fault}: a writer failed")
        if target.read_bytes() not in wanted:
            points.find(f"{fault}: the last file is neither writer's")
        if (folder / STRANGER).read_bytes() != b"a stranger's" or len(list(folder.iterdir())) != 2:
            points.find(f"{fault}: left {sorted(p.name for p in folder.iterdir())}")


def _has_namespaces() -> bool:
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _entry(who: bytes) -> tuple[str, TensorData, int]:
    return "w", TensorData(DType.U8, [SIZE], who * SIZE), 1
