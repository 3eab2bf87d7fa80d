"""Python objects in torch's thread-local state, which autograd hands on to its own threads."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

Put = Callable[[str, object], None]


def balanced(put: Put) -> Put:
    """`torch._C._stash_obj_in_tls`, which puts an object there under a name, such that the object lives as long as it
    is there, whatever the version of torch: a reference is given up when another object takes its place, and some
    versions (2.8 to 2.11) do not take one before."""
    take = ctypes.pythonapi.Py_IncRef
    take.argtypes = [ctypes.py_object]
    take.restype = None
    probe = object()
    before = sys.getrefcount(probe)
    put("runtime_check.probe", probe)
    if sys.getrefcount(probe) > before:
        return put
    take(probe)

    def stash(name: str, value: object) -> None:
        take(value)
        put(name, value)

    return stash
