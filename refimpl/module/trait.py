"""What every module can do, made from traversal alone."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import TYPE_CHECKING, Self

from ..errors import ArgumentTypeError, EmptyGroupWarning, PanicError, RecordError
from ..param.group import ParamGroup, checked_group
from ..param.param_id import ParamId
from ..param.reparameterization import Reparameterizer
from ..param.traversal import ModuleMapper, ModuleNode, ParamIdLister
from ..record.record import ModuleRecord
from ..rust_text import debug_str
from .freezing import InGroup, SetRequireGrad, SetTraining
from .quantizer import Quantizer
from .reparameterizing import ApplyReparameterization

if TYPE_CHECKING:
    from .lora import Lora, QLora


class ModuleTrait(ModuleNode):
    """The operations of Burn's `Module` trait that need nothing but `visit` and `map`.

    Burn: burn_core::module::Module
    Clauses: MOD-1.
    """

    __slots__ = ()

    def set_require_grad(self, require_grad: bool) -> Self:
        """The module with the gradient setting on every float parameter, adapters' included; flags stay.

        Raises:
            GradientError: True on a parameter whose value is tracked and no leaf.

        Burn: Module::set_require_grad
        Clauses: MOD-43, PAR-42.
        """
        return self.map(SetRequireGrad(require_grad))

    def set_require_grad_group(self, group: ParamGroup, require_grad: bool) -> Self:
        """`set_require_grad` on the float parameters that `group` selects; selected flags stay (MOD-44)."""
        return self._map_group(SetRequireGrad(require_grad), group, "set_require_grad_group")

    def no_grad(self) -> Self:
        """`set_require_grad(False)` (MOD-43)."""
        return self.set_require_grad(False)

    def freeze(self) -> Self:
        """The module with no float parameter trainable and every flag off, in value and memory (MOD-45)."""
        return self.map(SetTraining(False))

    def unfreeze(self) -> Self:
        """The module with every float parameter trainable and every flag on; no earlier mix is restored.

        Raises:
            GradientError: on a parameter whose value is tracked and no leaf.

        Clauses: MOD-45, MOD-47.
        """
        return self.map(SetTraining(True))

    def freeze_group(self, group: ParamGroup) -> Self:
        """`freeze` for the float parameters and flags that `group` selects (MOD-46)."""
        return self._map_group(SetTraining(False), group, "freeze_group")

    def unfreeze_group(self, group: ParamGroup) -> Self:
        """`unfreeze` for the float parameters and flags that `group` selects (MOD-46)."""
        return self._map_group(SetTraining(True), group, "unfreeze_group")

    def quantize_weights(self, quantizer: Quantizer) -> Self:
        """The module with every float parameter that the quantizer's group selects quantised.

        Nothing changes if one of them cannot be.

        Raises:
            AlreadyQuantizedError: one is quantised already.
            TensorError: the scheme does not fit the shape of one.

        Burn: Module::quantize_weights
        Clauses: MOD-54, QNT-36, QNT-37, QNT-39.
        """
        if not isinstance(quantizer, Quantizer):
            raise _no_quantizer(quantizer)
        quantizer.check(self)
        before = quantizer.num_quantized
        mapped = self.map(quantizer)
        if quantizer.num_quantized == before:
            _warn_empty(quantizer.group, "quantize_weights")
        return mapped

    def quantize_weights_group(self, quantizer: Quantizer, group: ParamGroup) -> Self:
        """`quantize_weights` for `group`, which the quantizer keeps (MOD-54, QNT-38)."""
        if not isinstance(quantizer, Quantizer):
            raise _no_quantizer(quantizer)
        quantizer.set_param_group(group)
        return self.quantize_weights(quantizer)

    def apply_reparameterization(self, reparameterizer: Reparameterizer) -> Self:
        """The module with what `reparameterizer` attaches to its float parameters.

        Burn: Module::apply_reparameterization
        Clauses: REP-3, REP-4, REP-5, REP-6, REP-7.
        """
        mapper = ApplyReparameterization(reparameterizer)
        mapped = self.map(mapper)
        if not mapper.num_attached:
            warnings.warn(
                f"{type(reparameterizer).__name__} attached nothing to the module",
                EmptyGroupWarning,
                stacklevel=3,
            )
        return mapped

    def apply_lora(self, lora: Lora) -> Self:
        """The module frozen, with low-rank adapters on the weights that `lora` selects.

        Applied to an adapted module, the old adapters stay and their factors are adapted (pinned, LRA-9).

        Burn: Module::apply_lora
        Clauses: REP-24, LRA-2, LRA-9.
        """
        return self.apply_reparameterization(_one_of("Lora", lora))

    def apply_qlora(self, qlora: QLora) -> Self:
        """The module quantised and frozen, with low-rank adapters (REP-27, LRA-10)."""
        return self.apply_reparameterization(_one_of("QLora", qlora))

    def into_record(self) -> ModuleRecord:
        """The record of all float, int and bool parameters; initialises them.

        Burn: Module::into_record
        Clauses: MOD-55, REC-2.
        """
        return ModuleRecord.collect(self)

    def into_record_group(self, group: ParamGroup) -> ModuleRecord:
        """The record of the parameters that `group` selects; no other is read (MOD-55, REC-6)."""
        record = ModuleRecord.collect(self, checked_group(group))
        if not len(record):
            _warn_empty(group, "into_record_group")
        return record

    def try_load_record(self, record: ModuleRecord) -> Self:
        """The module with the values and ids of `record`; flags and gradient settings stay.

        Raises:
            RecordError: the record does not fit, by the record's own options.
            PanicError: an entry of a kind that the parameter cannot hold.

        Burn: Module::try_load_record
        Clauses: MOD-55, REC-15, REC-16, REC-22.
        """
        if not isinstance(record, ModuleRecord):
            raise ArgumentTypeError(
                f"a module is loaded from a ModuleRecord, got {type(record).__name__}",
                clause="MOD-55",
                hint="module.into_record(), ModuleRecord.load(path), or load_file(path) for a file",
            )
        return record.apply(self)

    def load_record(self, record: ModuleRecord) -> Self:
        """`try_load_record`, where a record that does not fit is a panic (MOD-55, REC-25)."""
        try:
            return self.try_load_record(record)
        except RecordError as error:
            raise _panic("Failed to load record", error) from error

    def save_file(self, path: str | PathLike[str]) -> None:
        """Write the record of the module to `path`, all or nothing; `.bpk` is added to a bare name.

        Raises:
            RecordError: the file cannot be written; an older one is as it was.

        Burn: Module::save_file
        Clauses: MOD-55, REC-13.
        """
        self.into_record().save(path)

    def try_load_file(self, path: str | PathLike[str]) -> Self:
        """The module with the values of the file, each read once into an array of its own (REC-14).

        Raises:
            RecordError: the file cannot be read, or does not fit.

        Burn: Module::try_load_file
        Clauses: MOD-55, REC-13, REC-14.
        """
        with ModuleRecord.load(path) as record:
            return self.try_load_record(record)

    def load_file(self, path: str | PathLike[str]) -> Self:
        """`try_load_file`, where a file that does not fit is a panic (MOD-55, REC-25)."""
        try:
            return self.try_load_file(path)
        except RecordError as error:
            raise _panic("Failed to load module from file", error) from error

    def _map_group(self, mapper: ModuleMapper, group: ParamGroup, call: str) -> Self:
        selective = InGroup(mapper, group)
        mapped = self.map(selective)
        if not selective.num_selected:
            _warn_empty(group, call)
        return mapped


def list_param_ids(module: ModuleNode) -> tuple[ParamId, ...]:
    """The ids of float, int and bool parameters in traversal order, doubles kept, flags left out.

    Burn: burn_core::module::list_param_ids
    Clauses: MOD-56.
    """
    lister = ParamIdLister()
    module.visit(lister)
    return tuple(lister.ids)


def _no_quantizer(given: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"weights are quantised by a Quantizer, got {given!r}",
        clause="MOD-54",
        hint="Quantizer(Calibration.MIN_MAX, scheme)",
    )


def _one_of(kind: str, given: Reparameterizer) -> Reparameterizer:
    """`given`, if it is what the call is named after: the other one would be applied without a word."""
    from .lora import Lora, QLora

    if not isinstance(given, Lora if kind == "Lora" else QLora):
        raise ArgumentTypeError(
            f"apply_{kind.lower()} takes a {kind}, got {type(given).__name__}",
            clause="REP-24" if kind == "Lora" else "REP-27",
            hint="apply_reparameterization takes any Reparameterizer",
        )
    return given


def _warn_empty(group: ParamGroup, call: str) -> None:
    warnings.warn(f"{call}: {group!r} selects no parameter of the module", EmptyGroupWarning, stacklevel=4)


def _panic(what: str, error: RecordError) -> PanicError:
    return PanicError(f"{what}: {error.variant}({debug_str(error.detail)})", clause="REC-25", hint=error.hint)
