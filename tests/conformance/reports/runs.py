"""Runs as a log would give them."""

from __future__ import annotations

from refimpl.conformance.events import Ended, Judged, Run, Started
from refimpl.conformance.matcher import Difference
from refimpl.conformance.protocol import Implementation

#: What a stranger may put into a name: markup, the end of a script, control and odd characters.
HOSTILE = (
    "</script><script>broken = 1</script><img src=x onerror='broken=1'>\x00\x1b[31m\ud800 ]]> `|* \u2028"
)


def judged(name: str, clause: str, verdict: str, subject: str) -> Judged:
    failed = verdict not in ("pass", "unsupported")
    return Judged(
        case=name,
        label=name,
        clauses=(clause,),
        truth="contract",
        level="must",
        verdict=verdict,
        why="A share that is another.",
        step=0 if failed else None,
        difference=Difference("$.ok", "1", "2", "step 3: $.ok[7]") if verdict == "fail" else None,
        message="" if verdict == "fail" else "said so",
        repeat=f"refimpl conform --subject {subject} --case {name}" if failed else "",
        seconds=0.25,
    )


def run_of(subject: str, *, plc: str = "pass", dev: str = "pass", code: int | None = 0) -> Run:
    """A run of two cases."""
    results = [judged("dev.one", "DEV-1", dev, subject), judged("plc.one", "PLC-3", plc, subject)]
    end = None if code is None else Ended(code, 1.5)
    return Run(Started(subject, Implementation(subject, "1")), results, end=end)


def hostile_run() -> Run:
    """A run whose subject, case, difference and message are hostile."""
    name = HOSTILE.replace("\ud800", "")
    bad = Judged(
        case=f"plc.{name}",
        label=f"plc.{name}",
        clauses=("PLC-3",),
        truth="contract",
        level="must",
        verdict="fail",
        why=name,
        step=0,
        difference=Difference(name, name, name, name),
        message=name,
        repeat=name,
    )
    return Run(Started(name, Implementation(name, name, name, name)), [bad], end=Ended(1))
