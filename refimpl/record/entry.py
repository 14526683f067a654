"""One parameter of a record."""

from __future__ import annotations

from typing import NamedTuple

from ..param.param_id import ParamId
from ..tensor.data import TensorData


class RecordEntry(NamedTuple):
    """A parameter's path in its module, its id, and its value in save form.

    Clauses: REC-1, REC-3, REC-4.
    """

    path: str
    param_id: ParamId
    data: TensorData
