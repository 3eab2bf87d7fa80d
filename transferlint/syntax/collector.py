"""Keeping Python's cyclic garbage collector out of work that makes many objects and no cycles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """The collector off while the context is open, and on again afterwards where it was on.

    Trees and programs are large and free of cycles: going through them again and again doubles the time it takes to
    make them, and finds nothing.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
