"""What is put into JAX while a program is recorded, and taken out again: where arrays are read, where host data goes
up, where the host waits, and where compiled code calls the host.

JAX documents no point at which all transfers can be heard of: `jax.transfer_guard` refuses and logs, and
`jax.monitoring` tells of compilation. The places used here are few, are looked for before anything is changed, and
where one is missing the version is refused in one line:

| place | what passes there | rests on |
| --- | --- | --- |
| `ArrayImpl._value` | every read of an array's content by way of Python | jax/_src/array.py |
| the buffer protocol of `ArrayImpl` | numpy's reads on the CPU, where there is one | PEP 3118 |
| the call of a compiled function | host arrays among its arguments | docs.jax.dev 'Transfer guard': implicit |
| `pxla.batched_device_put` | what `jax.device_put` and its like send | jax/_src/interpreters/pxla.py |
| `block_until_ready` | explicit waits | docs.jax.dev jax.block_until_ready |
| `jax.debug.print`, `jax.debug.callback` | compiled code calls the host | docs.jax.dev 'External callbacks' |
| `jax.pure_callback`, `io_callback` | the same | the same |
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any

from runtime_check.jax_hooks.tap import Tap

KNOWN = "jax 0.10"  # what these places were checked with


class Unsupported(Exception):
    """This version of JAX lacks a place that is needed; the message is one line."""


def install(tap: Tap) -> Callable[[], None]:
    """Have `tap` hear of everything, from here on until what is returned is called. JAX has been imported; none of its
    backends is started. Raises Unsupported, and then nothing is changed."""
    from runtime_check.jax_hooks import buffers, callbacks, reads, uploads

    array, pxla, function = _places()
    with contextlib.ExitStack() as undo:
        try:
            undo.callback(uploads.install(tap, array, pxla, function))
            undo.callback(buffers.install(tap, array))
        except buffers.Layout as error:
            raise Unsupported(str(error)) from None
        undo.callback(reads.install(tap, array))
        undo.callback(callbacks.install(tap))
        undo.callback(_hear_compilation(tap))
        undo.callback(setattr, tap, "listeners", ())  # compiled code goes on calling the host
        return undo.pop_all().close


def _places() -> tuple[Any, Any, Any]:
    """The class of arrays, the module through which host data goes up, and the class of compiled functions."""
    jax: Any = sys.modules["jax"]
    missing = []
    array = pxla = None
    try:
        array = importlib.import_module("jax._src.array").ArrayImpl
        pxla = importlib.import_module("jax._src.interpreters.pxla")
    except (ImportError, AttributeError):
        missing.append("jax._src.array.ArrayImpl")
    if array is not None and not isinstance(vars(array).get("_value"), property):
        missing.append("ArrayImpl._value")
    if pxla is not None and not callable(getattr(pxla, "batched_device_put", None)):
        missing.append("pxla.batched_device_put")
    function: Any = type(jax.jit(_nothing)) if hasattr(jax, "jit") else None
    if function is None or "__call__" not in vars(function) or function is type(_nothing):
        missing.append("the class of compiled functions")
    if missing:
        raise Unsupported(
            f"jax {getattr(jax, '__version__', '')} lacks {missing[0]}, by which its transfers are seen; it works with"
            f" {KNOWN}"
        )
    return array, pxla, function


def _hear_compilation(tap: Tap) -> Callable[[], None]:
    """Count what is compiled (docs.jax.dev 'jax.monitoring')."""
    try:
        monitoring: Any = importlib.import_module("jax.monitoring")
        monitoring.register_event_duration_secs_listener(tap.compiled)
    except (ImportError, AttributeError):
        return _nothing

    def undo() -> None:
        forget = getattr(monitoring, "unregister_event_duration_listener", None)
        if forget is not None:
            with contextlib.suppress(AssertionError, ValueError):  # the program has cleared all listeners
                forget(tap.compiled)

    return undo


def _nothing() -> None:
    """Nothing is undone, and nothing compiled."""
