"""The state of one case: handles, devices, ids, the log, threads and a folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from ...burnpack.limits import ReaderLimits
from ...module.trait import ModuleTrait
from ...parallel.placement import LayerPlacement
from ...param.param import Param
from ...param.param_id import ParamId
from ...param.traversal import ModuleVisitor
from ...record.record import ModuleRecord
from ...tensor.core import AnyTensor
from ...tensor.device import Device
from .args import Args, items, text
from .faults import StepError

H = TypeVar("H")
T = TypeVar("T")
_NAME: Final = re.compile(r"d(\d{1,3})(\+autodiff(?:\(balanced\))?)?", re.ASCII)
_DEVICE: Final = re.compile(r"\bsim:(\d+)(\+autodiff(?:\(balanced\))?)?", re.ASCII)
_SCRATCH: Final = re.compile(rf"\.{os.getpid()}-\d+\b")


class Ran(NamedTuple):
    """An initialiser ran."""

    id: int
    device: Device
    require_grad: bool


class Passed(NamedTuple):
    """A layer was given a tensor on this device."""

    id: int
    device: Device


class Asked(NamedTuple):
    """A deferred entry was asked for its bytes."""

    name: str


class Offered(NamedTuple):
    """A parameter was offered to a reparameterizer."""

    path: str
    id: int


class PackSource:
    """Where a pack is read from, and within which limits: a reader is opened for each question."""

    def __init__(self, place: bytes | str, exact: bool) -> None:
        self.place = place
        self.exact = exact
        self.limits = ReaderLimits()


class State:
    """What the steps of one case share."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self.log: list[Ran | Passed | Asked | Offered] = []
        self._known: set[int] = set()
        self._fresh: dict[int, int] = {}
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._folder: Path | None = None

    def close(self) -> None:
        """End the threads and remove the folder."""
        for pool in self._threads.values():
            pool.shutdown()
        self.handles.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # --- Handles ---------------------------------------------------------------------------------------

    def get(self, name: Any, kind: type[H]) -> H:
        """The handle of that name, which must be of that kind."""
        found = self.handles.get(name) if isinstance(name, str) else None
        if not isinstance(found, kind):
            raise StepError(f"no {kind.__name__} is called {name!r}")
        return found

    def module(self, name: Any) -> ModuleTrait:
        """A module."""
        return self.get(name, ModuleTrait)  # type: ignore[type-abstract]  # only asked with isinstance

    def take(self, name: Any) -> ModuleTrait:
        """A module, out of the case: a step that fails leaves nothing there."""
        found = self.module(name)
        del self.handles[name]
        return found

    def tensor(self, name: Any) -> AnyTensor:
        """A tensor."""
        return self.get(name, AnyTensor)

    def record(self, name: Any) -> ModuleRecord:
        """A record."""
        return self.get(name, ModuleRecord)

    def placement(self, name: Any) -> LayerPlacement:
        """A placement."""
        return self.get(name, LayerPlacement)

    def store(self, args: Args, value: Any) -> None:
        """Keep `value` under `as`, by default under `on`."""
        self.handles[text(args, "as" if "as" in args else "on")] = value

    def store_if_named(self, args: Args, value: Any) -> None:
        """Keep `value` if the step has `as`."""
        if "as" in args:
            self.handles[text(args, "as")] = value

    # --- Names for what has none -----------------------------------------------------------------------

    def device(self, name: Any) -> Device:
        """The device of a name of the case: `d0` is `sim:0`."""
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None or int(found[1]) >= 256:
            raise StepError(f"{name!r} names no device")
        return Device.parse(f"sim:{found[1]}{found[2] or ''}")

    def devices(self, args: Args, key: str) -> list[Device]:
        """A list of devices."""
        return [self.device(name) for name in items(args, key)]

    def known_id(self, number: int) -> ParamId:
        """An id that the case wrote itself: it prints as its number."""
        if number >= 1 << 64:
            raise StepError(f"{number} is no parameter id")
        self._known.add(number)
        return ParamId.from_int(number)

    def id_label(self, id: int) -> str:
        """The id as results write it."""
        number = int(id)
        if number < 1 << 32 or number in self._known:
            return str(number)
        return f"new#{self._fresh.setdefault(number, len(self._fresh))}"

    def meet_ids(self, module: ModuleTrait) -> None:
        """Number the random ids of a module in visit order, before a text shows them."""
        module.visit(_Meet(self))

    def mask(self, message: str) -> str:
        """The text with devices, met random ids, the case's folder and scratch names replaced."""
        if self._folder is not None:
            message = message.replace(str(self._folder), "<scratch>")
        message = _DEVICE.sub(lambda found: f"<d{found[1]}{found[2] or ''}>", message)
        for number, k in self._fresh.items():
            message = message.replace(str(ParamId.from_int(number)), f"<new#{k}>")
        return _SCRATCH.sub(".<n>", message)

    # --- Threads and files -----------------------------------------------------------------------------

    def on_thread(self, name: str, function: Callable[[], T]) -> T:
        """What `function` gives on the thread of that name (`main`: this one)."""
        if name == "main":
            return function()
        if name not in self._threads:
            self._threads[name] = ThreadPoolExecutor(1)
        return self._threads[name].submit(function).result()

    def folder(self) -> Path:
        """The folder of the case, made when first asked for."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="refimpl-case-"))
        return self._folder

    def file(self, args: Args) -> str:
        """The path of a file of the case."""
        return f"{self.folder()}/{text(args, 'file')}"


class _Meet(ModuleVisitor):
    def __init__(self, state: State) -> None:
        self._state = state

    def visit_float(self, param: Param[Any]) -> None:
        self._state.id_label(param.id)

    visit_int = visit_bool = visit_float

    def visit_flag(self, flag: Param[Any]) -> None:
        self._state.id_label(flag.id)


def device_name(device: Device) -> str:
    """The case's own name of a device."""
    return f"d{device}".replace("sim:", "", 1)


def executes(device: Device) -> bool:
    """Whether tensors there hold values that results may show."""
    return device.index == 0
