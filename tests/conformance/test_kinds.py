from __future__ import annotations

import re
from typing import get_args

import pytest

from refimpl.conformance.clauses import spec_folder
from refimpl.conformance.kinds import ErrorKind, PanicKind


@pytest.mark.parametrize(("title", "kinds"), [("panic kind", PanicKind), ("error kind", ErrorKind)])
def test_the_kinds_are_those_of_the_protocol(title: str, kinds: object) -> None:
    text = (spec_folder() / "protocol.md").read_text(encoding="utf-8")
    table = text.partition(f"| {title} | when |\n")[2].partition("\n\n")[0]
    first = [row.split("|")[1] for row in table.splitlines()[1:]]

    assert sorted(re.findall(r"`(\w+)`", " ".join(first))) == sorted(get_args(kinds))
