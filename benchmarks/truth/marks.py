"""What workload files use: what a package is, which functions make it work, and where its steps begin and end.

    from truth import Package, case, step, steps, workload

    PACKAGE = Package("torchmetrics==1.8.2")

    @workload
    def regression():
        for name in ("MeanSquaredError", "R2Score"):
            with case(name):                       # a workload of its own: what fails in it ends it alone
                metric = getattr(torchmetrics, name)().to("cuda")
                for _ in range(10):
                    with step("update"):           # steps of one kind; the first of each is kept apart, as warm-up
                        metric.update(...)
                metric.compute()                   # outside of steps

`for batch in steps(loader, "train"):` makes a step of each turn; `bound(module, "decode")` begins one with each call of
a module, where the loop is the package's own. Where a workload marks nothing, a step begins with each outermost call of
a module; of several modules, with each call of the one that leads (the first, until another is called twice without
it). A step lasts until the next begins or the case ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
OUTSIDE, FIRST, STEPS = "outside", "first", "steps"  # the phases of a section
BY_ITSELF = "*"  # begins the kind of a step that nobody marked


@dataclasses.dataclass(frozen=True)
class Package:
    """How a package is installed: a requirement with its version, and further requirements. `imports` are the
    top-level modules whose lines are counted, by default the requirement's own name. `alone` installs without
    dependencies (`extra` then names them), where the package's own would replace torch. `kept_out`: of those that no
    part of the analysis is fitted to. `seconds` of the processor is the limit of a workload."""

    requirement: str
    extra: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    alone: bool = False
    kept_out: bool = False
    seconds: int = 240

    @property
    def modules(self) -> tuple[str, ...]:
        """The top-level modules."""
        return self.imports or (self.requirement.partition("==")[0].partition("[")[0].replace("-", "_").lower(),)


@dataclasses.dataclass
class Outcome:
    """How a case went: "ok", or "failed" and the exception's last line."""

    case: str
    outcome: str = "ok"
    why: str = ""
    seconds: float = 0.0


class Listens(Protocol):
    """Whoever counts: told of each change of section, as (case, kind, phase), and whether a step begins with it."""

    def section(self, case: str, kind: str, phase: str, begins: bool) -> None:
        """What follows belongs there."""


class Run:
    """The state of a process that runs a workload."""

    def __init__(self, listener: Listens | None = None) -> None:
        self.listener = listener
        self.outcomes: list[Outcome] = []
        self.case = ""
        self.explicit: set[str] = set()  # cases that mark their steps
        self._seen: set[tuple[str, str]] = set()
        self._depth = 0
        self._leader: int | None = None
        self._others: set[int] = set()

    def begin(self, kind: str) -> None:
        """A step begins."""
        phase = STEPS if (self.case, kind) in self._seen else FIRST
        self._seen.add((self.case, kind))
        self._tell(kind, phase, True)

    def end(self) -> None:
        """What follows is in no step."""
        self._tell("", OUTSIDE, False)

    @contextlib.contextmanager
    def step(self, kind: str) -> Iterator[None]:
        """A step, unless within one."""
        self.explicit.add(self.case)
        if self._depth:
            yield
            return
        self._depth += 1
        self.begin(kind)
        try:
            yield
        finally:
            self._depth -= 1
            self.end()

    def turns(self, loader: Iterable[T], kind: str) -> Iterator[T]:
        """Each turn of a loop is a step, unless within one."""
        self.explicit.add(self.case)
        if self._depth:
            yield from loader
            return
        self._depth += 1
        try:
            for one in loader:
                self.begin(kind)
                yield one
        finally:
            self._depth -= 1
            self.end()

    def called(self, module: Any, kind: str = "") -> None:
        """An outermost module is called, or one that was bound."""
        if kind:
            self.explicit.add(self.case)
            self.begin(kind)
        elif not self._depth and self.case not in self.explicit and self._leads(id(module)):
            self.begin(f"{BY_ITSELF}{type(module).__name__} {'train' if module.training else 'eval'}")

    def _leads(self, source: int) -> bool:
        if self._leader is None or source == self._leader or source in self._others:
            self._leader = source
            self._others.clear()
            return True
        self._others.add(source)
        return False

    @contextlib.contextmanager
    def in_case(self, name: str) -> Iterator[None]:
        """A workload of its own."""
        before, self.case = self.case, name
        self._leader, depth, self._depth = None, self._depth, 0
        self._others.clear()
        self.end()
        outcome, started = Outcome(name), time.monotonic()
        self.outcomes.append(outcome)
        try:
            yield
        except Exception as error:
            lines = str(error).strip().splitlines()  # the first says what, in torch the last how to search for it
            outcome.outcome, outcome.why = "failed", f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
            _say_where(name, error)
        finally:
            outcome.seconds = round(time.monotonic() - started, 1)
            self.case, self._leader, self._depth = before, None, depth
            self.end()

    def _tell(self, kind: str, phase: str, begins: bool) -> None:
        if self.listener is not None:
            self.listener.section(self.case, kind, phase, begins)


RUN = Run()
WORKLOADS: dict[str, Callable[[], object]] = {}


def workload(function: Callable[[], object]) -> Callable[[], object]:
    """Make a function a workload: it runs in a process of its own."""
    WORKLOADS[function.__name__] = function
    return function


def case(name: str) -> contextlib.AbstractContextManager[None]:
    """A part of a workload that counts as one of its own; an exception in it ends it alone."""
    return RUN.in_case(name)


def step(kind: str = "step") -> contextlib.AbstractContextManager[None]:
    """A step of a kind; within another it is part of that."""
    return RUN.step(kind)


def steps(loader: Iterable[T], kind: str = "step") -> Iterator[T]:
    """Each turn of the loop over this is a step, what `loader` does for the next turn included."""
    return RUN.turns(loader, kind)


def bound(module: Any, kind: str = "step") -> Any:
    """Begin a step with each call of a module, where the loop is the package's own; gives the handle of the hook."""
    return module.register_forward_pre_hook(lambda one, _: RUN.called(one, kind))


def _say_where(name: str, error: Exception) -> None:
    import traceback

    print(f"== {name} failed", flush=True)
    print("".join(traceback.format_exception(error)[-8:]), flush=True)
