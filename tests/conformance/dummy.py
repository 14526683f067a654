"""A subject that does as it is told: `python dummy.py MANNER`; an `echo` is answered with its value."""

import json
import os
import signal
import subprocess
import sys
import time

MANNER = sys.argv[1]
CAPS = {"fixtures": [], "devices": {}, "dtypes": [], "capabilities": ["echo"]}


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def outcome(step: dict) -> dict:
    if "unsupported" in step:
        return {"unsupported": {"capability": "echo", "text": "not that"}}
    if "panic" in step:
        return {"panic": {"kind": "Other", "text": step["panic"]}}
    value = step.get("value")
    return {"ok": "a lie"} if MANNER == "liar" else {"ok": value}


def case(request: dict) -> None:
    number = request["id"]
    if MANNER == "crasher":
        sys.stderr.write("I give up\n")
        sys.stderr.flush()
        os._exit(3)
    if MANNER == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if MANNER in ("hanger", "parent"):
        if MANNER == "parent":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            sys.stderr.write(f"child {child.pid}\n")
            sys.stderr.flush()
        time.sleep(60)
    if MANNER == "closer":
        sys.stdout.flush()
        os.close(1)
        time.sleep(60)
    if MANNER == "garbage":
        sys.stdout.write("\x1b[31mnot JSON{\n")
        sys.stdout.flush()
        return
    if MANNER == "half":
        sys.stdout.write('{"id":')
        sys.stdout.flush()
        os._exit(0)
    if MANNER == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if MANNER == "wrong_id":
        number += 1
    if MANNER == "refuser":
        say({"id": number, "error": {"kind": "Protocol", "text": "no"}})
        return
    steps = [outcome(step) for step in request["steps"]]
    if MANNER == "short":
        steps = steps[:-1]
    say({"id": number, "ok": {"steps": steps}})
    if MANNER == "ahead":
        say({"id": number + 1, "ok": {"steps": steps}})
    if MANNER == "noisy":
        sys.stderr.write("n" * 200_000)
        sys.stderr.flush()


def main() -> None:
    if MANNER == "silent":
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        op = request["op"]
        if op == "hello":
            protocol = 7 if MANNER == "stranger" else 1
            impl = "nobody" if MANNER == "rude" else {"name": "dummy", "version": "1", "backend": "none"}
            say({"id": request["id"], "ok": {"protocol": protocol, "impl": impl, "caps": CAPS}})
            if MANNER == "deaf":
                time.sleep(60)
        elif op == "case":
            case(request)
        else:
            say({"id": request["id"], "ok": {}})
            if op == "bye":
                return


main()
