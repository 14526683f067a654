"""The reference pages say what the code says."""

from __future__ import annotations

import pytest

from tests.docs.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_docstrings_give(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")

    assert written == PAGES[name](), "run `python -m tests.docs.reference`"
