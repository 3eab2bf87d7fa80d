"""Dispatch modes: every operator of this process, where nothing cheaper sees what is wanted. A mode that does nothing
costs a step of a millisecond half of its time again (docs/verify.md).

A dispatch mode belongs to one thread, and to autograd's, which inherit it; threads that start later enter it too.
Compiled functions keep their graphs: `ignore_compile_internals`.

A backward pass holds the modes of its thread until autograd's threads have let go of the pass, which may be after
`backward` has returned, and they need the interpreter's lock for it. To a thread that asks for that lock while the
interpreter ends, CPython before 3.14 answers by ending the thread, in the middle of C++, which aborts the process (its
issue 87135). So the end of the interpreter waits until nobody holds the modes that were left.
"""

from __future__ import annotations

import atexit
import functools
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.patches import replace

See = Callable[[Any, Any, Any], Any]
LONGEST_WAIT = 10.0  # seconds; as long as torch waits for the same threads (TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT)


def watch(tell: Callable[[Any, Any, Any], object]) -> Callable[[], None]:
    """Have `tell(operator, args, kwargs)` called before each operator that is dispatched; gives what undoes it."""

    def see(func: Any, args: Any, kwargs: Any) -> Any:
        tell(func, args, kwargs)
        return func(*args, **kwargs) if kwargs else func(*args)

    return enter(see)


def enter(see: See) -> Callable[[], None]:
    """Have `see(operator, args, kwargs)` called for what this thread dispatches, and those that start later; it calls
    the operator and gives its result. What is returned leaves the mode, wherever it then is on the stack of modes,
    and ends it in other threads."""
    import torch

    make = _mode(see)
    mode = make()
    left: list[weakref.ref[Any]] = []

    def wrap(original: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(original)
        def bootstrap(thread: Any) -> None:
            if not make.open:
                return original(thread)
            entered = make()
            one = weakref.ref(entered)
            try:
                with entered:
                    del entered
                    return original(thread)
            finally:
                if one() is not None:
                    left.append(one)
                    if not make.open:
                        atexit.register(finish)

        return bootstrap

    unpatch = replace(threading.Thread, "_bootstrap_inner", wrap)
    unconstruct = replace(torch.Tensor, "__new__", functools.partial(_constructing, make))
    mode.__enter__()

    def undo() -> None:
        nonlocal mode
        if make.open:
            unpatch()
            unconstruct()
            make.open = False
            if _leave(mode):
                left.append(weakref.ref(mode))
            mode = None
            if not _held(left):
                atexit.unregister(finish)

    def finish() -> None:
        undo()
        _until_let_go(left)

    atexit.register(finish)
    return undo


def _constructing(make: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """`Tensor.__new__` of a subclass, with the mode aside. Torch makes the tensor by an operator and then gives it to
    the subclass, which it refuses where the result of a mode belongs to a Python object already; `_make_subclass` and
    `as_subclass` put the modes aside themselves (torch/csrc/autograd/python_variable.cpp)."""
    import torch
    from torch.utils import _python_dispatch as modes

    tensor, top = torch.Tensor, modes._get_current_dispatch_mode

    def new(*args: Any, **kwargs: Any) -> Any:  # what torch._dynamo, imported meanwhile, takes for any function in C
        if args[0] is tensor or not isinstance(top(), make):
            return original(*args, **kwargs)
        mode = modes._pop_mode()
        try:
            return original(*args, **kwargs)
        finally:
            modes._push_mode(mode)

    return new


def _until_let_go(left: list[weakref.ref[Any]]) -> None:
    """Return when nobody holds one of the modes any more, and at the latest after LONGEST_WAIT. The references have no
    callbacks: once one is dead, the thread that let go of its mode needs the interpreter's lock no more."""
    until = time.monotonic() + LONGEST_WAIT
    while _held(left) and time.monotonic() < until:
        time.sleep(0.001)


def _held(left: list[weakref.ref[Any]]) -> bool:
    return any(mode() is not None for mode in left)


def _mode(see: See) -> Any:
    from torch.utils import _python_dispatch

    modes: Any = _python_dispatch

    class Seeing(modes.TorchDispatchMode):  # type: ignore[misc]
        """Looks, and changes nothing."""

        supports_higher_order_operators = True
        open = True

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing here is ever compiled, and saying so would import torch._dynamo

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not Seeing.open:
                return func(*args, **(kwargs or {}))
            return see(func, args, kwargs or {})

    return Seeing


def _leave(mode: Any) -> bool:
    """Whether it was this thread's to leave."""
    from torch.utils import _python_dispatch as modes

    above: list[Any] = []
    stack = modes._get_current_dispatch_mode_stack()
    if not any(one is mode for one in stack):
        return False  # another thread's, where it hands on and no more
    while (one := modes._pop_mode()) is not mode:
        above.append(one)
    modes._push_mode(mode)
    mode.__exit__(None, None, None)
    for one in reversed(above):
        modes._push_mode(one)
    return True
