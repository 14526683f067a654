"""Quantising the weights of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentTypeError, PanicError
from ..param.group import ParamGroup
from ..param.param import Param
from ..param.traversal import ModuleNode, PathMapper, PathVisitor
from ..tensor.blocks import BlockLayout
from ..tensor.calibration import Calibration, compute_q_params, compute_range, refuse_quantized
from ..tensor.packing import check_axis
from ..tensor.scheme import QuantScheme
from ..tensor.tensor import Tensor


class Quantizer(PathMapper):
    """Replaces every float parameter that its group selects by its quantised base.

    That includes biases, the factors of adapters and running states. Ids, load and save functions and what
    a parameter remembers stay; lazy parameters are initialised. `group` is an attribute that
    `quantize_weights_group` sets and leaves set, as in Burn (QNT-38).

    Burn: burn_core::module::Quantizer
    Clauses: QNT-36, QNT-37, QNT-38, QNT-39.
    """

    def __init__(
        self, calibration: Calibration, scheme: QuantScheme, group: ParamGroup | None = None
    ) -> None:
        super().__init__()
        if not isinstance(calibration, Calibration) or not isinstance(scheme, QuantScheme):
            raise ArgumentTypeError(
                f"a quantizer takes a Calibration and a QuantScheme, got {calibration!r} and {scheme!r}",
                clause="QNT-36",
                hint="for example Quantizer(Calibration.MIN_MAX, QuantScheme(value=QuantValue.Q8S))",
            )
        self.calibration = calibration
        self.scheme = scheme
        self.set_param_group(ParamGroup.all() if group is None else group)
        self.num_quantized = 0

    def set_param_group(self, group: ParamGroup) -> None:
        """Quantise what `group` selects from now on (QNT-38)."""
        if not isinstance(group, ParamGroup):
            raise ArgumentTypeError(
                f"a quantizer takes a ParamGroup, got {group!r}",
                clause="QNT-38",
                hint='for example ParamGroup.from_predicate("weight")',
            )
        self.group = group

    def map_float(self, param: Param[Tensor]) -> Param[Tensor]:
        """`param` quantised, if it is selected."""
        return self.at_path(param, self.path)

    def at_path(self, param: Param[Tensor], path: str) -> Param[Tensor]:
        """`param`, which stands at `path`, quantised if it is selected.

        Raises:
            AlreadyQuantizedError: it is quantised already.
            TensorError: the scheme does not fit its shape.
        """
        if not self.group.matches(param.id, path):
            return param
        self.num_quantized += 1
        with _naming(path, param):
            return param.map(self._quantized)

    def check(self, node: ModuleNode) -> None:
        """Refuse `node` if one selected parameter cannot be quantised, before anything is changed.

        Raises:
            AlreadyQuantizedError, TensorError: as `at_path`.
        """
        self._names.clear()  # an earlier traversal may have been cut short by an error
        node.visit(_Check(self))

    def _quantized(self, tensor: Tensor) -> Any:
        range_ = compute_range(self.scheme, tensor, self.calibration)
        return tensor.quantize(self.scheme, compute_q_params(self.scheme, range_))


class _Check(PathVisitor):
    """Looks at the shapes of what a quantizer selects; initialises nothing."""

    def __init__(self, quantizer: Quantizer) -> None:
        super().__init__()
        self._quantizer = quantizer

    def visit_float(self, param: Param[Tensor]) -> None:
        scheme, shape = self._quantizer.scheme, param.lazy_shape()
        if self._quantizer.group.matches(param.id, self.path):
            with _naming(self.path, param):
                if param.is_initialized():
                    refuse_quantized(param.base())
                    BlockLayout.of(shape, scheme)
                    check_axis(scheme, len(shape))
                    if 0 in shape:  # it costs nothing to try, and Burn's text depends on what is missing
                        self._quantizer._quantized(param.base())


@contextmanager
def _naming(path: str, param: Param[Tensor]) -> Iterator[None]:
    """Say of an error in here which parameter it is about."""
    try:
        yield
    except PanicError as error:
        error.add_note(f"parameter: {path!r} of shape {list(param.lazy_shape())}")
        raise
