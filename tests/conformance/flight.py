"""A subject that takes eight requests at once and does as each step tells it: `python flight.py FOLDER`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import sys
import time
from pathlib import Path

LOG = Path(sys.argv[1], "log")
scratch = Path()


def log(word: object) -> None:
    # In a sandbox nothing outside of the scratch folder can be written.
    with contextlib.suppress(OSError), LOG.open("a") as file:
        file.write(f"{word}\n")


def outcome(step: dict) -> dict:
    if step["do"] == "crash":
        os._exit(3)
    if step["do"] == "hang":
        time.sleep(60)
    if step["do"] == "blob":
        return {"ok": hashlib.sha256((scratch / step["blob"]).read_bytes()).hexdigest()}
    if step["do"] == "processes":
        return {"ok": sum(name.isdecimal() for name in os.listdir("/proc"))}
    return {"ok": step["value"]}


def answer(line: bytes, split: int) -> None:
    """Write an answer, in two parts when `split` says where."""
    os.write(1, line[:split])
    if split:
        time.sleep(0.0005)
    os.write(1, line[split:])


def main() -> None:
    global scratch
    unread = b""
    while True:
        if b"\n" not in unread or select.select([0], [], [], 0)[0]:
            unread += os.read(0, 1 << 20)
        *lines, unread = unread.split(b"\n")
        if len(lines) > 1:
            log(f"at once {len(lines)}")
        for line in lines:
            request = json.loads(line)
            content: dict = {}
            if request["op"] == "hello":
                scratch = Path(request["scratch"])
                caps = {"capabilities": ["echo", "blobs"]}
                limits = {"in_flight": 8, "max_frame": 500_000}
                content = {"protocol": 1, "impl": {"name": "flight"}, "caps": caps, "limits": limits}
            elif request["op"] == "case":
                log(request["case"])
                content = {"steps": [outcome(step) for step in request["steps"]]}
            split = (
                int(request["case"].rpartition("split")[2] or 0) if "split" in request.get("case", "") else 0
            )
            answer(json.dumps({"id": request["id"], "ok": content}).encode() + b"\n", split)
            if request["op"] == "bye":
                return


main()
