"""The state of one case, and which answer belongs to which step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .data import Step
from .outcome import EndedError, LackingError, outcome_of

#: What a step that stores nothing, or that stored its result, comes to.
NOTHING: Step = {}


class Trace:
    """Handles, the ids that were met, and a folder that is made when it is needed."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self.fresh: dict[int, int] = {}
        self._folder: str | None = None

    def outcome(self, step: Step, answers: Mapping[str, Answer]) -> Step:
        name = step["do"] if "do" in step else f"observe.{step.get('observe')}"
        try:
            if name not in answers:
                raise LackingError(name)
            return {"ok": answers[name](self, step)}
        except (LackingError, EndedError) as error:
            return outcome_of(error)

    def get(self, step: Step, key: str, kind: type[Any] | tuple[type[Any], ...]) -> Any:
        """What a handle that the step names holds."""
        if step[key] not in self.handles:
            raise EndedError("error", "Protocol", f"nothing is called {step[key]!r}")
        held = self.handles[step[key]]
        if not isinstance(held, kind):
            raise LackingError(f"{step.get('do', step.get('observe'))} of a {type(held).__name__}")
        return held

    def take(self, step: Step, kind: type[Any] | tuple[type[Any], ...]) -> Any:
        """The same, for a step that consumes `on`."""
        held = self.get(step, "on", kind)
        del self.handles[step["on"]]
        return held

    def store(self, step: Step, value: Any) -> Step:
        self.handles[step.get("as", step.get("on"))] = value
        return NOTHING

    def label(self, tensor: Any) -> str:
        """The id of a parameter, as results write it."""
        if tensor.known_id is not None:
            return str(tensor.known_id)
        return f"new#{self.fresh.setdefault(tensor.number, len(self.fresh))}"

    def file(self, step: Step) -> Path:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="refimpl-torch-")
        return Path(self._folder, step["file"])

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder)


Answer = Callable[[Trace, Step], Any]
