"""A subject may write its line in pieces: where it is cut on its way does not matter."""

from __future__ import annotations

import sys
from pathlib import Path

from refimpl.conformance.subject import open_subject

#: A subject that writes the answer to each case in two pieces, cut where the case says.
CUTTER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    hello = {"protocol": 1, "impl": {"name": "cutter"}, "caps": {}}
    steps = [{"ok": step["at"]} for step in request.get("steps", [])]
    result = hello if request["op"] == "hello" else {"steps": steps}
    answer = json.dumps({"id": request["id"], "ok": result}) + "\\n"
    at = steps[0]["ok"] if steps else 0
    for piece in (answer[:at], answer[at:]):
        sys.stdout.write(piece)
        sys.stdout.flush()
    if request["op"] == "bye":
        break
"""


def test_a_line_in_two_pieces_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "cutter.py"
    path.write_text(CUTTER)
    with open_subject(f"cmd:{sys.executable} {path}") as subject:
        for at in range(40):
            (outcome,) = subject.case("cut", [{"do": "cut", "at": at}], 1)

            assert outcome.ok == at
