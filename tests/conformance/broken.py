"""Python subjects that are wrong."""

from __future__ import annotations

from typing import Any


class Short:
    """Answers no step at all."""

    def hello(self) -> dict[str, Any]:
        return {"protocol": 1, "impl": {"name": "short"}}

    def case(self, name: str, steps: list[dict[str, Any]]) -> list[Any]:
        return []

    def reset(self) -> None: ...


class Raises(Short):
    """Divides by zero."""

    def case(self, name: str, steps: list[dict[str, Any]]) -> list[Any]:
        return [1 / 0]


class Interrupted(Short):
    """Answers 1, until somebody presses Ctrl-C in the case `plc.two`."""

    def case(self, name: str, steps: list[dict[str, Any]]) -> list[Any]:
        if name == "plc.two":
            raise KeyboardInterrupt
        return [{"ok": 1} for _ in steps]


class Echo(Short):
    """Answers each step with its value; `flips` with another one each time."""

    count = 0

    def case(self, name: str, steps: list[dict[str, Any]]) -> list[Any]:
        Echo.count += 1
        return [self._answer(step) for step in steps]

    def _answer(self, step: dict[str, Any]) -> dict[str, Any]:
        if step["do"] == "flip":
            return {"ok": Echo.count}
        return step.get("say", {"ok": step.get("value")})
