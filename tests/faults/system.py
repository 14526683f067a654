"""Calls of the system that fail or do less when they are told to, and what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: Every call that saving makes.
CALLS = ("open", "fchmod", "write", "fsync", "close", "replace", "link", "unlink", "lstat")
#: Every call that reading makes.
READS = ("open", "fstat", "stat", "pread", "preadv", "close")


class Faults:
    """Counts calls of the system, and lets the `at`-th of them fail or do less than it was asked for.

    Args:
        lasting: Every call from that one on.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        at: int,
        effect: Callable[..., Any],
        calls: tuple[str, ...] = CALLS,
        *,
        lasting: bool = False,
    ) -> None:
        self.seen: list[str] = []
        self.hit: list[str] = []
        self._lasting = lasting
        for name in calls:
            patch.setattr(os, name, self._watched(name, getattr(os, name), at, effect))

    def _watched(
        self, name: str, real: Callable[..., Any], at: int, effect: Callable[..., Any]
    ) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.seen.append(name)
            now = len(self.seen) - 1
            if now == at or (self._lasting and now > at >= 0):
                self.hit.append(name)
                return effect(name, real, *args, **more)
            return real(*args, **more)

        return call


def fails(errno: int) -> Callable[..., Any]:
    def effect(name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        if name == "close":  # Linux gives the descriptor up before it says that something went wrong
            real(*args)
        raise OSError(errno, os.strerror(errno))

    return effect


def folder(path: Path) -> dict[str, tuple[bytes, int]]:
    """Names, contents and mode bits of the files there."""
    return {
        p.name: (p.read_bytes(), p.stat().st_mode & 0o7777) for p in sorted(path.iterdir()) if p.is_file()
    }


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
