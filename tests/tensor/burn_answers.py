"""What Burn 0.23.0-pre.1 answered on its Flex backend; `recorded/ask.rs` is the program that asked."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from refimpl.errors import RefimplError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType

Answer = dict[str, str]


@cache
def answers() -> dict[str, list[list[Any]]]:
    with gzip.open(Path(__file__).parent / "recorded" / "answers.json.gz") as file:
        found: dict[str, list[list[Any]]] = json.load(file)
    return found


def data(dtype: str, raw: str, shape: tuple[int, ...] = (1,)) -> TensorData:
    return TensorData(DType.parse(dtype), shape, bytes.fromhex(raw))


def answer(ask: Any) -> Answer:
    """What `ask()` gives, written as the recorded answers are."""
    try:
        found = ask()
    except RefimplError as error:
        return {"panic": error.message}
    given = found if isinstance(found, TensorData) else found.to_data()
    return {"dtype": repr(given.dtype), "hex": bytes(given.bytes).hex()}
