"""What tells that the simulation has been tried out with this torch before, for processes that have just imported it:
what a try-out would find there rests on torch and on this code alone, and it takes as long as the start itself."""

from __future__ import annotations

import hashlib
import os
import platform
import sys

from transferlint.cache.places import base_folder, unfit


def stamp(devices: int) -> str:
    """The path of a file that is there once a try-out with so many devices went well, "" where no cache may be used.
    Its name changes with all that the outcome rests on: the machine, Python, torch's files, and the simulation's."""
    from runtime_check.simulate.internals import C, torch

    folder = os.path.join(base_folder(os.environ), "simulation")
    if unfit(folder, ()):
        return ""
    parts = [sys.version, platform.machine(), torch.__version__, torch.backends.cpu.get_cpu_capability(), str(devices)]
    parts += map(_state, (torch.__file__, C.__file__))
    for place, folders, names in os.walk(os.path.dirname(__file__)):
        folders.sort()
        parts += (_state(os.path.join(place, name)) for name in sorted(names) if name.endswith(".py"))
    return os.path.join(folder, hashlib.sha256("\0".join(parts).encode()).hexdigest())


def _state(path: str) -> str:
    found = os.stat(path)
    return f"{path} {found.st_size} {found.st_mtime_ns}"
