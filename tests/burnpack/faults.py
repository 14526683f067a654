"""Calls of the system that fail when they are told to, and what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: Every call that saving makes.
CALLS = ("open", "fchmod", "write", "fsync", "close", "replace", "link", "unlink", "lstat")


class Faults:
    """Counts calls of the system, and lets the `at`-th of them fail or do less than it was asked for."""

    def __init__(
        self, patch: pytest.MonkeyPatch, at: int, effect: Callable[..., Any], calls: tuple[str, ...] = CALLS
    ) -> None:
        self.seen: list[str] = []
        for name in calls:
            patch.setattr(os, name, self._watched(name, getattr(os, name), at, effect))

    def _watched(
        self, name: str, real: Callable[..., Any], at: int, effect: Callable[..., Any]
    ) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.seen.append(name)
            if len(self.seen) - 1 == at:
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
