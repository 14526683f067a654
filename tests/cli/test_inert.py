"""Output is inert: no name, text or report of a file moves a cursor, ends a tag or starts a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from refimpl.burnpack.api import open_burnpack, write_burnpack
from refimpl.cli.main import main
from refimpl.errors import RefimplError
from refimpl.record.record import ModuleRecord
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType
from tests.burnpack.containers import descriptor, pack

#: Each would do something to a terminal, a page, a spreadsheet, or a program that reads lines.
NAMES = (
    "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "</script><script>alert(1)</script>", "\u202egnp.exe", "a\nb\r\nc",
    "nul\0nul", "=1+1", "-rf", '"onload="x', "e\u0301", "[red]x[/red]", "\u2028x", "\x7f", "\U000e0001",
    "\ufeff", "\u200b", "..", "a" * 3000,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    entries = [(name, TensorData(DType.F32, [2], bytes(8)), 7) for name in NAMES]
    write_burnpack(tmp_path / "m", entries, {name: name for name in NAMES}, dict.fromkeys(NAMES, 1))
    return tmp_path / "m.bpk"


def inert(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--tree"], ["verify"]])
def test_text_is_inert_and_one_line_a_thing(
    words: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*words, str(path)])
    said = capsys.readouterr()

    assert inert(said.out + said.err)
    assert "\\u{1b}[2J" in said.out
    if words == ["inspect"]:
        assert len(said.out.splitlines()) == 1 + 3 * len(NAMES) + 1


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_json_is_inert_and_keeps_the_exact_names(
    command: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([command, "--json", str(path)])
    said = capsys.readouterr().out
    found = json.loads(said)

    assert inert(said)
    if command == "inspect":
        assert {tensor["name"] for tensor in found["tensors"]} == set(NAMES)
        assert found["metadata"] == {name: name for name in NAMES}
    else:
        assert {f["tensor"] for f in found["findings"]} >= {n for n in NAMES if not n.isprintable()}


@pytest.mark.parametrize("name", NAMES)
def test_one_tensor_and_the_picture_of_it_are_inert(
    name: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "x.svg"
    code = main(["inspect", str(path), "--plot", str(picture), "--", name])
    said = capsys.readouterr()

    assert inert(said.out + said.err)
    if code == 0:
        root = ET.fromstring(picture.read_text("utf-8"))
        assert not [node for node in root.iter() if node.tag.endswith("script")]
        assert not [key for node in root.iter() for key in node.attrib if key.lower().startswith("on")]


@pytest.mark.parametrize("name", NAMES)
def test_errors_that_name_a_tensor_or_a_path_are_one_inert_line(name: str, tmp_path: Path) -> None:
    data = pack({"tensors": {name: descriptor(shape=[9])}}, bytes(8))
    calls = [lambda: open_burnpack(data), lambda: ModuleRecord.from_bytes(data)]
    calls.append(lambda: open_burnpack(f"{tmp_path}/no {name}/x.y"))
    calls.append(lambda: write_burnpack(f"{tmp_path}/no {name}/x.y", []))
    calls.append(lambda: open_burnpack(data[:0] + pack({"tensors": {}}))[name])
    for call in calls:
        with pytest.raises(RefimplError) as caught:
            call()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 4500


@pytest.mark.parametrize("command", [["inspect"], ["verify"]])
@pytest.mark.parametrize(("options", "encoding"), [([], "ascii"), (["--json"], "latin-1")])
def test_a_stream_that_cannot_write_a_character_gets_an_escape(
    command: list[str], options: list[str], encoding: str, tmp_path: Path
) -> None:
    name = "\u2603 \U0001f600 \x9b"
    write_burnpack(tmp_path / "m", [(name, TensorData(DType.U8, [1], b"x"), None)])
    done = subprocess.run(
        [sys.executable, "-m", "refimpl.cli.main", *command, *options, str(tmp_path / "m.bpk")],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        check=False,
    )

    assert done.returncode in (0, 1), done.stderr
    assert inert(done.stdout.decode(encoding))
    if options and command == ["inspect"]:
        assert json.loads(done.stdout.decode(encoding))["tensors"][0]["name"] == name
