"""The planted bugs of `bugs.toml`: what people get wrong who know the rules only nearly."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Final

import msgspec

from .planting import Bug

CATALOGUE: Final = msgspec.convert(
    tomllib.loads((files(__package__) / "bugs.toml").read_text(encoding="utf-8"))["bug"], tuple[Bug, ...]
)
