from __future__ import annotations

import json

import pytest

from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.schema import main, schemas


@pytest.mark.parametrize("name", schemas())
def test_the_schemas_in_the_specification_are_those_of_the_code(name: str) -> None:
    text = (spec_folder() / "schema" / name).read_text(encoding="utf-8")

    assert json.loads(text) == json.loads(json.dumps(schemas()[name])), "python -m refimpl.conformance.schema"


def test_the_schemas_are_written_as_they_stand() -> None:
    before = {name: (spec_folder() / "schema" / name).read_bytes() for name in schemas()}
    main()

    assert {name: (spec_folder() / "schema" / name).read_bytes() for name in schemas()} == before
