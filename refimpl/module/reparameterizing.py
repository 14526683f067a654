"""Attaching reparameterizations to the float parameters of a module."""

from __future__ import annotations

from ..errors import ArgumentTypeError
from ..param.param import Param
from ..param.reparameterization import Reparameterization, Reparameterizer
from ..param.traversal import PathMapper
from ..tensor.tensor import Tensor


class ApplyReparameterization(PathMapper):
    """Offers every float parameter to a reparameterizer, and attaches what that gives.

    The base it returns is stored, whatever it did to it. Of a parameter that carries a reparameterization
    already, the old one stays, and its own parameters are offered in turn (pinned, REP-6).

    Burn: burn_core::module::ApplyReparameterization
    Clauses: REP-2, REP-3, REP-4, REP-5, REP-6, REP-7.
    """

    def __init__(self, reparameterizer: Reparameterizer) -> None:
        super().__init__()
        if not isinstance(reparameterizer, Reparameterizer):
            raise ArgumentTypeError(
                f"apply_reparameterization takes a Reparameterizer, got {reparameterizer!r}", clause="REP-2"
            )
        self._reparameterizer = reparameterizer
        self.num_attached = 0

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """The base that is stored in place of `param`, with what is attached to it."""
        given = self._reparameterizer.reparameterize(self.path, param)
        if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[0], Param):
            raise ArgumentTypeError(
                f"a reparameterizer gives a Param and what is attached to it or None, got {given!r} "
                f"for parameter {self.path!r}",
                clause="REP-2",
                hint="return param, None to leave it as it is",
            )
        base, attached = given
        if attached is None:
            return base
        if not isinstance(attached, Reparameterization):
            raise ArgumentTypeError(
                f"a reparameterizer gives a Reparameterization or None, got {attached!r}",
                clause="REP-2",
            )
        self.num_attached += 1
        return base.with_reparameterization(attached)
