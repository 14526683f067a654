"""Which file a name means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refimpl.burnpack.api import open_burnpack, write_burnpack
from refimpl.burnpack.paths import existing, file_name, has_extension, path_text, shown_path, with_extension
from refimpl.errors import ArgumentTypeError, BurnpackError, InvalidArgumentError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType

ENTRIES = [("w", TensorData(DType.U8, [1], b"x"), 1)]


@pytest.mark.clause("BPK-29")
@pytest.mark.report("BL-48")
@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("model", "model.bpk"),
        ("model.v1", "model.v1"),
        ("model-0.1", "model-0.1"),
        (".hidden", ".hidden.bpk"),
        ("..foo", "..foo"),
        ("...", "..."),
        ("model.", "model."),
        ("model.BPK", "model.BPK"),
        ("modèle", "modèle.bpk"),
        ("a b", "a b.bpk"),
        ("a.b/model", "a.b/model.bpk"),
        ("folder", "folder.bpk"),
        ("folder/.", "folder.bpk"),
        ("folder//", "folder.bpk"),
        ("-", "-.bpk"),
    ],
)
def test_saving_appends_the_extension_where_there_is_none_and_loading_finds_it(
    asked: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.b").mkdir()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    before = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")}
    write_burnpack(asked, ENTRIES)

    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")} == before | {written}
    if not asked.startswith("folder"):
        assert "w" in open_burnpack(asked)


@pytest.mark.clause("BPK-29")
@pytest.mark.parametrize("path", ["", ".", "..", "/", "a/..", "./."])
def test_a_path_that_names_no_file_cannot_be_written_to(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BurnpackError) as caught:
        write_burnpack(path, ENTRIES)

    assert str(caught.value) == f"I/O error: cannot write to '{path}': not a file path"
    assert not list(tmp_path.iterdir())


@pytest.mark.report("BL-48")
def test_the_exact_mode_never_appends(tmp_path: Path) -> None:
    write_burnpack(tmp_path / "model", ENTRIES, exact=True)

    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert "w" in open_burnpack(tmp_path / "model", exact=True)
    with pytest.raises(BurnpackError, match="cannot open"):
        open_burnpack(tmp_path / "other", exact=True)


@pytest.mark.clause("BPK-28")
def test_reading_takes_the_bare_name_where_it_exists(tmp_path: Path) -> None:
    write_burnpack(tmp_path / "model", ENTRIES)
    (tmp_path / "model").write_bytes(b"unrelated, and not a burnpack file")

    with pytest.raises(BurnpackError, match="Invalid magic number"):
        open_burnpack(tmp_path / "model")
    assert existing(str(tmp_path / "model")) == str(tmp_path / "model")


@pytest.mark.clause("BPK-28")
def test_a_name_with_nul_does_not_exist_and_cannot_be_opened() -> None:
    with pytest.raises(BurnpackError) as caught:
        open_burnpack("a\0b")

    assert str(caught.value) == (
        "I/O error: cannot open 'a\\u{0}b.bpk': file name contained an unexpected NUL byte"
    )
    with pytest.raises(BurnpackError, match="cannot create"):
        write_burnpack("a\0b", ENTRIES)


@pytest.mark.clause("BPK-29")
def test_the_last_component_is_found_as_rust_finds_it() -> None:
    assert file_name("a/b.bpk/") == ("b.bpk", 2, 7)
    assert file_name("a/./.") == ("a", 0, 1)
    assert file_name("/") == (None, 0, 0)
    assert not has_extension("a.b/c")
    assert with_extension("a.b/c/") == "a.b/c.bpk"


def test_paths_are_shown_without_control_characters() -> None:
    assert shown_path("a\x1b[2Jé") == "a\\u{1b}[2Jé"
    assert shown_path(os.fsdecode(b"a\xff")) == "a\ufffd"


@pytest.mark.parametrize("path", [b"model.bpk", 3, None, ["model"]])
def test_a_path_is_text_or_a_path_object(path: object) -> None:
    with pytest.raises(ArgumentTypeError, match="a path is text or a path object"):
        path_text(path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        write_burnpack(path, ENTRIES)  # type: ignore[arg-type]


def test_a_path_that_no_file_system_can_write_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be written"):
        path_text("a\ud800.bpk")
