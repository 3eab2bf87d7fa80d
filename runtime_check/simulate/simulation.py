"""The start: conditions, a try-out in a forked process, then the changes to this one, taken back on failure."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.refused import Refused

if TYPE_CHECKING:
    from runtime_check.simulate.captures import Captures

Callback = Callable[[str, int], None]


class Simulation:
    """The simulated accelerator of this process. There is one, and it stays until the process ends."""

    device_name = "Simulated CUDA device"
    captures: Captures
    """Whether a CUDA graph is being captured."""

    def __init__(self) -> None:
        self._callback: Callback | None = None
        self.changes = Changes()  # holds the registrations: torch drops them with their library

    def on_sync(self, callback: Callback | None) -> None:
        """Have `callback(operation, bytes)` called for each wait that a CUDA kernel would make inside itself and no
        operator shows ("aten::nonzero", 4), in the thread and at the moment of the call; None: no longer."""
        self._callback = callback

    def report(self, operation: str, bytes: int) -> None:
        """Called by kernels."""
        if self._callback is not None:
            self._callback(operation, bytes)

    def leave(self, status: int) -> NoReturn:
        """End the process with `status`; see `runtime_check.simulate.leaving`."""
        from runtime_check.simulate.leaving import leave

        leave(status)

    def ends_at_once(self) -> None:
        """Say that the process will end by `os._exit`, after its atexit handlers: they need not wait for anything."""
        from runtime_check.simulate.leaving import settle

        atexit.unregister(settle)


def refusal(devices: int = 1) -> str:
    """Why the simulation can not start in this process, in one line; "" where it can."""
    from runtime_check.simulate import conditions, trial

    why = conditions.unmet()
    if not why:
        why = trial.run(lambda: install(Simulation(), devices))
    return str(Refused(why, conditions.torch_version())) if why else ""


def begin(devices: int = 1, fresh: bool = False) -> Simulation:
    """Start it, with so many devices; `fresh`: in a process that has just imported torch. Raises Refused, and then
    nothing was changed."""
    from runtime_check.simulate import conditions, leaving, trial, tried

    version = conditions.torch_version()
    why = conditions.unmet()
    if not why:
        why = trial.run(lambda: install(Simulation(), devices), tried.stamp(devices) if fresh else "")
    if why:
        raise Refused(why, version)
    simulation = Simulation()
    try:
        install(simulation, devices)
    except Exception as error:
        simulation.changes.undo()
        raise Refused(getattr(error, "why", "") or f"{type(error).__name__}: {error}", version) from error
    if devices == 1:
        _go_backward_in_one_thread()
    atexit.register(leaving.settle)
    return simulation


def install(simulation: Simulation, devices: int = 1) -> None:
    """Change this process. Raises Refused and whatever torch raises; `changes.undo()` takes back what was done."""
    from runtime_check.simulate import cuda_hooks, cuda_wheel, device_guard, dispatcher, facade, forge, ordinals
    from runtime_check.simulate.internals import torch

    changes = simulation.changes
    changes.attribute(ordinals.PRESENT, "count", devices)
    if devices > 1:
        simulation.device_name = f"{devices} simulated CUDA devices"
    has_cuda = bool(torch.cuda._is_compiled())
    made = forge.make()
    simulation.captures = made.captures
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*previously registered kernel")
        device_guard.install(changes, has_cuda)
        cuda_hooks.install(changes, has_cuda)
        facade.install(changes, made)
        kept = dispatcher.install(changes, made, simulation.report)
        if has_cuda:
            cuda_wheel.install(changes, made, simulation.report, kept)


def _go_backward_in_one_thread() -> None:
    """Compute gradients in the thread that asks for them, as those of host tensors. Autograd has a thread of its own
    for each device, to keep it busy; a simulated one needs none, and has its memory in the caches of the thread that
    went forward. Several devices keep theirs, each with its own current device. It is a setting of this thread
    (c10/core/AutogradState.h), which a program may take back by `torch.autograd.set_multithreading_enabled`."""
    from runtime_check.simulate.internals import torch

    torch.autograd.set_multithreading_enabled(False)
