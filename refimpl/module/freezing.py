"""The mappers behind `set_require_grad`, `freeze` and their group forms."""

from __future__ import annotations

from ..param.flag import Flag
from ..param.group import ParamGroup, checked_group
from ..param.param import Param
from ..param.traversal import ModuleMapper, PathMapper
from ..tensor.arguments import check_bool
from ..tensor.tensor import Tensor


class SetRequireGrad(ModuleMapper):
    """Gives every float parameter the gradient setting; flags stay (MOD-43)."""

    def __init__(self, require_grad: bool) -> None:
        check_bool(require_grad, "whether a gradient is required", "MOD-43")
        self._require_grad = require_grad

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """`param` with the setting, in value and memory."""
        return param.set_require_grad(self._require_grad)


class SetTraining(SetRequireGrad):
    """Gives every float parameter the gradient setting, and every flag the same value (MOD-45)."""

    def map_flag(self, flag: Param[Flag]) -> Param[Flag]:
        """`flag` set, in value and memory."""
        return flag.with_value(self._require_grad)


class InGroup(PathMapper):
    """Lets a mapper have only the float parameters and flags that a group selects, by id or path.

    Clauses: MOD-44, MOD-46, GRP-16.
    """

    def __init__(self, mapper: ModuleMapper, group: ParamGroup) -> None:
        super().__init__()
        self._mapper = mapper
        self._group = checked_group(group)
        self.num_selected = 0

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """`param` mapped, if it is selected."""
        return self._mapper.map_float(param) if self._selects(param) else param

    def map_flag(self, flag: Param[Flag]) -> Param[Flag]:
        """`flag` mapped, if it is selected."""
        return self._mapper.map_flag(flag) if self._selects(flag) else flag

    def _selects(self, param: Param[Tensor] | Param[Flag]) -> bool:
        selected = self._group.matches(param.id, self.path)
        self.num_selected += selected
        return selected
