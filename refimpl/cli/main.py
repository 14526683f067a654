"""The entry point: what a command came to, as an exit code that never means two things."""

from __future__ import annotations

import os
import sys

from .commands import help_text

AS_EXPECTED, DIFFERENCES, BROKEN, OURS, USAGE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Help is printed from a table before anything else is imported.
    """
    words = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    try:
        if words in ([], ["--help"], ["-h"], ["help"]):
            sys.stdout.write(help_text())
            code = AS_EXPECTED if words else USAGE
        elif words == ["--version"]:
            from .. import __version__

            sys.stdout.write(f"refimpl {__version__}\n")
            code = AS_EXPECTED
        else:
            from .group import run

            code = run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return AS_EXPECTED
    except OSError as error:  # of files, the command has told
        drop_output()
        sys.stderr.write(f"error: cannot write to standard output: {error.strerror}\n")
        return BROKEN
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """Python has no stream where a shell closed one (`>&-`): what is written there goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - it lives as long as the process


def drop_output() -> None:
    """Nobody reads any more (`refimpl ... | head`), or it cannot be written: what is left goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
