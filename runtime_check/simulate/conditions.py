"""What must hold before anything is changed. Each check answers with one line, "" where all is well."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

from runtime_check.simulate.refused import Refused

OLDEST = (2, 10)
DEVICES = "TRANSFERLINT_SIMULATED_DEVICES"
MOST_DEVICES = 16  # as many as the largest nodes have


def unmet() -> str:
    """Why no simulation can be started here, "" where nothing speaks against it. Imports torch last."""
    return _machine() or _real_device() or _torch()


def devices() -> int:
    """How many devices the environment asks for: one where it says nothing. Raises Refused where it says nonsense."""
    said = os.environ.get(DEVICES, "").strip() or "1"
    if not said.isdecimal() or not 1 <= int(said) <= MOST_DEVICES:
        raise Refused(f"{DEVICES}={said} is no number of devices from 1 to {MOST_DEVICES}", torch_version())
    return int(said)


def torch_version() -> str:
    """The installed torch, "" where there is none."""
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _machine() -> str:
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64"):
        return f"it needs Linux on x86-64, this is {platform.system()} on {platform.machine()}"
    if sys.implementation.name != "cpython":
        return f"it needs CPython, this is {sys.implementation.name}"
    return ""


def _real_device() -> str:
    """A driver that is loaded and not hidden is a real device, whatever the torch build can do with it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return ""
    drivers = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/kfd"))
    if any(path.exists() for path in drivers):
        return "a real GPU is visible; hide it with CUDA_VISIBLE_DEVICES= to simulate one, or verify on the GPU itself"
    return ""


def _torch() -> str:
    version = torch_version()
    if not version:
        return "torch is not installed"
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        return f"it needs torch {OLDEST[0]}.{OLDEST[1]} or later"
    import torch

    if torch.cuda._is_compiled():
        if torch.version.hip is not None:
            return "it does not know torch's ROCm builds"
        if torch.cuda.is_available():
            return "torch sees a real GPU; hide it with CUDA_VISIBLE_DEVICES= to simulate one"
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is not None:
        return f"torch sees a real accelerator ({accelerator.type})"
    return ""
