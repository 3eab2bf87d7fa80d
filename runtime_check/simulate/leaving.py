"""The end of a process with device threads.

Autograd's threads for the device may be about to take the interpreter's lock when the interpreter goes: a simulated
tensor's memory belongs to a Python object, and such a thread may be the last to let go of it, after `backward` has
returned. CPython before 3.14 then ends the thread in the middle of C++, which aborts the process (its issue 87135). So
whoever runs a program as a whole ends it by `leave`, and where the interpreter ends by itself, `settle` comes first.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

NAMED = "pt_autograd_"  # torch/csrc/autograd/engine.cpp: Engine::thread_init
LONGEST_WAIT = 10.0  # seconds; as long as torch waits for the same threads (TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT)


def leave(status: int) -> NoReturn:
    """End the process as the interpreter does, but for its own teardown: wait for threads that are no daemons, run the
    atexit handlers, flush, and exit with `status`."""
    atexit.unregister(settle)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    os._exit(status)


def settle() -> None:
    """Wait until autograd's threads have nothing left to do, and at the latest for LONGEST_WAIT.

    A thread that waits for the interpreter's lock wakes while this one sleeps: it then runs, or has been switched to.
    One that sleeps through waits for work.
    """
    until = time.monotonic() + LONGEST_WAIT
    before = asleep()
    while before != {} and time.monotonic() < until:
        time.sleep(0.002)
        now = asleep()
        if now is not None and now == before:
            return
        before = now


def asleep() -> dict[str, str] | None:
    """Of each of autograd's threads how often it has gone to sleep, where all of them sleep; else None (proc(5))."""
    found: dict[str, str] = {}
    for path in Path("/proc/self/task").glob("*/status"):
        try:
            said = dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)
        except OSError:  # it has just ended
            continue
        if said["Name"].startswith(NAMED):
            if not said["State"].startswith("S"):
                return None
            found[path.parent.name] = said["voluntary_ctxt_switches"]
    return found
