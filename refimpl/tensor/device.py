"""Where a tensor lives, and whether operations there are followed for gradients."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..errors import DeviceError, InvalidArgumentError
from ..immutable import Value

if TYPE_CHECKING:
    from .dtype import DType
    from .settings import DeviceSettings

KINDS: Final = ("cpu", "sim", "cuda")
_TEXT: Final = re.compile(r"(cpu|(?:sim|cuda):(\d{1,20}))(\+autodiff(\(balanced\))?)?", re.ASCII)


class GradientCheckpointing(Enum):
    """What an autodiff context keeps of the forward pass. Followed, never used: no gradient is computed.

    Clauses: DEV-1, DEV-5.
    """

    DISABLED = "Disabled"
    BALANCED = "Balanced"


class Device(Value):
    """One compute resource, with or without the autodiff tag.

    Kinds: `cpu` (host memory), `sim` (simulated: host memory under another name, any number of them) and
    `cuda` (a GPU, through CuPy). Equality and hash are those of the hardware alone: the tag and its
    checkpointing strategy do not count. There is one object for each combination.

    >>> Device("sim", 0).autodiff()
    sim:0+autodiff
    >>> Device("sim", 0).autodiff() == Device("sim", 0)
    True

    Burn: burn_tensor::Device
    Clauses: DEV-1, DEV-2, DEV-3, DEV-4, DEV-5, DEV-6.
    """

    __slots__ = (
        "_hash",
        "_plain",
        "_tagged",
        "_text",
        "checkpointing",
        "index",
        "is_autodiff",
        "kind",
        "space",
    )

    kind: str
    index: int
    is_autodiff: bool
    checkpointing: GradientCheckpointing | None
    #: The array library, once it is found (`tensor/namespace.py`).
    space: Any
    _hash: int
    _text: str
    _plain: Device
    _tagged: dict[GradientCheckpointing, Device]
    _known: ClassVar[dict[tuple[str, int], Device]] = {}

    def __new__(cls, kind: str, index: int = 0) -> Device:
        """The device `index` of `kind`, without the autodiff tag.

        Raises:
            DeviceError: there is no such kind.
            InvalidArgumentError: `index` is negative, or not 0 for `cpu`.
        """
        known = cls._known.get((kind, index))
        if known is not None and type(index) is int:
            return known
        if kind not in KINDS:
            raise DeviceError(
                f"there is no kind of device called {kind!r}",
                clause="DEV-1",
                hint=f"kinds are {', '.join(KINDS)}",
            )
        if type(index) is not int:
            raise InvalidArgumentError(f"a device index is an integer, got {index!r}", clause="DEV-12")
        if index >= 2**64:
            raise InvalidArgumentError("a device index is below 2^64", clause="DEV-12")
        if index < 0:
            raise InvalidArgumentError(f"device index must be non-negative: {index!r}", clause="DEV-12")
        if kind == "cpu" and index != 0:
            raise InvalidArgumentError(
                f"there is one cpu, its index is 0, got {index}",
                clause="DEV-12",
                hint=f'for several devices take simulated ones: Device("sim", {index})',
            )
        plain = cls._make(kind, index, None)
        tagged = {how: cls._make(kind, index, how) for how in GradientCheckpointing}
        for each in (plain, *tagged.values()):
            object.__setattr__(each, "_plain", plain)
            object.__setattr__(each, "_tagged", tagged)
        return cls._known.setdefault((kind, index), plain)

    @classmethod
    def _make(cls, kind: str, index: int, checkpointing: GradientCheckpointing | None) -> Device:
        made: Device = object.__new__(cls._open)
        made.kind, made.index = kind, index
        made.checkpointing, made.is_autodiff = checkpointing, checkpointing is not None
        made._hash = hash((kind, index))
        made.space = None
        name = kind if kind == "cpu" else f"{kind}:{index}"
        tag = {None: "", GradientCheckpointing.DISABLED: "+autodiff"}.get(
            checkpointing, "+autodiff(balanced)"
        )
        made._text = name + tag
        made.__class__ = cls
        return made

    @classmethod
    def parse(cls, text: str) -> Device:
        """The device that `str` writes as `text`.

        >>> Device.parse("sim:3+autodiff").is_autodiff
        True

        Raises:
            DeviceError: `text` names no device.
        """
        found = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise DeviceError(
                f"{text!r} names no device",
                clause="DEV-1",
                hint="a device is `cpu`, `sim:<index>` or `cuda:<index>`, then `+autodiff` for the tag",
            )
        plain = cls(found[1].split(":")[0], int(found[2] or 0))
        if found[4]:
            return plain.autodiff().gradient_checkpointing()
        return plain.autodiff() if found[3] else plain

    @classmethod
    def default(cls) -> Device:
        """The device of whoever names none: the host, never with the autodiff tag (DEV-11)."""
        return cls("cpu")

    def autodiff(self) -> Device:
        """This device with the tag; one that has it stays as it is, strategy included (DEV-3)."""
        return self if self.is_autodiff else self._tagged[GradientCheckpointing.DISABLED]

    def inner(self) -> Device:
        """This device without the tag (DEV-4)."""
        return self._plain

    without_autodiff = inner

    def gradient_checkpointing(self) -> Device:
        """This device with balanced checkpointing.

        Raises:
            DeviceError: the device has no autodiff tag (DEV-5).
        """
        if not self.is_autodiff:
            raise DeviceError(
                "Gradient checkpointing requires autodiff; use Device::autodiff().gradient_checkpointing()",
                clause="DEV-5",
                hint="in Python: device.autodiff().gradient_checkpointing()",
            )
        return self._tagged[GradientCheckpointing.BALANCED]

    def gradient_checkpointing_strategy(self) -> GradientCheckpointing | None:
        """The strategy of the tag, or None without one (DEV-5)."""
        return self.checkpointing

    def with_autodiff_context_from(self, other: Device) -> Device:
        """This hardware with exactly the tag and strategy of `other` (DEV-6)."""
        how = other.checkpointing
        return self._plain if how is None else self._tagged[how]

    def settings(self) -> DeviceSettings:
        """The default dtypes of tensors here; asking does not lock them.

        Burn: burn_tensor::Device::settings
        Clauses: DEV-13.
        """
        from .settings import settings

        return settings(self)

    def configure(
        self,
        float_dtype: DType | None = None,
        int_dtype: DType | None = None,
        bool_dtype: DType | None = None,
    ) -> None:
        """Set the default dtypes of this hardware, once, before the first tensor is made there.

        >>> from refimpl import DType
        >>> Device("sim", 99).configure(DType.F16)
        >>> Device("sim", 99).autodiff().settings().float_dtype
        F16

        Raises:
            UnsupportedDTypeError: the device does not compute with such elements.
            DeviceError: a tensor was made there, or they were set before.

        Burn: burn_tensor::Device::configure
        Clauses: DEV-13.
        """
        from .settings import configure

        configure(self, float_dtype, int_dtype, bool_dtype)

    def seed(self, number: int) -> None:
        """Start the random numbers of this hardware anew.

        Burn: burn_tensor::Device::seed
        """
        from .random import seed

        seed(self, number)

    def __eq__(self, other: object) -> bool:
        return self._plain is other._plain if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Device.parse, (self._text,)
