"""What a start changed in the process, so that a start that fails leaves it as it was."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

MISSING = object()


class Changes:
    """Attributes, C pointers and kernel registrations that were changed. `undo` takes them back, newest first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._libraries: dict[str, Any] = {}
        self.kernels: dict[tuple[str, str], Callable[..., Any]] = {}  # by operator and dispatch key

    def attribute(self, owner: Any, name: str, value: object) -> None:
        """Set `owner.name`; `owner` is a module, a class or a plain object."""
        before = vars(owner).get(name, MISSING)
        if before is MISSING:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def pointer(self, address: int, value: int | None) -> None:
        """Write a machine word. Whoever calls has checked that `address` is what it should be."""
        word = ctypes.c_void_p.from_address(address)
        before = word.value
        self._undo.append(lambda: setattr(word, "value", before))
        word.value = value

    def call(self, undo: Callable[[], object]) -> None:
        """Remember how to take back something that was done elsewhere."""
        self._undo.append(undo)

    def kernel(self, name: str, function: Callable[..., Any], key: str = "CUDA") -> None:
        """Register `function` for the operator `name` ("aten::add.Tensor") at a dispatch key."""
        namespace, _, rest = name.partition("::")
        self.kernels[name, key] = function
        self.library(namespace).impl(rest, function, key, allow_override=True)

    def library(self, namespace: str) -> Any:
        """Torch's registrations of one namespace, as one `torch.library.Library` that is dropped by `undo`."""
        from runtime_check.simulate.internals import torch

        if namespace not in self._libraries:
            library = torch.library.Library(namespace, "IMPL")
            _outlive_exit_handlers(library)
            self._libraries[namespace] = library
            self._undo.append(library._destroy)
        return self._libraries[namespace]

    def undo(self) -> None:
        """Take everything back, newest first."""
        while self._undo:
            self._undo.pop()()
        self._libraries.clear()


def _outlive_exit_handlers(library: Any) -> None:
    """Torch drops a library's kernels among the exit handlers, while other threads may still need them."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        alive = finalizer.peek()
        if alive is not None and alive[0] is library:
            finalizer.atexit = False


def keep_for_ever(value: object) -> None:
    """C code holds a pointer into `value` until the process ends: its memory must never be given back."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
