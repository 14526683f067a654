"""Whatever a line, a case file or an expectations file holds: a value, or an error of ours."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.conformance.case import Case
from refimpl.conformance.case_file import read_case
from refimpl.conformance.expectations import read_entries
from refimpl.conformance.protocol import Greeting, decode, read_greeting, read_trace
from refimpl.errors import CaseError, SubjectError

from .folder import case_of

GREETING = (
    b'{"id":1,"ok":{"protocol":1,"impl":{"name":"a"},"caps":{"capabilities":["x"]},"limits":{"in_flight":2}}}'
)
TRACE = b'{"id":1,"ok":{"steps":[{"ok":[1,2.5,"\\u00e9",null]},{"error":{"kind":"Io","text":"t"}}]}}'
KNOWN = b'[[xfail]]\ncase = "a"\ndifference = "d"\nreason = "r"\n[[skip]]\ncase = "b"\nreason = "r"\n'
NASTY = (
    b"NaN", b"1e999", b"-0", b"18446744073709551616", b'"\\ud800"', b"\xff", b"\x00", b"[" * 2000, b"{}",
    b"null", b'"id"',
)  # fmt: skip


@st.composite
def changed(draw: st.DrawFn, *seeds: bytes) -> bytes:
    """A seed with some of its bytes cut out, flipped, doubled or replaced by what readers stumble over."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(content)))
        to = min(len(content), at + draw(st.integers(0, 12)))
        content[at:to] = draw(
            st.one_of(st.binary(max_size=6), st.sampled_from(NASTY), st.just(bytes(content[at:to]) * 2))
        )
    return bytes(content)


@settings(max_examples=500, deadline=None)
@given(changed(GREETING, TRACE))
def test_a_line_is_an_answer_or_a_subject_error(line: bytes) -> None:
    with contextlib.suppress(SubjectError):
        content = decode(line, 1)
        with contextlib.suppress(SubjectError):
            assert isinstance(read_greeting(content), Greeting)
        with contextlib.suppress(SubjectError):
            assert len(read_trace(content, 2)) == 2


def test_a_line_has_one_answer_beside_its_id() -> None:
    with pytest.raises(SubjectError, match="neither `ok` nor `error`"):
        decode(b'{"id":1}', 1)
    with pytest.raises(SubjectError, match="both `ok` and `error`"):
        decode(b'{"id":1,"ok":{},"error":{}}', 1)


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "1e999", '"\\ud800"', "18446744073709551616e400", "[" * 100_000 + "]" * 100_000],
)
def test_what_is_no_json_is_no_answer(value: str) -> None:
    line = f'{{"id":1,"ok":{{"steps":[{{"ok":{value}}}]}}}}'.encode()

    with pytest.raises(SubjectError):
        read_trace(decode(line, 1), 1)


def test_a_subject_gives_one_outcome_and_no_choice() -> None:
    with pytest.raises(SubjectError, match="one_of"):
        read_trace(b'{"steps":[{"one_of":[{"ok":1}]}]}', 1)


def read_or_refused(read: Callable[[], object], path: Path) -> object:
    """What was read, or the error, which names the file."""
    try:
        return read()
    except CaseError as error:
        return error if str(path) in str(error) else None


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=changed(
        json.dumps(case_of(), indent=1).encode(), json.dumps(case_of(axes={"n": [1, 2]})).encode()
    )
)
def test_a_case_file_is_a_case_or_a_case_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plc" / "one.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert isinstance(read_or_refused(lambda: read_case(path, tmp_path), path), Case | CaseError)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=changed(KNOWN))
def test_an_expectations_file_is_one_or_a_case_error_that_names_the_file(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "known.toml"
    path.write_bytes(content)
    assert isinstance(read_or_refused(lambda: read_entries(path), path), list | CaseError)


@pytest.mark.parametrize("form", ["error", "panic"])
def test_the_kinds_of_an_answer_are_closed(form: str) -> None:
    with pytest.raises(SubjectError, match=rf"enum value 'Sorry' - at `\$\.steps\[0\]\.{form}\.kind`"):
        read_trace(f'{{"steps":[{{"{form}":{{"kind":"Sorry"}}}}]}}'.encode(), 1)


@pytest.mark.parametrize(
    "devices", ['{"count":-1}', '{"count":0}', '{"executing":[1]}', '{"executing":2}', "[]"]
)
def test_a_greeting_counts_its_devices(devices: str) -> None:
    greeting = f'{{"protocol":1,"impl":{{"name":"x"}},"caps":{{"devices":{devices}}}}}'

    with pytest.raises(SubjectError, match=r"at `\$\.caps\.devices"):
        read_greeting(greeting.encode())
