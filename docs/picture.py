"""Draw `docs/conform.svg`, the picture in the README, from a real run: `python docs/picture.py`."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COMMAND = "refimpl conform"


def main() -> None:
    """Run the command and draw what it prints."""
    run = subprocess.run(
        [sys.executable, "-m", "refimpl.cli.main", *COMMAND.split()[1:]],
        capture_output=True,
        text=True,
        check=True,
    )
    console = Console(record=True, width=66, file=io.StringIO())
    console.print(Text(f"$ {COMMAND}\n", style="bold"))
    console.print(Text(run.stdout.rstrip()), soft_wrap=False)
    picture = console.export_svg(title=COMMAND, unique_id="conform")
    # The picture fetches nothing: the reader's own fixed-width font will do.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (Path(__file__).parent / "conform.svg").write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
