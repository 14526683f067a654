"""How many bytes a tensor of a dtype and a shape takes."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor.dtype import DType
from ..tensor.stored_length import product, stored_length


def byte_length(dtype: DType, shape: Sequence[int]) -> int | None:
    """The bytes of a tensor of `dtype` and `shape`; None where Burn's u64 overflows or no layout exists.

    >>> byte_length(DType.F32, (2, 3)), byte_length(DType.F32, (2**63, 2, 0))
    (24, None)

    Burn: burn_pack::base::validate_tensor_byte_len
    Clauses: BPK-10, BPK-12, QNT-28, QNT-29, QNT-30.
    """
    if dtype.scheme is not None:
        return stored_length(dtype.scheme, shape)
    return product((*shape, dtype.itemsize))
