"""Arguments of the wrong type: an error of ours, before a file is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.burnpack.limits import ReaderLimits
from refimpl.errors import ArgumentTypeError, InvalidArgumentError
from refimpl.tensor.data import TensorData
from refimpl.tensor.dtype import DType

ENTRY = ("w", TensorData(DType.U8, [2], b"ab"), 7)
ANY: Any = 3


@pytest.mark.parametrize("size", ["x", -1, True, 1.0, None])
@pytest.mark.parametrize("name", ["max_file_size", "max_tensor_size"])
def test_a_limit_is_a_number_of_bytes(name: str, size: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name} is a number of bytes from 0, got {size!r}"):
        ReaderLimits(**{name: size})
    assert getattr(ReaderLimits(**{name: 0}), name) == 0


def test_limits_are_reader_limits_in_memory_and_in_a_file(tmp_path: Path) -> None:
    for source in (burnpack_bytes([ENTRY]), tmp_path / "none.bpk"):
        with pytest.raises(ArgumentTypeError, match="the limits of a reader are ReaderLimits, got 3"):
            open_burnpack(source, limits=ANY)
        with pytest.raises(ArgumentTypeError, match="`exact` is True or False, got 3"):
            open_burnpack(source, exact=ANY)


@pytest.mark.parametrize("option", ["exact", "overwrite", "in_place"])
def test_an_option_of_the_writer_is_true_or_false(option: str, tmp_path: Path) -> None:
    path = tmp_path / "w.bpk"
    path.write_bytes(b"old")
    with pytest.raises(ArgumentTypeError, match=f"`{option}` is True or False, got 3"):
        write_burnpack(path, [ENTRY], **{option: ANY})
    assert path.read_bytes() == b"old"
