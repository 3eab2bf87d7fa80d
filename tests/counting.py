"""What work costs, in a unit that the machine and what else it does have no part in."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(work: Callable[[], Any]) -> int:
    """How many functions `work` calls, in the threads that it starts too."""
    count = 0

    def called(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    threading.setprofile(called)
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]
    return count
