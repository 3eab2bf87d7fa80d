"""Code that measures how long the device takes: the clocks beside a wait, and what the host needs a wait for."""

from __future__ import annotations

import os

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import COPY_INTO, DOWNLOAD, Transfer
from transferlint.model import Direction
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, origin, receiver

_TIMERS = late.pattern(
    r"^(perf_counter|time|perf_counter_ns|monotonic|elapsed_time|default_timer|process_time|time_ns)$"
)
_STOPWATCHES = late.pattern(
    r"(?i:(^|_)(timer?|timeit|timing|stop_?watch|profiler?|benchmark)(_|$))|[a-z](Timer|Stopwatch|Profiler?)$"
)
_MEASURING = late.pattern(r"(?i)(^|_)(micro)?(bench(mark)?s?|time_?it|timing|warm_?up|profil(e|er|ing))(_|$)")
_NEAR = 40  # instructions: a few expressions
# Copies that come back before they are done (documen.tician.de/pycuda, nvidia.github.io/cuda-python).
_COPIES = late.pattern(r"(memcpy_dtoh_async|cudaMemcpyAsync|cuMemcpyDtoHAsync)$")


def clocked(function: FunctionFacts, reg: Reg) -> bool:
    """True where a clock is read within a few expressions."""
    return any(_clock(near) for near in function.code[max(0, reg - _NEAR) : reg + _NEAR])


def for_measuring(function: FunctionFacts) -> bool:
    """True for a function that measures, or prepares that: it reads a clock somewhere, or is called for it, as is its
    file (`prefill_benchmark`, `warm_up`, `inference_microbenchmark.py`)."""
    names = (function.function.name, os.path.splitext(os.path.basename(function.file.path))[0])
    return any(map(_MEASURING.search, names)) or any(map(_clock, function.code)) or bool(function.attributes("now"))


def _clock(made: p.Instruction) -> bool:
    return isinstance(made, p.Attr | p.Outer) and bool(_TIMERS.match(made.name))


def timed(function: FunctionFacts, reg: Reg) -> bool:
    """True for a wait that makes a clock right, but not in a loop that trains: there it takes from each step what it
    measures."""
    loop = next(iter(function.loops(reg)), None)
    trains = loop is not None and any(function.inside(at, loop) for at in function.attributes("backward"))
    return clocked(function, reg) and not trains


def guards_copy(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a wait that host memory needs: before it, in the same turn, a copy to the host was begun that nobody
    waits for (`x.to("cpu", non_blocking=True)`, `host.copy_(x, non_blocking=True)`)."""
    wait = transfer.register
    loops = function.loops(wait)
    if not transfer.api.endswith(("synchronize", "synchronize()")):
        return False
    first = _begun(function).get(loops[0] if loops else 0, wait)
    return first < wait


@once
def _begun(function: FunctionFacts) -> dict[int, Reg]:
    """By loop (0: all of the function), the first copy to the host in it that nobody waits for."""
    begun = [
        one.register
        for one in function.transfers
        if one.non_blocking and one.kind in (DOWNLOAD, COPY_INTO) and one.direction is Direction.D2H
    ]
    for at in function.of(p.Call):
        made = function.code[at]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if isinstance(callee, p.Attr | p.Outer) and _COPIES.search(callee.name):
            begun.append(at)
    found: dict[int, Reg] = {}
    for at in begun:
        for loop in (0, *function.loops(at)):
            found[loop] = min(found.get(loop, at), at)
    return found


# What is wrong, or raises, on the host before the device is done (docs.pytorch.org torch.cuda.Event, torch.cuda).
_NEEDS_WAIT = late.pattern(
    r"^(elapsed_time|memory_\w+|max_memory_\w+|mem_get_info|query|ipc_collect|graph|CUDAGraph|replay)$"
)


def in_timer(function: FunctionFacts, reg: Reg, variables: bool = False) -> bool:
    """True in a `with` statement of what measures time, by its name: `with Timer("step"):`, `with self.profile():`, and
    of a variable (`with train_timer:`) where these count."""
    at = function.region(reg)
    while at > 0:
        region = function.function.regions[at]
        if region.kind == "with" and region.test is not None and _measures_time(function, region.test, variables):
            return True
        at = region.parent
    return False


def _measures_time(function: FunctionFacts, context: Reg, variables: bool) -> bool:
    made = function.code[context]
    if variables and isinstance(made, p.Load):
        return bool(_STOPWATCHES.search(function.function.slot_names[made.slot]))
    named = (function.code[r] for r in function.expression(context))
    return any(isinstance(made, p.Attr | p.Outer) and bool(_STOPWATCHES.search(made.name)) for made in named)


def needed_by_host(function: FunctionFacts, reg: Reg) -> bool:
    """True where the host may need a wait: its function reads a clock, the time between events (which raises before
    both have happened) or the memory in use, or it begins copies that nobody waits for; or an attribute of an object
    is waited for, of which other functions of the file ask the time."""
    if _measures(function):
        return True
    waited = receiver(function, reg) if not called(function, reg) else None
    if waited is None or isinstance(function.code[origin(function, waited)], p.Call):
        return False
    return any(_asks_the_time(one) for one in function.file.functions)


@once
def _measures(function: FunctionFacts) -> bool:
    """True for a function that reads a clock or the memory in use, or begins copies that nobody waits for."""
    named = {made.name for made in function.code if isinstance(made, p.Attr | p.Outer)}
    if any(_TIMERS.match(name) or _NEEDS_WAIT.match(name) or _COPIES.search(name) for name in named):
        return True
    return any(key == "non_blocking" for made in function.code if isinstance(made, p.Call) for key, _ in made.keywords)


@once
def _asks_the_time(function: FunctionFacts) -> bool:
    """True for a function that asks for the time between events."""
    return any(isinstance(made, p.Attr) and made.name == "elapsed_time" for made in function.code)
