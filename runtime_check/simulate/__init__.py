"""A simulated CUDA device: a program that says `cuda` runs on a machine without one.

It computes on the host, bit for bit what the CPU computes, raises what CUDA raises for mixed places, and takes
transfers the way they take on CUDA, so that the recorder's overrides see them. It records nothing itself. What it can
not do is listed in docs/simulator.md.
"""

from __future__ import annotations

from runtime_check.simulate.refused import Refused
from runtime_check.simulate.simulation import Simulation

__all__ = ["Refused", "Simulation", "refusal", "running", "start"]

_RUNNING: list[Simulation] = []  # the process has one device or none: the one piece of state that can not be passed


def refusal() -> str:
    """Why `start` would refuse, in one line; "" where it can start. Nothing is changed in this process: a forked one
    tries it (half a second)."""
    from runtime_check.simulate import simulation

    return "" if _RUNNING else simulation.refusal()


def start() -> Simulation:
    """Start the simulation, or give the one that runs. Raises Refused, and then nothing was changed.

    Start it before the program: torch's autograd counts devices at the first backward pass, and what was imported from
    torch before keeps the names that it had. It can not be stopped.
    """
    import torch  # noqa: F401 - whoever waits for its import may start the simulation then

    from runtime_check.simulate import simulation

    if not _RUNNING:
        _RUNNING.append(simulation.begin())
    return _RUNNING[0]


def running() -> Simulation | None:
    """The simulation of this process, None where none was started."""
    return _RUNNING[0] if _RUNNING else None
