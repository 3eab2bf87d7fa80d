"""What is registered with torch while a program is recorded, and taken away again afterwards.

Everything here runs inside the program's own calls, in any of its threads: it translates what happens to events and
decides nothing. The only part of `runtime_check`, beside the simulated accelerator and the cost model, that imports
torch.
"""

from __future__ import annotations

import contextlib

from runtime_check.hooks.observer import Observer


class Hooks:
    """All hooks of the process, registered from the construction on until `remove`. Raises what torch raises, and then
    nothing is left registered."""

    def __init__(self, observer: Observer) -> None:
        from runtime_check.hooks import (
            backward,
            calls,
            device,
            explicit,
            fallback,
            operators,
            overrides,
            patches,
            processes,
            steps,
            sync_debug,
        )

        self._observer = observer
        self._traced = contextlib.ExitStack()
        key = device.key()
        patches.prepare()
        with contextlib.ExitStack() as undo:
            undo.callback(patches.restore)
            if key:
                install = overrides.install if overrides.available() else fallback.install
                undo.callback(install(observer, key))
            undo.callback(explicit.install(observer))
            undo.callback(backward.install(observer))
            undo.callback(calls.install(observer))
            undo.callback(steps.install(observer.step))
            undo.callback(processes.install(lambda process, why: observer.note("missing", process, why)))
            undo.callback(sync_debug.install(observer))
            undo.callback(operators.install(observer))
            self._installed = undo.pop_all()

    def trace(self, wanted: bool) -> None:
        """Add, or take away, what only the `trace` level needs: both ends of each transfer, the Python objects that
        reads return, and moves that cross nothing."""
        from runtime_check.hooks import moves, patches, scalars, writes
        from runtime_check.hooks.ends import Ends

        if wanted == (self._observer.ends is not None):
            return
        self._traced.close()
        if not wanted:
            return
        observer = self._observer
        patches.prepare()
        with contextlib.ExitStack() as undo:
            undo.callback(patches.restore)
            ends = Ends(observer.note)
            undo.callback(ends.forget)
            undo.callback(writes.install(observer))
            undo.callback(scalars.install(observer))
            undo.callback(moves.install(observer))
            undo.callback(setattr, observer, "ends", None)
            observer.ends = ends
            self._traced = undo.pop_all()

    def remove(self) -> None:
        """Take everything away."""
        self._traced.close()
        self._installed.close()
