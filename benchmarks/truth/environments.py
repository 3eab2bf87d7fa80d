"""An environment a package: its own site-packages over those of one environment that holds torch.

`$TRUTH_ENV` (by default `.truth` beside the checkout's root) holds them all. `base` is made once, with
`python3.12 -m venv base` and `base/bin/pip install torch torchvision torchaudio`; each package's is made from it, in
seconds, and made anew where what the workload file asks for has changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from truth.marks import Package

ROOT = Path(__file__).parents[2]
HELD = ("torch", "torchvision", "torchaudio", "triton", "numpy")  # versions that no package may change
PYTHON = "python3.12"


class NotInstalled(Exception):
    """A package whose environment could not be made; the message is one line."""


def folder() -> Path:
    """Where the environments are."""
    return Path(os.environ.get("TRUTH_ENV") or ROOT / ".truth").resolve()


def base() -> Path:
    """The interpreter of the environment that holds torch, made where it is not there. Raises NotInstalled."""
    python = folder() / "base" / "bin" / "python"
    if not python.exists():
        interpreter = os.environ.get("TRUTH_PYTHON") or shutil.which(PYTHON)
        if interpreter is None:
            raise NotInstalled(f"{PYTHON} is not there; name a Python 3.12 or later in TRUTH_PYTHON")
        _run([interpreter, "-m", "venv", str(folder() / "base")], "no environment could be made")
        _run([str(python), "-m", "pip", "install", "--quiet", *HELD[:3]], "torch could not be installed")
    return python


def site_packages(environment: Path) -> Path:
    """The folder that an environment's packages lie in."""
    return next((environment / "lib").glob("python3.*/site-packages"))


def places(python: Path) -> list[Path]:
    """Where the packages of an environment lie: its own folder, and the one it shares."""
    return [site_packages(one) for one in (python.parent.parent, folder() / "base")]


def ensure(name: str, package: Package) -> Path:
    """The interpreter of a package's environment, made where needed. Raises NotInstalled."""
    shared = site_packages(base().parent.parent)
    environment = folder() / "packages" / name
    stamp = environment / "asked.json"
    asked = json.dumps([package.requirement, package.extra, package.alone])
    python = environment / "bin" / "python"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == asked:
        return python
    shutil.rmtree(environment, ignore_errors=True)
    _run([str(base()), "-m", "venv", "--without-pip", str(environment)], "no environment could be made")
    adds = f"import site; site.addsitedir({str(shared)!r})\n"  # with what its own .pth files do: distutils needs one
    (site_packages(environment) / "shared.pth").write_text(adds, encoding="utf-8")
    install = [str(base()), "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    held = environment / "held.txt"
    held.write_text(_held(shared), encoding="utf-8")
    if package.alone:
        _run([*install, "--no-deps", package.requirement], f"{package.requirement} could not be installed")
        wanted = list(package.extra)
    else:
        wanted = [package.requirement, *package.extra]
    if wanted:
        _run([*install, "--constraint", str(held), *wanted], f"{' '.join(wanted)} could not be installed")
    stamp.write_text(asked, encoding="utf-8")
    return python


def _held(shared: Path) -> str:
    found = (next(shared.glob(f"{name}-*.dist-info"), None) for name in HELD)
    return "".join(f"{one.name.removesuffix('.dist-info').replace('-', '==', 1)}\n" for one in found if one)


def _run(command: list[str], what: str) -> None:
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        lines = [line for line in made.stderr.strip().splitlines() if "notice" not in line] or ["it said nothing"]
        said = next((line for line in lines if line.startswith("ERROR")), lines[-1])
        print(made.stderr[-2000:], file=sys.stderr)
        raise NotInstalled(f"{what}: {said}")
