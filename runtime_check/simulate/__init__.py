"""A simulated CUDA device, or several: a program that says `cuda` runs on a machine without one.

It computes on the host, bit for bit what the CPU computes, raises what CUDA raises for mixed places, and takes
transfers the way they take on CUDA, so that the recorder's overrides see them. It records nothing itself. What it can
not do is listed in docs/simulator.md.
"""

from __future__ import annotations

import sys

from runtime_check.simulate.refused import Refused
from runtime_check.simulate.simulation import Simulation

__all__ = ["Refused", "Simulation", "refusal", "running", "start"]

_RUNNING: list[Simulation] = []  # the process has one simulation or none: the one piece of state that can not be passed


def refusal(devices: int = 0) -> str:
    """Why `start` would refuse, in one line; "" where it can start. Nothing is changed in this process: a forked one
    tries it (half a second)."""
    from runtime_check.simulate import conditions, simulation

    return "" if _RUNNING else simulation.refusal(devices or conditions.devices())


def start(devices: int = 0, *, fresh: bool = False) -> Simulation:
    """Start the simulation, or give the one that runs. Raises Refused, and then nothing was changed.

    `devices` says how many CUDA devices there are; 0 stands for what the environment variable
    TRANSFERLINT_SIMULATED_DEVICES says, and for one where it says nothing.

    Start it before the program: torch's autograd counts devices at the first backward pass, and what was imported from
    torch before keeps the names that it had. It can not be stopped. It is tried out in a forked process first, but for
    one that has just imported torch (`fresh`, or that imports it here) and where that went well before.
    """
    fresh = fresh or "torch" not in sys.modules
    import torch  # noqa: F401 - whoever waits for its import may start the simulation then

    from runtime_check.simulate import conditions, simulation

    if not _RUNNING:
        _RUNNING.append(simulation.begin(devices or conditions.devices(), fresh))
    return _RUNNING[0]


def running() -> Simulation | None:
    """The simulation of this process, None where none was started."""
    return _RUNNING[0] if _RUNNING else None
