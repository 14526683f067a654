"""Safetensors files written by hand: the length of the header, the header, the values."""

from __future__ import annotations

import json
from typing import Any

#: The dtypes of the protocol by the words of the format.
DTYPES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "BOOL": "bool"} | {
    f"{letter}{bits}": f"{letter.lower()}{bits}" for letter in "IU" for bits in (8, 16, 32, 64)
}


def file_of(entries: list[dict[str, Any]]) -> bytes:
    """The file of some entries of `safetensors_files.given`, in their order."""
    words = {ours: word for word, ours in DTYPES.items()}
    header, content = {}, b""
    for one in entries:
        start, content = len(content), content + bytes.fromhex(one["value"]["hex"])
        about = {"dtype": words[one["value"]["dtype"]], "shape": one["value"]["shape"]}
        header[one["path"]] = about | {"data_offsets": [start, len(content)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content
