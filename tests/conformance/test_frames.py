"""Lines and files of strangers: each gets an answer or an error of ours, however it is broken or cut."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.conformance.case import cases_folder, read_case
from refimpl.conformance.protocol import decode, read_greeting, read_trace
from refimpl.conformance.subject import Subject, open_subject
from refimpl.errors import CaseError, SubjectError

GREETING = {"protocol": 1, "impl": {"name": "x"}, "caps": {"fixtures": ["zoo/1"], "capabilities": ["a"]}}
TRACE = {
    "steps": [{"ok": [1, {"dtype": "f32", "shape": [1], "hex": "00000000"}]}, {"panic": {"kind": "Other"}}]
}
LINES = [json.dumps({"id": 1, "ok": content}).encode() for content in (GREETING, TRACE, {})]
LINES.append(b'{"id":1,"error":{"kind":"Protocol","text":"no"}}')

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


def broken(lines: list[bytes]) -> st.SearchStrategy[bytes]:
    """A line with some of its bytes changed, put in, or left out."""

    def edit(line: bytes, changes: list[tuple[int, bytes, int]]) -> bytes:
        for at, piece, cut in changes:
            place = at % (len(line) + 1)
            line = line[:place] + piece + line[place + cut :]
        return line

    piece = st.one_of(
        st.binary(max_size=3), st.sampled_from([b"{", b"[", b'"', b"\\ud800", b"1e999", b"null", b"-0"])
    )
    change = st.tuples(st.integers(0, 400), piece, st.integers(0, 4))
    return st.builds(edit, st.sampled_from(lines), st.lists(change, max_size=4))


@given(st.one_of(st.binary(max_size=60), broken(LINES)))
def test_any_line_is_an_answer_or_an_error_of_the_subject(line: bytes) -> None:
    for read in (read_greeting, lambda content: read_trace(content, 2)):
        try:
            read(decode(line, 1))
        except SubjectError:
            continue


@pytest.fixture(scope="module")
def cutter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    path = tmp_path_factory.mktemp("cutter") / "cutter.py"
    path.write_text(CUTTER)
    with open_subject(f"cmd:{sys.executable} {path}") as subject:
        yield subject


def test_where_a_line_is_cut_on_its_way_does_not_matter(cutter: Subject) -> None:
    for at in range(40):
        (outcome,) = cutter.case("cut", [{"do": "cut", "at": at}], 1)

        assert outcome.ok == at


WHOLE = [(cases_folder() / name).read_bytes() for name in ("plc/even.grid.json", "mod/containers.json")]


@given(content=broken(WHOLE))
def test_any_case_file_is_a_case_or_names_its_line_at_once(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    root: Path = tmp_path_factory.getbasetemp() / "frames"
    path = root / "plc" / "even.grid.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    started, said = time.perf_counter(), "even.grid.json"
    try:
        read_case(path, root)
    except CaseError as error:
        said = str(error)
    assert "even.grid.json" in said
    assert time.perf_counter() - started < 1.0
