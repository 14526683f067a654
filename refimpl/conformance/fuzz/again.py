"""Ask one trace in a fresh process: `python -m refimpl.conformance.fuzz.again SUBJECT < steps.json`."""

from __future__ import annotations

import sys

import msgspec

from ..subject import open_subject
from .comparison import Comparison


def main() -> int:
    """Print the kind of disagreement, or nothing."""
    steps = msgspec.json.decode(sys.stdin.buffer.read(), type=list[dict[str, object]])
    with open_subject("refimpl") as reference, open_subject(sys.argv[1]) as subject:
        found = Comparison(reference, subject).ask(steps)
    sys.stdout.write("" if found is None else found.kind + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
