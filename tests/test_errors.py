from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from refimpl import errors
from refimpl.errors import BurnpackError, RecordError, RefimplError


def kinds(base: type[RefimplError] = RefimplError) -> Iterator[type[RefimplError]]:
    yield base
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield from kinds(kind)


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_an_error_comes_back_whole_from_another_process(kind: type[RefimplError]) -> None:
    more = {"kind": "IoError"} if issubclass(kind, BurnpackError) else {}
    if issubclass(kind, (BurnpackError, RecordError)):
        more |= {"path": "a.bpk", "tensor": "w"}
    error = kind("what is wrong", clause="BPK-1", hint="a way out", **more)

    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_an_error_about_a_file_names_it_once() -> None:
    assert BurnpackError("Invalid version", kind="InvalidVersion", path="a.bpk").__notes__ == [
        "file: 'a.bpk'"
    ]
    named = BurnpackError("cannot open 'a.bpk'", kind="IoError", path="a.bpk")
    assert not hasattr(named, "__notes__")
    found = BurnpackError("Invalid version", kind="InvalidVersion")
    found.found_in("b.bpk")
    found.found_in("c.bpk")
    assert (found.path, found.__notes__) == ("b.bpk", ["file: 'b.bpk'"])
