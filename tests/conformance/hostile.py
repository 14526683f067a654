"""Subjects that are wrong, each in a manner of its own: `python hostile.py MANNER FOLDER`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANNER, FOLDER = sys.argv[1], Path(sys.argv[2])
CAPABILITIES = {"under_claimer": [], "over_claimer": ["debug", "lora"]}.get(MANNER, ["debug"])
CONTENT = b"\x01" * 70_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()

scratch = Path()
asked = 0


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def say(number: int, value: object) -> None:
    write(json.dumps({"id": number, "ok": value}) + "\n")


def good(number: int, steps: list[dict[str, Any]]) -> None:
    say(number, {"steps": [{"ok": step.get("value")} for step in steps]})


def liar(number: int, steps: list[dict[str, Any]]) -> None:
    say(number, {"steps": [{"ok": "a lie"} for _ in steps]})


def over_claimer(number: int, steps: list[dict[str, Any]]) -> None:
    lacking = {"unsupported": {"capability": "lora", "text": "not today"}}
    say(number, {"steps": [lacking for _ in steps]})


def crasher(number: int, steps: list[dict[str, Any]]) -> None:
    os.write(2, b"\x1b[31mI give up\x1b]0;title\x07\n" if MANNER == "escape" else b"I give up\n")
    os._exit(3)


def hanger(number: int, steps: list[dict[str, Any]]) -> None:
    time.sleep(60)


def noisy(number: int, steps: list[dict[str, Any]]) -> None:
    os.write(2, b"n" * 300_000)
    good(number, steps)


def partial_writer(number: int, steps: list[dict[str, Any]]) -> None:
    write(f'{{"id": {number}, "ok": {{"ste')
    os._exit(0)


def half_line(number: int, steps: list[dict[str, Any]]) -> None:
    write(f'{{"id": {number}, "ok": {{"ste')
    time.sleep(60)


def wrong_id(number: int, steps: list[dict[str, Any]]) -> None:
    good(number + 1, steps)


def bleeder(number: int, steps: list[dict[str, Any]]) -> None:
    say(number, {"steps": [{"ok": asked} for _ in steps]})


def flaky(number: int, steps: list[dict[str, Any]]) -> None:
    counter = FOLDER / "counter"
    count = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(count + 1))
    say(number, {"steps": [{"ok": 1 + count % 2} for _ in steps]})


def leaver(number: int, steps: list[dict[str, Any]]) -> None:
    """Leave a grandchild in a session of its own that writes to the same output for ever; then end well."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            with contextlib.suppress(OSError):
                os.write(1, b"x")
            time.sleep(0.01)
    os.wait()
    os._exit(0)


def flood(number: int, steps: list[dict[str, Any]]) -> None:
    while True:
        os.write(1, b"x" * 65536)


def closer(number: int, steps: list[dict[str, Any]]) -> None:
    os.close(1)
    time.sleep(60)


def ahead(number: int, steps: list[dict[str, Any]]) -> None:
    good(number, steps)
    good(number + 1, steps)


def deep(number: int, steps: list[dict[str, Any]]) -> None:
    brackets = "[" * 1_000_000 + "]" * 1_000_000
    write(f'{{"id": {number}, "ok": {{"steps": [{{"ok": {brackets}}}]}}}}\n')


def number_of(text: str) -> Callable[[int, list[dict[str, Any]]], None]:
    """An answer that holds what is no JSON."""
    return lambda number, steps: write(f'{{"id": {number}, "ok": {{"steps": [{{"ok": {text}}}]}}}}\n')


def blob(name: str, nbytes: int = len(CONTENT)) -> Callable[[int, list[dict[str, Any]]], None]:
    """An answer that names a blob."""

    def answer(number: int, steps: list[dict[str, Any]]) -> None:
        tensor = {"dtype": "u8", "shape": [nbytes], "nbytes": nbytes, "blob": name}
        say(number, {"steps": [{"ok": tensor} for _ in steps]})

    return answer


def blob_made(make: Callable[[Path], object]) -> Callable[[int, list[dict[str, Any]]], None]:
    """An answer that names a blob, under whose name `make` has put something."""

    def answer(number: int, steps: list[dict[str, Any]]) -> None:
        make(scratch / DIGEST)
        blob(DIGEST)(number, steps)

    return answer


def link_out(path: Path) -> None:
    (FOLDER / "content").write_bytes(CONTENT)
    path.symlink_to(FOLDER / "content")


def hard_link(path: Path) -> None:
    (FOLDER / "content").write_bytes(CONTENT)
    path.hardlink_to(FOLDER / "content")


def growing(path: Path) -> None:
    if os.fork() == 0:
        with path.open("ab", buffering=0) as file:
            file.write(CONTENT)
            while True:  # so slowly that the limit of the folder is not what is met first
                file.write(CONTENT[:100])
                time.sleep(0.001)
    while not path.exists() or path.stat().st_size <= len(CONTENT):
        time.sleep(0.001)


def stopper(number: int, steps: list[dict[str, Any]]) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def bomb(number: int, steps: list[dict[str, Any]]) -> None:
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
    time.sleep(60)


def filler(number: int, steps: list[dict[str, Any]]) -> None:
    while True:
        with (scratch / "filling").open("ab") as file:
            file.truncate(file.tell() + 65536)
        time.sleep(0.001)


MANNERS: dict[str, Callable[[int, list[dict[str, Any]]], None]] = {
    "good": good,
    "liar": liar,
    "under_claimer": good,
    "over_claimer": over_claimer,
    "crasher": crasher,
    "hanger": hanger,
    "slow_starter": good,
    "noisy": noisy,
    "partial_writer": partial_writer,
    "half_line": half_line,
    "wrong_id": wrong_id,
    "bleeder": bleeder,
    "flaky": flaky,
    "leaver": leaver,
    "flood": flood,
    "deaf": good,
    "closer": closer,
    "ahead": ahead,
    "deep": deep,
    "nan": number_of("NaN"),
    "huge": number_of("1e999"),
    "surrogate": number_of('"\\ud800"'),
    "blob": blob_made(lambda path: path.write_bytes(CONTENT)),
    "blob_dots": blob("../../../../etc/hostname", 10),
    "blob_nowhere": blob(DIGEST),
    "blob_link": blob_made(link_out),
    "blob_hard_link": blob_made(hard_link),
    "blob_fifo": blob_made(os.mkfifo),
    "blob_folder": blob_made(os.mkdir),
    "blob_hash": blob_made(lambda path: path.write_bytes(b"\x02" * len(CONTENT))),
    "blob_grows": blob_made(growing),
    "stopper": stopper,
    "bomb": bomb,
    "filler": filler,
    "escape": crasher,
}


def main() -> None:
    global scratch, asked
    if MANNER == "slow_starter":
        time.sleep(2.5)
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "hello":
            scratch = Path(request["scratch"])
            caps = {"capabilities": CAPABILITIES}
            say(request["id"], {"protocol": 1, "impl": {"name": MANNER, "version": "1.0.0"}, "caps": caps})
            if MANNER == "deaf":
                time.sleep(60)
        elif request["op"] == "case":
            asked += 1
            MANNERS[MANNER](request["id"], request["steps"])
        else:
            say(request["id"], {})
            if request["op"] == "bye":
                return


main()
