"""Subjects that are the reference but for one fault."""

from __future__ import annotations

from typing import Any

from refimpl.conformance.reference.subject import ReferenceSubject


class LastDevices(ReferenceSubject):
    """Gives the layers that do not divide to the last devices."""

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        outcomes = super().case(name, steps)
        for step, outcome in zip(steps, outcomes, strict=True):
            if step.get("do") == "placement.even" and "ok" in outcome:
                outcome["ok"]["hidden"].reverse()
        return outcomes


class SwapsFields(ReferenceSubject):
    """Tells of the last parameter first."""

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        outcomes = super().case(name, steps)
        for step, outcome in zip(steps, outcomes, strict=True):
            if step.get("observe") in ("state", "record") and "ok" in outcome:
                outcome["ok"].reverse()
        return outcomes


class Raises(ReferenceSubject):
    """Divides by zero when a module is frozen."""

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        if any(step.get("do") == "module.freeze" for step in steps):
            raise ZeroDivisionError
        return super().case(name, steps)
