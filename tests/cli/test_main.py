from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from refimpl import __version__
from refimpl.cli import group
from refimpl.cli.commands import COMMANDS, help_text
from refimpl.cli.main import main
from refimpl.errors import (
    BurnpackError,
    CaseError,
    InvalidArgumentError,
    RecordIoError,
    RefimplError,
    ResourceError,
    SubjectError,
)


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "refimpl.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def test_help_lists_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out

    assert shown == help_text()
    assert all(name in shown for name in COMMANDS)
    assert "130 interrupted" in shown


def test_help_imports_neither_numpy_nor_click() -> None:
    script = (
        "import sys; from refimpl.cli.main import main; code = main(['--help']); "
        "heavy = {'numpy', 'click', 'rich', 'msgspec'} & set(sys.modules); sys.exit(code or bool(heavy))"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


def test_the_group_shows_the_same_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    table = capsys.readouterr().out
    group.run(["--help"])

    assert capsys.readouterr().out.rstrip() == table.rstrip()


def test_no_command_at_all_is_a_question_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 4
    assert "Commands:" in capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"refimpl {__version__}\n"


@pytest.mark.parametrize(
    "words", [["nothing"], ["spec", "--nothing"], ["conform", "--chapter", "XYZ"], ["spec", "PLC-99"]]
)
def test_wrong_usage_is_exit_code_4(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error" in captured.err


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_and_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BurnpackError("bad", kind="ValidationError"), 2),
        (RecordIoError("bad"), 2),
        (SubjectError("bad"), 2),
        (ResourceError("bad"), 2),
        (CaseError("bad"), 3),
        (InvalidArgumentError("bad", clause="PLC-3", hint="do better"), 4),
        (RefimplError("bad"), 4),
        (OSError("bad"), 2),
        (ValueError("bad"), 3),
        (click.Abort(), 130),
        (click.exceptions.Exit(5), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_of_a_command_becomes_its_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(group.LazyGroup, "get_command", lambda *_: failing)

    assert main(["spec"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    if isinstance(error, InvalidArgumentError):
        assert captured.err == "error: bad\nclause: PLC-3 (refimpl spec PLC-3)\nhint: do better\n"


def test_a_fault_of_ours_says_that_it_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(group.refimpl, "main", lambda *_, **__: 1 / 0)

    assert main(["spec"]) == 3
    assert "ZeroDivisionError" in (said := capsys.readouterr().err)
    assert "fault of refimpl" in said


@pytest.mark.parametrize("words", ["spec PLC", "--help", "spec PLC-3 --json"])
def test_a_standard_output_that_is_closed_is_no_error(words: str) -> None:
    command = f"{sys.executable} -m refimpl.cli.main {words} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["spec PLC", "--help", "--version", "spec PLC-3 --json"])
def test_a_standard_output_that_is_full_is_named(words: str, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "refimpl.cli.main", *words.split()],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.stderr == "error: cannot write to standard output: No space left on device\n"
    assert done.returncode == 2


def test_an_error_about_a_file_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.bpk").write_bytes(b"BURN" + bytes(300))

    assert main(["inspect", str(tmp_path / "wrong.bpk")]) == 2
    assert "wrong.bpk" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "refimpl.cli.main", "spec", "PAR"],
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


def test_no_colour_is_written_off_a_terminal() -> None:
    done = run("spec", "PLC-3", env={**os.environ, "TERM": "xterm-256color"})

    assert done.returncode == 0
    assert "\x1b" not in done.stdout
