"""`torch.cuda` and its neighbours, answering as on a machine with GPUs."""

from __future__ import annotations

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.forge import Forge


def install(changes: Changes, forge: Forge) -> None:
    """Replace what asks or steers the device from Python."""
    from runtime_check.simulate import pinned
    from runtime_check.simulate.facade import (
        accelerator,
        backends,
        compiling,
        device,
        distributed,
        graphs,
        legacy,
        memory,
        parallel,
        processes,
        randomness,
        storages,
        streams,
    )

    pinned.install(changes)
    held = streams.install(changes, forge.captures)
    graphs.install(changes, forge.captures)
    device.install(changes)
    memory.install(changes)
    randomness.install(changes)
    accelerator.install(changes, held, forge.captures)
    storages.install(changes)
    backends.install(changes)
    compiling.install(changes)
    parallel.install(changes, forge)
    distributed.install(changes)
    legacy.install(changes)
    processes.install(changes)
