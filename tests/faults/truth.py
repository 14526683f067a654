"""The truth about the wrappers: the same faults on real calls, by `strace` and by a preloaded library.

What a wrapper in Python cannot see, such as a call that it forgot, these do. Where the system has no strace,
no compiler, or forbids tracing, the points are skipped and a note says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.points import Points

ROOT = Path(__file__).resolve().parents[2]

#: Saves once for each scenario, each in a process of its own whose calls are counted from its first. Between
#: them and the driver stands a runner, which is what is traced: it makes none of the calls that fail, and
#: tells what became of its children through shared memory.
DRIVER = """
import ctypes, json, mmap, os, sys
from pathlib import Path
from tests.faults.oracle import NothingLost
from tests.faults.saving import SCENARIOS, prepared, raised
folder, shared, cases = Path(sys.argv[1]), mmap.mmap(-1, 4096), []
for number, scenario in enumerate(SCENARIOS[:4]):
    target = prepared(folder / str(number), scenario)
    cases.append((scenario, target, NothingLost(target, scenario.new, in_place=scenario.in_place)))
go, gone = os.pipe()
runner = os.fork()
if runner == 0:
    try:
        ctypes.CDLL(None).prctl(0x59616D61, -1, 0, 0, 0)  # any process may trace this one
    except (OSError, AttributeError):
        pass
    os.read(go, 1)
    for number, (scenario, target, _) in enumerate(cases):
        child = os.fork()
        if child == 0:
            error = raised(scenario.save, target)
            os._exit(0 if error is None else 130 if isinstance(error, KeyboardInterrupt) else 1)
        status = os.waitpid(child, 0)[1]
        shared[number] = 200 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    os._exit(0)
print(runner, flush=True)
sys.stdin.readline()
os.write(gone, b"g")
os.waitpid(runner, 0)
told = []
for number, (scenario, target, oracle) in enumerate(cases):
    code = shared[number]
    wrong = ""
    try:
        oracle.target_is_whole(killed=code == 200, returned=code == 0, scratch_stays=sys.argv[2] == "unlink")
    except AssertionError as error:
        wrong = str(error)
    told.append([scenario.name, code, wrong])
print(json.dumps(told), flush=True)
"""


def injections(full: bool) -> list[tuple[str, str, str]]:
    """Call, fault and which call of it: what strace is told."""
    calls = ("openat", "write", "fsync", "fchmod", "close", "rename", "link", "unlink")
    errnos = ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES", "EINTR") if full else ("ENOSPC",)
    chosen = [(call, f"error={errno}", "1") for call in calls for errno in errnos]
    chosen += [("write", "signal=KILL", "2"), ("fsync", "signal=KILL", "1"), ("openat", "signal=INT", "1")]
    chosen += [("write", "error=EINTR", "1")]
    if full:
        chosen += [("write", f"error={errno}", when) for errno in errnos for when in ("2", "3", "1+")]
        chosen.remove(("write", "error=EINTR", "1+"))  # it would be tried again for ever
        chosen += [(call, "error=EIO", "2") for call in calls]
        chosen += [(call, f"signal={name}", "1") for call in calls for name in ("KILL", "INT")]
    return list(dict.fromkeys(chosen))


def real_calls(points: Points, folder: Path) -> None:
    """`strace -e inject=`: real calls fail with real errnos, or the process is killed or interrupted."""
    if shutil.which("strace") is None or not sys.platform.startswith("linux"):
        points.notes.append("no strace here: real calls were not made to fail")
        return
    for call, fault, when in injections(points.full):
        said = _traced(folder, f"{call}:{fault}:when={when}", call)
        if isinstance(said, str) and said.startswith("it hung"):
            points.find(said)
            continue
        if isinstance(said, str):
            points.notes.append(f"real calls were not made to fail: {said}")
            return
        for name, code, wrong in said:
            points.add(f"truth: {call}", fault.partition("=")[2])
            if wrong:
                points.find(f"strace: {name}: {call} {fault} {when}: {wrong} (exit code {code})")
            if call == "write" and fault == "error=ENOSPC" and when == "1" and code != 1:
                points.find(f"strace: {name}: the fault did not strike (exit code {code})")
            if "EINTR" in fault and call == "write" and code != 0:
                points.find(f"strace: {name}: an interrupted write was not repeated (exit code {code})")


def _traced(folder: Path, inject: str, call: str) -> list[tuple[str, int, str]] | str:
    """What the driver tells, or why it could not be traced."""
    shutil.rmtree(folder, ignore_errors=True)
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), call],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    runner = driver.stdout.readline().strip()
    strace = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={inject}",
        "-p",
        runner,
    ]
    with subprocess.Popen(strace, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        attached = tracer.stderr.readline()
        if "attached" not in attached:
            driver.kill()
        try:
            line, _ = driver.communicate("go\n", timeout=60)
        except subprocess.TimeoutExpired:
            driver.kill()
            tracer.kill()
            return f"it hung: {inject}"
    if "attached" not in attached:
        return attached.strip() or "strace did not attach"
    return [tuple(told) for told in json.loads(line)] if line else "the traced process said nothing"


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>
ssize_t write(int fd, const void *data, size_t n) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return real(fd, data, n > 1 ? n / 2 : n);
}
ssize_t pread64(int fd, void *data, size_t n, off_t at) {
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
    return real(fd, data, n > 1 ? n / 2 : n, at);
}
ssize_t preadv64(int fd, const struct iovec *to, int n, off_t at) {
    struct iovec one = {to[0].iov_base, to[0].iov_len > 1 ? to[0].iov_len / 2 : to[0].iov_len};
    ssize_t (*real)(int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, "preadv64");
    return real(fd, &one, 1, at);
}
"""
HALVED = """
import sys
from pathlib import Path
from tests.faults.reading import READERS
from tests.faults.saving import SCENARIOS, prepared
folder = Path(sys.argv[1])
for scenario in SCENARIOS:
    target = prepared(folder, scenario)
    scenario.save(target)
    if target.read_bytes() != scenario.new:
        sys.exit(f"{scenario.name}: other bytes were written")
from tests.faults.reading import WANTED
for name, (read, content) in READERS.items():
    (folder / "m.bpk").write_bytes(content)
    got = read(folder / "m.bpk")
    if name in ("pack", "pieces", "record") and got != WANTED:
        sys.exit(f"{name}: other bytes were read")
"""


def shim(points: Points, folder: Path) -> None:
    """A preloaded library halves every write and every positional read of the C library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        points.notes.append("no C compiler here: no library halved the writes and reads")
        return
    with tempfile.TemporaryDirectory() as build:
        library = Path(build) / "half.so"
        (Path(build) / "half.c").write_text(SHIM, "utf-8")
        made = subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", str(library), str(Path(build) / "half.c"), "-ldl"],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            points.notes.append(f"the shim does not compile here: {made.stderr:.100}")
            return
        done = subprocess.run(
            ["env", f"LD_PRELOAD={library}", sys.executable, "-c", HALVED, str(folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    points.add("truth: write, pread", "half", 11)
    if done.returncode:
        points.find(f"with every write and read halved: {done.stderr[-300:]}")
