"""What a container may ask of its reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..errors import InvalidArgumentError

MAX_METADATA_SIZE: Final = 100 * 1024 * 1024
MAX_TENSOR_COUNT: Final = 100_000
MAX_TENSOR_SIZE: Final = 10 * 1024**3
MAX_FILE_SIZE: Final = 500 * 1024**3
MAX_CBOR_RECURSION_DEPTH: Final = 128

# Ours (deviation, BPK-20): what metadata of that size can unfold to in Python stays within a few times
# its own size. Burn has no such limits; its maps are as compact as the file.
MAX_USER_ENTRIES: Final = 200_000
MAX_DIMENSIONS: Final = 2_000_000
WIDE_TEXT_ALLOWANCE: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The sizes a reader accepts; both are checked when data is read, not when the file is opened.

    Args:
        max_file_size: Bytes of a file; containers in memory are not affected.
        max_tensor_size: Bytes of one tensor.

    Burn: burn_pack::ReaderLimits
    Clauses: BPK-22.
    """

    max_file_size: int = MAX_FILE_SIZE
    max_tensor_size: int = MAX_TENSOR_SIZE

    def __post_init__(self) -> None:
        for name, size in (("max_file_size", self.max_file_size), ("max_tensor_size", self.max_tensor_size)):
            if type(size) is not int or size < 0:
                raise InvalidArgumentError(
                    f"{name} is a number of bytes from 0, got {size!r}", clause="BPK-22"
                )
