"""A subject that sees no network and no process but its own. It reads every file that its user may read."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from ..errors import SubjectError

_UNSHARE = (
    "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net",
    "--ipc", "--uts",
)  # fmt: skip


def sandboxed(command: Sequence[str], scratch: str) -> list[str]:
    """The command line that runs `command` apart: with `bwrap`, or else with `unshare`.

    `bwrap` also takes away the right to write outside of `scratch`; `unshare` does not.

    Raises:
        SubjectError: Neither is here.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is not None:
        return [
            bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", scratch, scratch,
            "--unshare-all", "--die-with-parent", "--new-session", "--", *command,
        ]  # fmt: skip
    unshare = shutil.which("unshare")
    if unshare is not None:
        return [unshare, *_UNSHARE, "--", *command]
    raise SubjectError(
        "a sandbox needs `bwrap` or `unshare`, and neither is here",
        hint="install bubblewrap, or leave --sandbox out",
    )
