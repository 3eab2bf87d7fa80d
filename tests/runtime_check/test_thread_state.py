"""Objects in torch's thread-local state live as long as they are there, whether or not torch takes a reference."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable

import pytest

from runtime_check.hooks import thread_state


class Kept:
    """Something that can be watched."""


def stealing(kept: dict[str, object]) -> Callable[[str, object], None]:
    """As some versions of torch do it: no reference is taken, and one is given up when another object comes."""
    give = ctypes.pythonapi.Py_DecRef
    give.argtypes = [ctypes.py_object]
    give.restype = None
    held: dict[str, int] = {}

    def put(name: str, value: object) -> None:
        before = held.get(name)
        held[name] = id(value)
        if before is not None:
            give(ctypes.cast(before, ctypes.py_object))

    return put


def taking(kept: dict[str, object]) -> Callable[[str, object], None]:
    return kept.__setitem__


@pytest.mark.parametrize("make", [stealing, taking])
def test_what_is_stashed_lives_until_it_is_replaced(
    make: Callable[[dict[str, object]], Callable[[str, object], None]],
) -> None:
    put = thread_state.balanced(make({}))
    one = Kept()
    watched, before = weakref.ref(one), sys.getrefcount(one)
    put("name", one)
    assert sys.getrefcount(one) == before + 1
    del one
    assert watched() is not None
    put("name", None)
    assert watched() is None


def test_torchs_own_keeps_the_count() -> None:
    torch = pytest.importorskip("torch")
    put = thread_state.balanced(torch._C._stash_obj_in_tls)
    one = Kept()
    before = sys.getrefcount(one)
    for _ in range(10):
        put("runtime_check.test", one)
        assert sys.getrefcount(one) == before + 1
        put("runtime_check.test", None)
        assert sys.getrefcount(one) == before
