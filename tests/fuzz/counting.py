"""How much work something is, in calls: the same on every machine, whatever else runs there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Runaway(BaseException):
    """More calls than allowed; not an Exception, so that nobody on the way takes it for a defect and goes on."""


def calls(work: Callable[[], Any], limit: int) -> int:
    """How many calls `work` makes, of functions in Python and in C. Raises Runaway beyond `limit`."""
    count = 0

    def called(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if count > limit:
                sys.setprofile(None)
                raise Runaway(f"more than {limit:,} calls")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
