"""Running recursive code on a stack large enough for source that nests deeply."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

DEEP_STACK_BYTES = 512 * 1024 * 1024  # reserved, not used: pages are taken when the stack grows into them
RECURSION_LIMIT = 400_000
# The size of new threads' stacks is the process's: who starts one while another does would put back the other's.
_STARTING = threading.Lock()


def with_deep_stack(function: Callable[[], Result]) -> Result:
    """What `function` returns, run with a large stack and a high recursion limit, both as before afterwards.

    Whatever it raises is raised here.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        return with_stack(function, DEEP_STACK_BYTES)
    finally:
        sys.setrecursionlimit(limit)


def with_stack(function: Callable[[], Result], stack_bytes: int) -> Result:
    """What `function` returns, run in a thread with a stack of its own; whatever it raises is raised here.

    Where the system refuses so large a stack, smaller ones are tried, down to 16 MB.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            failure.append(error)

    thread = start(run, stack_bytes)
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def start(run: Callable[[], None], stack_bytes: int) -> threading.Thread:
    """A started thread that runs `run` on a stack of that size, or of a smaller one where the system refuses it. Raises
    RuntimeError where it refuses 16 MB."""
    with _STARTING:
        size = threading.stack_size()
        try:
            while True:
                threading.stack_size(stack_bytes)
                thread = threading.Thread(target=run, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    if stack_bytes <= 16 * 1024 * 1024:
                        raise
                    stack_bytes //= 2
                else:
                    return thread
        finally:
            threading.stack_size(size)
