"""The end of a process with device threads.

Autograd's threads for the device may be about to take the interpreter's lock when the interpreter goes: CPython then
ends them in the middle of C++, which aborts the process. So whoever runs a program as a whole ends it here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End the process as the interpreter does, but for its own teardown: wait for threads that are no daemons, run the
    atexit handlers, flush, and exit with `status`."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    os._exit(status)
