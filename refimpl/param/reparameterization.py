"""What may be attached to a float parameter to change its effective value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ..tensor.tensor import Tensor
from .traversal import ModuleNode

if TYPE_CHECKING:
    from .param import Param


class Reparameterization(ModuleNode):
    """State that makes the effective value of a float parameter from its stored base.

    Burn: burn_core::module::Reparameterization
    Clauses: REP-1, REP-8.
    """

    __slots__ = ()

    #: The segment that the attached state adds to the path of its parameter.
    NAME: ClassVar[str]

    @abstractmethod
    def apply(self, base: Tensor) -> Tensor:
        """The effective value of a parameter that stores `base`; the rank is kept."""


class Reparameterizer(ABC):
    """Decides which float parameters get a reparameterization, and prepares their base.

    Burn: burn_core::module::Reparameterizer
    Clauses: REP-2.
    """

    @abstractmethod
    def reparameterize(
        self, path: str, param: Param[Tensor]
    ) -> tuple[Param[Tensor], Reparameterization | None]:
        """The base that is stored for the parameter at `path`, and what is attached to it."""
