"""numpy reads an array of the CPU's by the buffer protocol, past everything in Python; here it is seen.

`np.asarray`, `np.array`, numpy's functions, `.item()` and `memoryview` ask the type's slot `bf_getbuffer` (Python/C API
reference, "Buffer Object Structures"). JAX gives buffers of the CPU's arrays alone; an accelerator's array is read by
`__array__`. The slot gets a function that says what is read and hands on. Where the slot lies follows from the size of
Python's object header; that it is there is checked against the type's flags, which lie beside it.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from runtime_check.jax_hooks.memory import platform_of
from runtime_check.jax_hooks.tap import ARRAY, Tap
from transferlint.model import Direction

_WORD = ctypes.sizeof(ctypes.c_void_p)
# PyTypeObject: PyVarObject_HEAD, 17 words from tp_name to tp_setattro, tp_as_buffer, tp_flags (object.h).
_BUFFER = object.__basicsize__ + _WORD + 17 * _WORD
_FLAGS = _BUFFER + _WORD
_VECTORCALL = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
_Get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)


class Layout(Exception):
    """This Python's type objects are laid out in another way; the message is one line."""


def install(tap: Tap, array: type) -> Callable[[], None]:
    """Have reads by the buffer protocol seen; gives what undoes it. Does nothing for a class without one. Raises
    Layout."""
    check(array)
    table = ctypes.c_void_p.from_address(id(array) + _BUFFER).value
    slot = ctypes.c_void_p.from_address(table) if table else None
    before = slot.value if slot is not None else None
    if slot is None or before is None:
        return _nothing
    original: Callable[[Any, int, int], int] = _Get(before)
    local, known = tap.local, tap.read

    def get(self: Any, view: int, flags: int) -> int:
        """Nothing may be raised from here. A failure without an error set is told as a SystemError, and numpy goes on
        to `__array__`, which raises what there is to be raised."""
        try:
            if local.inside or self in known:
                return original(self, view, flags)
            platform = platform_of(tap, self)
            event = tap.begin(Direction.D2H, self.nbytes, True, platform, ARRAY) if platform else None
            found = original(self, view, flags)
            if event is not None and found == 0:
                event.started = time.perf_counter_ns()
                known.add(self)
                tap.finish(event)
            return found
        except BaseException:  # the original's, or a guard's
            return -1

    ours = _Get(get)
    slot.value = ctypes.cast(ours, ctypes.c_void_p).value

    def undo() -> None:
        if slot.value == ctypes.cast(ours, ctypes.c_void_p).value:
            slot.value = before

    return undo


def check(kind: type) -> None:
    """Raises Layout where the type's flags do not lie where they should."""
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS).value
    if flags != kind.__flags__:
        raise Layout("this build of Python lays types out in a way that JAX's reads cannot be seen by")


def call_by_name(kind: type) -> Callable[[], None]:
    """Have calls of a class's objects go by `__call__` and not past it, as Python 3.12 and later do by themselves once
    `__call__` is assigned ("What's New In Python 3.12", Vectorcall). Gives what undoes it; raises Layout."""
    check(kind)
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    had = flags.value & _VECTORCALL
    flags.value &= ~_VECTORCALL
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))

    def undo() -> None:
        flags.value |= had
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))

    return undo


def _nothing() -> None:
    """Nothing was replaced."""
