"""Every exception of refimpl: the message first, then the clause, then a way out."""

from __future__ import annotations


class RefimplError(Exception):
    """The base of every error that a public call raises on bad input.

    `clause` names the rule that was broken and `hint` says what to do instead. Both are notes (PEP 678):
    they print below the message and are never part of `str(error)`, which stays Burn's own text where
    Burn has one.
    """

    def __init__(self, message: str, *, clause: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.clause = clause
        self.hint = hint
        if clause is not None:
            self.add_note(f"clause: {clause}")
        if hint is not None:
            self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        """What a worker process sends back is the same error, with its facts and notes."""
        return _again, (type(self), self.args, dict(self.__dict__))


class PanicError(RefimplError):
    """A broken contract: where Burn panics."""


class InvalidArgumentError(RefimplError, ValueError):
    """An argument that Burn's types make impossible to write."""


class ArgumentTypeError(RefimplError, TypeError):
    """An argument of another type than the call takes."""


class DeviceError(PanicError):
    """A device that does not exist, or that cannot do what it is asked."""


class DeviceMismatchError(PanicError):
    """Tensors of different devices met in one operation."""


class TensorError(PanicError):
    """A tensor operation whose operands do not fit together."""


class GradientError(PanicError):
    """A gradient state that the tensor cannot take."""


class UnsupportedDTypeError(PanicError):
    """A dtype that the operation or the device does not know."""


class AlreadyQuantizedError(PanicError):
    """A quantised tensor was to be quantised again: Burn says that it is unreachable."""


class MovedError(PanicError):
    """An uninitialised parameter was read after a by-value call took its state away."""


class LazyInitError(PanicError):
    """A lazy parameter whose initialiser failed, or asks for itself."""


class ParamIdError(RefimplError, ValueError):
    """Text that is no parameter id."""


class InvalidPatternError(RefimplError, ValueError):
    """A regular expression that Rust's engine refuses, or that would mean something else here."""


class EmptyGroupWarning(UserWarning):
    """A parameter group selected nothing: legal, as in Burn, and seldom meant."""


class ModuleDefinitionError(RefimplError, TypeError):
    """A Module class whose fields cannot be traversed: what Burn refuses to compile."""


class DisplayError(PanicError):
    """A display content that mixes what cannot be mixed."""


class PlacementError(PanicError):
    """A placement that cannot be made, or a layer that is not where its placement says."""


class CapacityOverflowError(PanicError, OverflowError):
    """A sum of bytes that does not fit Burn's u64: Burn wraps or panics there."""


class RecordError(RefimplError):
    """A module record that cannot be read, written or applied.

    `path` is the file, where there is one; `tensor` the entry; `errno` the system's number.
    """

    #: How Burn's `Display` of the error begins.
    prefix = "Record error: "
    variant = "Io"

    def __init__(
        self,
        detail: str,
        *,
        clause: str | None = None,
        hint: str | None = None,
        path: str | None = None,
        tensor: str | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(self.prefix + detail, clause=clause, hint=hint)
        self.detail = detail
        self.path = path
        _note_file(self, path)
        self.tensor = tensor
        self.errno = errno


class RecordIoError(RecordError):
    """Burn's `RecordError::Io`: the container could not be read or written."""

    prefix = "Record I/O error: "
    variant = "Io"


class RecordValidationError(RecordError):
    """Burn's `RecordError::Validation`: the record does not fit the module."""

    prefix = "Record validation error: "
    variant = "Validation"


class BurnpackError(RefimplError):
    """A burnpack container that cannot be read or written.

    `kind` is the variant of burn-pack's own error: `InvalidHeader`, `InvalidMagicNumber`, `InvalidVersion`,
    `MetadataSerializationError`, `MetadataDeserializationError`, `IoError`, `TensorNotFound`,
    `TensorBytesSizeMismatch`, `ValidationError` or `AlreadyExists`.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        clause: str | None = None,
        hint: str | None = None,
        path: str | None = None,
        tensor: str | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message, clause=clause, hint=hint)
        self.kind = kind
        self.path = path
        _note_file(self, path)
        self.tensor = tensor
        self.errno = errno

    def found_in(self, path: str) -> None:
        """Say which file the error is about, if nobody has yet."""
        if self.path is None:
            self.path = path
            _note_file(self, path)


class TensorNotFoundError(BurnpackError, KeyError):
    """A name that no tensor of the container has."""

    def __str__(self) -> str:
        return self.message


class ResourceError(RefimplError):
    """The machine ran out of something: never a statement about a file."""


class CaseError(RefimplError):
    """A case or expectation file of ours that is broken: names file, line and field."""


class SubjectError(RefimplError):
    """A subject that does not answer as the protocol says."""


def _note_file(error: RefimplError, path: str | None) -> None:
    """Say below the message which file it is about, unless the message does."""
    if path is not None and repr(path) not in error.message:
        error.add_note(f"file: {path!r}")


def _again(kind: type[RefimplError], args: tuple[object, ...], facts: dict[str, object]) -> RefimplError:
    """An error that was pickled or copied."""
    made = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(facts)
    return made
