"""What a child process does with interrupts: told by the test, and not inherited from whoever started the suite.

A shell without job control, `nohup` and some runners of CI start what runs in the background with SIGINT ignored, and
that is handed on to every child (signal(7)).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_CODE = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.{})\nos.execv(sys.argv[1], sys.argv[1:])"


def interruptible(command: Sequence[str]) -> list[str]:
    """The command, started as a person at a terminal would; its program is named by its path."""
    return [sys.executable, "-S", "-c", _CODE.format("SIG_DFL"), *command]


def uninterruptible(command: Sequence[str]) -> list[str]:
    """The command, started as `nohup` would, or a script in the background; its program is named by its path."""
    return [sys.executable, "-S", "-c", _CODE.format("SIG_IGN"), *command]
