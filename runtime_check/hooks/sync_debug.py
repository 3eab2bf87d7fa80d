"""Waits that CUDA kernels make inside (nonzero, masked_select, unique, ...): torch warns of each, and the warning is
taken as the event.

`torch.cuda.set_sync_debug_mode` is a setting of the process; the warning is raised by c10/cuda/CUDAFunctions.cpp
(warn_or_error_on_sync) before the wait, so how long that takes is not known here. It is blind to pageable copies that
are asked not to wait and to waits for events and devices, which other hooks see. Torch hands warnings on when the
call from Python returns, those of autograd's threads when `backward` does. The simulated device tells the same by a
callback.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex

from runtime_check.hooks import device
from runtime_check.hooks.observer import Observer
from transferlint.model import Direction

MESSAGE = "called a synchronizing CUDA operation"
OPERATION = "(CUDA kernel)"  # torch does not say which
_PROTOTYPE = "Synchronization debug mode is a prototype feature"  # said once, when the mode is set
_OFF, _WARN = 0, 1


def install(observer: Observer) -> Callable[[], None]:
    """Have the warnings, or the simulated device's callback, reach the observer; gives what undoes it."""
    simulation = device.simulation()
    if simulation is not None:
        simulation.on_sync(lambda operation, size: _waits(observer, operation, size))
        return lambda: simulation.on_sync(None)
    import torch

    if not torch.cuda.is_available() or not hasattr(torch._C, "_cuda_set_sync_debug_mode"):
        return lambda: None
    return _warned(observer)


def _waits(observer: Observer, operation: str, size: int) -> None:
    """A kernel waits inside itself, and reads `size` bytes that nobody asked for."""
    mine = observer.local.mine
    if not mine.inside:
        event = observer.begin(mine, Direction.NONE, operation, size, True)
        if event is not None:
            event.started = time.perf_counter_ns()
            observer.finish(mine, event)


def _warned(observer: Observer) -> Callable[[], None]:
    import torch

    get, put = torch._C._cuda_get_sync_debug_mode, torch._C._cuda_set_sync_debug_mode
    before = get()
    if before not in (_OFF, _WARN):  # the program wants errors, and gets them
        return lambda: None
    first = _First(observer, swallow=before == _OFF)
    first.enter()
    observer.renew, observer.warned = first.enter, True
    put(_WARN)  # not by `torch.cuda`, which would start CUDA in a program that may yet fork or choose its devices

    def undo() -> None:
        if get() == _WARN:
            put(before)
        observer.renew, observer.warned = _nothing, False
        first.leave()

    return undo


class _First:
    """A filter of `warnings` that matches torch's warning, takes it as the event, and has it ignored.

    `warnings` asks a filter's `match`, so nothing needs to be shown to be seen, and what the program does with
    warnings stays as it was. The filter must come first: `simplefilter("ignore")` or "error" would hide it.
    """

    def __init__(self, observer: Observer, swallow: bool) -> None:
        self._observer = observer
        self._swallow = swallow
        self._open = True
        self._entry = ("ignore", self, Warning, None, 0)

    def match(self, text: str) -> bool:
        """As a regular expression's: whether the warning with this text is the filter's."""
        if not self._open:
            return False
        if text.startswith(_PROTOTYPE):
            return self._swallow
        if not text.startswith(MESSAGE):
            return False
        if not self._observer.covered():
            _waits(self._observer, OPERATION, 0)
        return self._swallow

    def enter(self) -> None:
        """Come first, also where `catch_warnings` has put an older list back."""
        filters: Any = warnings.filters
        if not filters or filters[0] is not self._entry:
            entries = [entry for entry in filters if entry is not self._entry]
            warnings.filters = _Filters([self._entry, *entries])
            _mutated()

    def leave(self) -> None:
        """Be gone; lists that `catch_warnings` keeps to put back hold on to an entry that matches nothing."""
        self._open = False
        filters: Any = warnings.filters
        warnings.filters = [entry for entry in filters if entry is not self._entry]
        _mutated()


class _Filters(list[Any]):
    """The list of filters, whose first stays first whatever is put before the others."""

    def insert(self, index: SupportsIndex, entry: Any) -> None:
        """As a list's, behind the first."""
        super().insert(max(index.__index__(), 1), entry)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return _Filters(found) if isinstance(index, slice) and index == slice(None) else found

    def __setitem__(self, index: Any, entries: Any) -> None:
        if isinstance(index, slice) and index == slice(None) and isinstance(entries, Iterable):
            entries = [self[0], *(entry for entry in entries if entry is not self[0])]
        super().__setitem__(index, entries)


def _mutated() -> None:
    """Have `warnings` forget what it decided by the old filters."""
    mutated = getattr(warnings, "_filters_mutated", None) or getattr(warnings, "_filters_mutated_lock_held", None)
    if mutated is not None:
        mutated()


def _nothing() -> None:
    """Nothing to renew."""
