from __future__ import annotations

from pathlib import Path

from refimpl.conformance.source import clauses_named, places_of

SOURCE = '''"""A module.

Clauses: PLC-1.
"""

class Thing:
    """A thing.

    Clauses: PLC-2, BPK-30..32,
        DEV-1.

    More.
    """

    def act(self):
        """Act.

        Clauses: PLC-2.
        """

    def rest(self):
        pass
'''


def test_a_docstring_names_its_clauses_over_lines_and_in_ranges() -> None:
    named = clauses_named("A.\n\n    Clauses: PLC-2, BPK-30..32,\n    DEV-1 and MOD-1 to MOD-3.\n\n    GRP-1")

    assert named == {"PLC-2", "BPK-30", "BPK-31", "BPK-32", "DEV-1", "MOD-1", "MOD-2", "MOD-3"}


def test_the_places_of_a_clause_are_definitions_with_their_lines(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "thing.py").write_text(SOURCE)
    (package / "other.py").write_text("x = 1\n")

    assert [str(place) for place in places_of("PLC-2", package)] == [
        "package/thing.py:6 Thing",
        "package/thing.py:15 Thing.act",
    ]
    assert [place.name for place in places_of("PLC-1", package)] == ["(module)"]
    assert places_of("PLC-9", package) == []


def test_the_package_itself_says_where_a_clause_is() -> None:
    assert any(place.name == "LayerPlacement.even" for place in places_of("PLC-3"))
