"""For programs and tests: see, limit and allow what one thread transfers.

`with watch() as run:` counts, `with guard(d2h="disallow"):` refuses, `with allow("why"):` lets through what a guard
further out refuses. Names and meaning of the policies are those of JAX (`jax.transfer_guard`, documentation page
"Transfer guard"): they hold for the thread or task that enters them and the backward passes it runs, the innermost
decides, and a transfer is explicit where the source names it (`.item()`, `.to()`, `.cpu()`). Importing this imports no
torch; entering does.
"""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import logging
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from runtime_check import naming
from runtime_check.events import Event
from runtime_check.plan import POLICIES
from runtime_check.session import RECORDER

if TYPE_CHECKING:
    from runtime_check.hooks.observer import Asked, Scope

LOGGER = "runtime_check"
F = TypeVar("F", bound=Callable[..., Any])


class TransferForbidden(RuntimeError):
    """A guard did not let a transfer or sync happen; the message is one line. `path` and `line` say where."""

    def __init__(self, message: str, path: str, line: int) -> None:
        super().__init__(message)
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        return TransferForbidden, (str(self), self.path, self.line)


class Region:
    """What `guard`, `allow` and `watch` share: a region of one thread or task, entered by `with` or as a decorator.

    The same object can be entered by several threads and several times. What starts within (tasks of asyncio) keeps
    the region until it is left. The outermost region, or session, registers with torch, which takes about half a
    millisecond; regions inside of it a hundredth of that: enter one around a loop of short steps.
    """

    def __init__(self) -> None:
        self._entered: list[tuple[int, _Entered]] = []

    def __enter__(self) -> Any:
        from runtime_check.hooks import device

        if device.compiling():  # in a graph that is being traced nothing runs: a region around the call holds
            return self
        from runtime_check.hooks.observer import SCOPES

        RECORDER.add(None, False)
        entered = _Entered(self)
        SCOPES.set((*SCOPES.get(), entered))
        self._entered.append((threading.get_ident(), entered))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from runtime_check.hooks import device

        if device.compiling():
            return
        from runtime_check.hooks.observer import SCOPES

        if isinstance(error, TransferForbidden):
            _end_at_its_line(trace)
        entered = self._leave()
        if entered is not None:
            entered.open = False
            SCOPES.set(tuple(scope for scope in SCOPES.get() if scope is not entered))
            RECORDER.remove(None, False)

    def __call__(self, function: F) -> F:
        """As a decorator of a function or coroutine function: each call is a region of its own."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is a generator: use `with` inside of it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self.again():
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    def again(self) -> Region:
        """The same, not entered."""
        new = copy.copy(self)
        new._entered = []
        return new

    def before(self, asked: Asked) -> bool:
        """Decide on an operation; True where scopes further out are not asked."""
        return False

    def after(self, event: Event) -> None:
        """It has run."""

    def step(self, source: object) -> None:
        """A step ended."""

    def _leave(self) -> _Entered | None:
        """What this thread entered last; a coroutine may be closed by another thread than ran it."""
        thread = threading.get_ident()
        for index in range(len(self._entered) - 1, -1, -1):
            if self._entered[index][0] == thread:
                return self._entered.pop(index)[1]
        return self._entered.pop()[1] if self._entered else None


class _Entered:
    """One time that a region was entered."""

    def __init__(self, region: Scope) -> None:
        self._region = region
        self.open = True

    def before(self, asked: Asked) -> bool:
        return self.open and self._region.before(asked)

    def after(self, event: Event) -> None:
        if self.open:
            self._region.after(event)

    def step(self, source: object) -> None:
        if self.open:
            self._region.step(source)


class guard(Region):
    """A region in which transfers are allowed, logged or refused: `guard("disallow")`, `guard(d2h="log")`.

    | policy | what the source does not name (`if t:`) | what it names (`t.item()`) |
    | --- | --- | --- |
    | "allow" | passes | passes |
    | "log" | is logged | passes |
    | "disallow" | raises | passes |
    | "log_explicit" | is logged | is logged |
    | "disallow_explicit" | raises | raises |

    `policy` is for all of it; `h2d`, `d2h` and `d2d` (between two devices) are for one direction each, and `sync` for
    everything that makes the host wait, transfers included where nothing is said of their direction. What is left out
    (None) is decided further out. Logged is a warning to the logger "runtime_check", once for each line. What raises is
    TransferForbidden, before anything is moved. Raises ValueError for another policy.
    """

    def __init__(
        self,
        policy: str | None = None,
        *,
        h2d: str | None = None,
        d2h: str | None = None,
        d2d: str | None = None,
        sync: str | None = None,
    ) -> None:
        super().__init__()
        for name, level in (("policy", policy), ("h2d", h2d), ("d2h", d2h), ("d2d", d2d), ("sync", sync)):
            if level is not None and level not in POLICIES:
                raise ValueError(_wrong(name, level))
        self._policy = policy
        self._policies = {"h2d": h2d, "d2h": d2h, "d2d": d2d, "sync": sync}
        self._logged: set[object] = set()

    def before(self, asked: Asked) -> bool:
        policy, name = self._decides(asked)
        if not policy:
            return False
        if policy == "allow" or (
            not policy.endswith("_explicit") and naming.explicit(asked.operation, asked.place.frames)
        ):
            return True
        text = naming.sentence(asked.direction, asked.operation, asked.bytes, asked.place)
        if policy.startswith("disallow"):
            path, line = naming.where(asked.place)
            said = f"{name}={policy!r}" if name else repr(policy)
            how = 'to let it pass: with transferlint.runtime.allow("why"):'
            raise TransferForbidden(f"{text}, refused by guard({said}); {how}", path, line)
        key = (asked.operation, asked.place.frames[: asked.place.user + 1])
        if key not in self._logged:
            self._logged.add(key)
            logging.getLogger(LOGGER).warning("%s", text)
        return True

    def _decides(self, asked: Asked) -> tuple[str, str]:
        """The policy for an operation and the name of the argument that it was given by; "" where there is none."""
        for name in (asked.direction.value, *(("sync",) if asked.sync else ())):
            if policy := self._policies.get(name):
                return policy, name
        crosses = asked.direction.value in self._policies or asked.sync
        return (self._policy or "", "") if crosses else ("", "")


def _end_at_its_line(trace: TracebackType | None) -> None:
    """Have a traceback end with the program's line, or torch's: the frames below are those of the hooks."""
    here = os.path.join(os.path.dirname(__file__), "")
    last = trace
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(here):
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def _wrong(name: str, policy: object) -> str:
    """What to say of a policy that there is none of."""
    near = difflib.get_close_matches(policy, POLICIES, 1) if isinstance(policy, str) else []
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{name}={policy!r}: one of {', '.join(map(repr, POLICIES))}{meant}"


class allow(Region):
    """A region in which everything may pass, whatever guards further out say. `reason` is for the reader of the code;
    raises ValueError for an empty one."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        if not reason.strip():
            raise ValueError('allow() needs a reason: allow("the loss is logged every 100 steps")')
        self.reason = reason

    def before(self, asked: Asked) -> bool:
        return True


def step() -> None:
    """Tell that a step of the program ended, where no optimizer's `step` does; nothing happens where nobody listens."""
    RECORDER.step()
