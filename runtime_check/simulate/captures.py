"""CUDA graphs: what kernels do while a graph is captured is written down, and done again at each replay.

A capture on CUDA computes nothing. Here the kernels compute, since what follows them in the program needs shapes; what
they wrote to memory that was there before is put back at the end. A replay runs them again over the same memory
(docs.pytorch.org 'CUDA Graphs': 'a graph's arguments and kernels are fixed ... static input and output tensors').
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from runtime_check import obstacles
from runtime_check.simulate.internals import C, Tensor, torch
from transferlint.model import Direction

NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"


class Recording:
    """One graph's kernels, in order, over host memory."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []
        self._before: list[tuple[Any, Any]] = []  # a storage, and a copy of what it held
        self._made: set[int] = set()  # addresses of what was kept, or is the capture's own

    def run(self, call: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call the CPU's operator, now and at each replay."""
        args = tuple(args)
        for tensor in _tensors((args, tuple(kwargs.values()))):
            self._keep(tensor)  # any may be written: schemas do not say so of running means
        result = call(*args, **kwargs)
        first = tuple(_tensors(result))
        self._made.update(tensor.untyped_storage().data_ptr() for tensor in first if _plain(tensor))

        def again() -> None:
            for old, new in zip(first, _tensors(call(*args, **kwargs)), strict=True):
                if old is not new:
                    old.copy_(new)

        self.note(again)
        return result

    def _keep(self, tensor: Any) -> None:
        """Remember what a tensor's memory holds before the capture changes it."""
        storage = tensor.untyped_storage() if _plain(tensor) else None
        if storage is not None and storage.data_ptr() not in self._made:
            self._made.add(storage.data_ptr())
            self._before.append((storage, storage.clone()))

    def note(self, again: Callable[[], None], with_autograd: bool = False) -> None:
        """Have this done at each replay, below autograd or with it."""

        def below() -> None:
            with C._AutoDispatchBelowAutograd():
                again()

        self._steps.append(again if with_autograd else below)

    def restore(self) -> None:
        """Put back what was there before the capture."""
        for storage, content in self._before:
            storage.copy_(content)
        self._before.clear()

    def replay(self) -> None:
        """Do it all again."""
        with C.DisableTorchFunction():
            for again in self._steps:
                again()


class Captures:
    """Which graph is being captured in this process: None mostly."""

    def __init__(self) -> None:
        self.current: Recording | None = None
        self._trying = False

    def begin(self) -> Recording:
        """Start a recording. Raises RuntimeError where one is under way."""
        if self.current is not None:
            refuse("another graph is being captured")
        self.current = Recording()
        return self.current

    def end(self) -> None:
        """End the recording, and leave memory as it was."""
        ended, self.current = self.current, None
        if ended is not None:
            ended.restore()

    @contextlib.contextmanager
    def trying(self) -> Iterator[None]:
        """As if a graph were captured, and nothing refused. Raises RuntimeError while one is captured."""
        self.begin()
        self._trying = True
        try:
            yield
        finally:
            self._trying = False
            self.end()

    def waits(self, operation: str, direction: Direction = Direction.NONE) -> None:
        """Called where the host would wait for the device: not allowed while a graph is captured. `direction` is that
        of a copy."""
        if self.current is not None and not self._trying:
            why, instead = obstacles.of(operation, direction)
            refuse(
                f"{operation}: {why}; {instead} (transferlint.runtime.capturable tells all such lines of a function)"
            )


def refuse(why: str) -> NoReturn:
    """Raise what CUDA raises, and say why."""
    raise torch.AcceleratorError(
        f"{NOT_PERMITTED}\nWhile a CUDA graph is captured the host must not wait for the device.\n{why}"
    )


def _plain(tensor: Any) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


def _tensors(value: Any) -> Iterable[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
