"""Which subjects there are beside the reference, and whether they can run here."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from refimpl.conformance.clauses import spec_folder

ADAPTERS = Path(__file__).resolve().parents[1] / "adapters"
EXPECTATIONS = spec_folder() / "expectations"
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
#: The adapters that the documentation shows, which know little: the name, what runs them, the file.
EXAMPLES = (("template", sys.executable, "adapter.py"), ("javascript", "node", "adapter.mjs"))
TORCH = "py:tests.adapters.torch_subject:TorchSubject"


@dataclass(frozen=True)
class Known:
    """A subject, by the name that the matrix gives it."""

    name: str
    place: str

    @property
    def expectations(self) -> Path | None:
        path = EXPECTATIONS / f"{self.name}.toml"
        return path if path.is_file() else None


def found() -> tuple[list[Known], dict[str, str]]:
    """The subjects that can run here, and why the others cannot."""
    here, missing = [Known("refimpl", "refimpl")], {}
    for name, folder in (("burn", "burn"), ("burn_store", "burn-store")):
        program, why = built(ADAPTERS / folder, f"{folder}-adapter")
        if program is None:
            missing[name] = why
        else:
            here.append(Known(name, "burn" if name == "burn" else f"cmd:{program}"))
    wgpu = program_of(ADAPTERS / "burn-wgpu", "burn-wgpu-adapter")
    if wgpu.is_file():
        here.append(Known("burn_wgpu", f"cmd:{wgpu}"))
    else:
        missing["burn_wgpu"] = "not built, which takes a quarter of an hour or more: `make wgpu`"
    if importlib.util.find_spec("torch") is None:
        missing["torch"] = "PyTorch is not installed"
    else:
        here.append(Known("torch", TORCH))
    for name, runner, file in EXAMPLES:
        program = shutil.which(runner)
        if program is None:
            missing[name] = f"there is no {runner}"
        else:
            here.append(Known(name, f"cmd:{shlex.join([program, str(HOW_TO / file)])}"))
    return here, missing


def program_of(crate: Path, name: str) -> Path:
    """Where cargo puts the program of a crate."""
    return Path(os.environ.get("CARGO_TARGET_DIR", crate / "target")) / "release" / name


def built(crate: Path, name: str) -> tuple[Path | None, str]:
    """The program of a crate, built now; or None, and why."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None, "there is no cargo"
    build = [
        cargo,
        "build",
        "--release",
        "--quiet",
        "--manifest-path",
        str(crate / "Cargo.toml"),
        "--bin",
        name,
    ]
    done = subprocess.run(build, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return None, f"cargo ended with code {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}"
    return program_of(crate, name), ""
