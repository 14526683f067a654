"""Subjects that are the reference but for what they claim, support, or answer at first."""

from __future__ import annotations

from typing import Any

from refimpl.conformance.reference.subject import ReferenceSubject


class Lesser(ReferenceSubject):
    """Claims no quantisation, and supports no placement."""

    def hello(self) -> dict[str, Any]:
        greeting = super().hello()
        claimed = greeting["caps"]["capabilities"]
        greeting["caps"]["capabilities"] = [word for word in claimed if word != "quant"]
        return greeting

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        if name.startswith("plc."):
            return [{"unsupported": {"capability": "placement", "text": "not here"}} for _ in steps]
        return super().case(name, steps)


class Once(ReferenceSubject):
    """Wrong the first time that it is asked anything, and never again."""

    asked = 0

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        self.asked += 1
        outcomes = super().case(name, steps)
        return outcomes if self.asked > 1 else [{"ok": "a slip"} for _ in steps]


class RaisesOnce(ReferenceSubject):
    """Raises the first time that it is asked anything."""

    asked = 0

    def case(self, name: str, steps: Any) -> list[dict[str, Any]]:
        self.asked += 1
        if self.asked == 1:
            raise ZeroDivisionError("by nothing")
        return super().case(name, steps)
