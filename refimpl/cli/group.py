"""The commands as a click group that imports a command when it is called."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

import click

from ..conformance.printable import plain
from ..errors import BurnpackError, CaseError, RecordError, RefimplError, ResourceError, SubjectError
from .commands import COMMANDS, help_text
from .main import AS_EXPECTED, BROKEN, OURS, USAGE
from .signals import code_of, ending


class LazyGroup(click.Group):
    """Knows its commands by the table, and each command by its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command `refimpl.cli.<module>.<name>`, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name][0]}", __package__)
        command: click.Command = module.command
        return command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The text of the table, which needs no command to be imported."""
        formatter.write(help_text())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["--help", "-h"]})
def refimpl() -> None:
    """Refer to `commands.help_text`."""


def run(words: list[str]) -> int:
    """Run a command; an error becomes a sentence on standard error and its exit code."""
    try:
        with ending():
            result = refimpl.main(words, prog_name="refimpl", standalone_mode=False)
    except SystemExit as closed:
        # click turns a closed pipe into exit code 1, which says "differences" here.
        raise BrokenPipeError from closed
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort as stop:
        sys.stderr.write("interrupted\n")
        return code_of(stop.__cause__)
    except click.ClickException as error:
        error.show()
        return USAGE
    except RefimplError as error:
        _say(error)
        return _code(error)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        sys.stderr.write(f"error: {plain(str(error))}\n")
        return BROKEN
    except Exception:
        traceback.print_exc()
        sys.stderr.write("This is a fault of refimpl itself: please report it with the lines above.\n")
        return OURS
    return result if isinstance(result, int) else AS_EXPECTED


def _code(error: RefimplError) -> int:
    if isinstance(error, CaseError):
        return OURS
    if isinstance(error, BurnpackError | RecordError | SubjectError | ResourceError):
        return BROKEN
    return USAGE


def _say(error: RefimplError) -> None:
    lines = [f"error: {error}"]
    lines += [note for note in getattr(error, "__notes__", ()) if not note.startswith(("clause: ", "hint: "))]
    if error.clause is not None:
        lines.append(f"clause: {error.clause} (refimpl spec {error.clause})")
    if error.hint is not None:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("".join(f"{plain(line)}\n" for line in lines))
