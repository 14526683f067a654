"""The HTML page in a real browser; skipped where there is no Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.conformance.clauses import load_clauses
from refimpl.conformance.events import Exchanged, Run
from refimpl.conformance.reports.page import html
from tests.conformance.browser import PROGRAM, Page, browser
from tests.conformance.reports.runs import hostile_run, run_of

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium here: `apt-get install chromium` for these tests"
)

SHOWN = "[...document.querySelectorAll('#matrix tbody tr:not([hidden]) b')].map(b => b.textContent)"
DETAIL = "document.getElementById('detail')"
FOCUS = "document.activeElement.getAttribute('aria-label')"


def written(folder: Path, *runs: Run) -> Path:
    path = folder / "page.html"
    path.write_text(html(runs, load_clauses(), {"PLC-15": "nobody can ask it"}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(tab: Page, tmp_path: Path) -> Page:
    tab.requests.clear()
    tab.errors.clear()
    tab.open(written(tmp_path, run_of("one"), run_of("two", plc="fail")))
    return tab


def set_value(page: Page, field: str, value: str) -> None:
    page.ask(
        f"{{ const field = document.getElementById('{field}'); field.value = {value!r};"
        " field.dispatchEvent(new Event('input', {bubbles: true})); }"
    )


def test_every_clause_that_was_asked_is_a_row_and_every_subject_a_column(page: Page) -> None:
    assert page.ask(SHOWN) == ["DEV-1", "PLC-3", "PLC-15"]
    assert page.ask("[...document.querySelectorAll('thead th')].map(th => th.textContent)") == [
        "clause",
        "one 1",
        "two 1",
    ]
    words = "[...document.querySelectorAll('#matrix tbody button')].map(b => b.textContent)"
    assert page.ask(words) == ["pass 1", "pass 1", "pass 1", "fail 1", "not applicable", "not applicable"]


@pytest.mark.parametrize(
    ("field", "value", "rows"),
    [
        ("search", "plc.one", ["PLC-3"]),
        ("search", "EVEN gives", ["PLC-3"]),
        ("chapter", "DEV", ["DEV-1"]),
        ("verdict", "fail", ["PLC-3"]),
        ("verdict", "!", ["PLC-3"]),
        ("search", "nothing is called so", []),
    ],
)
def test_filters_leave_the_rows_that_match(page: Page, field: str, value: str, rows: list[str]) -> None:
    set_value(page, field, value)

    assert page.ask(SHOWN) == rows
    assert page.ask("document.getElementById('count').textContent") == f"{len(rows)} of 3 clauses"


def test_a_cell_opens_the_sentence_the_difference_and_the_command(page: Page) -> None:
    page.ask("document.querySelector('[aria-label^=\"PLC-3, two\"]').click()")
    shown = page.ask(f"{DETAIL}.textContent")

    assert "PLC-3: `even` gives the first devices one layer more" in shown
    assert "use the first k = clamp(n, 1, len(devices)) devices; each gets n//k, the first n%k" in shown
    assert "$.ok" in shown
    assert "step 3: $.ok[7]" in shown
    assert "refimpl conform --subject two --case plc.one" in shown


def test_files_have_a_table_a_format_that_counts_those_that_were_asked(tab: Page, tmp_path: Path) -> None:
    run = run_of("one")
    run.exchanges = [
        Exchanged("a", "b", "x", "pass"),
        Exchanged("a", "b", "y", "fail", "$.ok: another"),
        Exchanged("a", "b", "z", "unsupported"),
        Exchanged("b", "b", "x", "unsupported"),
        Exchanged("b", "b", "x", "pass", format="safetensors"),
    ]
    tab.open(written(tmp_path, run))

    titles = "[...document.querySelectorAll('#exchange h2')].map((one) => one.textContent.split(':')[0])"
    assert tab.ask(titles) == ["Files of burnpack", "Files of safetensors"]
    cells = "[...document.querySelectorAll('#exchange td')].map((one) => one.textContent)"
    assert tab.ask(cells) == ["-", "1/2", "-", "-", "1/1"]
    hints = "[...document.querySelectorAll('#exchange td span')].map((one) => one.title)"
    assert tab.ask(hints) == ["", "y: $.ok: another", "", "", ""]


def test_the_keyboard_is_enough(page: Page) -> None:
    page.press("n")
    assert page.ask(FOCUS) == "PLC-3, two 1: fail 1"
    assert page.ask(f"{DETAIL}.hidden") is False
    page.press("Escape")
    assert page.ask(f"{DETAIL}.hidden") is True
    page.press("ArrowUp", "ArrowLeft")
    assert page.ask(FOCUS) == "DEV-1, one 1: pass 1"
    page.press("Enter")
    assert "DEV-1" in page.ask(f"{DETAIL}.textContent")
    page.press("/")
    assert page.ask("document.activeElement.id") == "search"


def test_the_page_asks_the_network_for_nothing(page: Page) -> None:
    page.press("n")

    assert [address for address in page.requests if not address.startswith(("file:", "data:"))] == []
    assert page.errors == []


def test_names_of_strangers_are_shown_and_never_run(tab: Page, tmp_path: Path) -> None:
    tab.requests.clear()
    tab.errors.clear()
    tab.open(written(tmp_path, hostile_run()))
    tab.press("n")

    assert tab.ask("window.broken === undefined")
    assert tab.ask("document.querySelectorAll('img, script[src], #detail script').length") == 0
    assert "<script>broken = 1</script>" in tab.ask(f"{DETAIL}.textContent")
    assert [address for address in tab.requests if not address.startswith(("file:", "data:"))] == []
    assert tab.errors == []
