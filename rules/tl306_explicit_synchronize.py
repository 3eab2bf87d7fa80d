"""The host explicitly synchronizes with the device.

What it does
------------
Reports `torch.cuda.synchronize()`, `torch.accelerator.synchronize()`, `Stream.synchronize()`, `Event.synchronize()` and
`torch.cuda.empty_cache()` in hot code, unless a timer is read next to it. In the training loop, and in the methods of a
stopwatch class that hot code calls, it is reported even next to a timer. A function that does nothing but wait is not
reported itself: its calls in hot code are.

Why
---
Work is queued ahead of the device so that it never runs idle. A synchronize empties that queue. After `empty_cache`,
the next allocations have to ask the driver, which synchronizes too.

Example
-------
    loss.backward()
    torch.cuda.synchronize()
    optimizer.step()

Use instead
-----------
    loss.backward()
    optimizer.step()      # one stream runs in order; across streams use stream.wait_stream(other)

When it is fine
---------------
Not reported: next to a timer in a benchmark, at the end of a run, every N steps, before the host reads the result of a
non-blocking copy, and for the oldest event of a queue. Functions that return how much memory is in use
(`tf.config.experimental.get_memory_info`, `torch.cuda.memory_allocated`) only ask the allocator on the host, without a
transfer or a sync, and are not reported either.

Fix safety
----------
Only shown, because too few of these edits were worth taking: the statement is removed, or the device waits instead of
the host: `event.wait()` for `event.synchronize()`, `torch.cuda.current_stream().wait_stream(stream)` for
`stream.synchronize()`. Both keep the order of device work. A device error is then reported at a later line.

There is no fix if the host may need the sync: in a function that reads a clock, in a `with` statement that measures
time, for the time between events, for the memory in use, and in a function that starts copies for which nothing else
waits. `empty_cache` has none if others may need the memory that it returns; neither have collectives that wait.

See also
--------
- TL503 for the sync that must stay
- https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html
- https://docs.pytorch.org/docs/stable/generated/torch.cuda.streams.Event.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.evident import reads_clock
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import SYNCHRONIZE, Transfer
from transferlint.knowledge.torch_names import QUEUES
from transferlint.model import Confidence, Direction, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code import importing, rewriting
from .code.chains import alone, called, method, origin, receiver
from .examples import beside_torch
from .questions import measuring
from .questions.detection import brief, clusters, hot, others, together

_NEAR = 40
_WAITS = frozenset({"synchronize", "block_until_ready"})
_TAKES = frozenset({"pop", "popleft", "popitem", "get"})
_BARRIERS = ("barrier", "wait_for_everyone")
_MEASURE = "time on the device: `record()` two `torch.cuda.Event(enable_timing=True)` and read `elapsed_time` later"


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Explicit waits in hot code away from timers."""
    found = (
        (f, t)
        for f, t in hot(facts, SYNCHRONIZE)
        if not (f.role.host_side or _timed(f, t.register) or _meant(f, t))
        and not (f.framework(t.register) and (_beside(f, t) or _read_anyway(f, t)))
    )
    for function, group in clusters(found):
        first = group[0].register
        waits = "makes every process wait for all others" if _barrier(group[0]) else "makes the host wait for the GPU"
        yield function.finding(
            first,
            f"`{brief(function.text(first))}` {waits} {function.warmth(first).level.each}",
            _instead(function, group[0]),
            others(function, group),
            Confidence.POSSIBLE if function.warmth(first).weak else Confidence.LIKELY,
            together(function, group, [_fix(function, t) for t in group]),
        )


def _instead(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps: for memory that is given back, for objects that are sent, and for a barrier, not what helps for a
    wait."""
    if _barrier(transfer):
        return "remove it: collectives wait for each other; one is needed where a process reads what another wrote"
    if transfer.api.endswith("empty_cache"):
        return "remove it: freed memory is reused without it; or call it once, after the loop"
    if "object" in transfer.api:
        return "send tensors (`all_gather`, `broadcast`), or objects less often: they are pickled and pass the device"
    if measuring.clocked(function, transfer.register):
        return _MEASURE
    return "remove it, or order streams with `wait_stream` or `wait_event`"


def _barrier(transfer: Transfer) -> bool:
    """True for what waits for all processes, and does nothing in a program of one."""
    return transfer.api.endswith(_BARRIERS)


def _timed(function: FunctionFacts, reg: Reg) -> bool:
    """True where a clock needs the wait, and not in the methods of a stopwatch. Frameworks that compile a step whole
    have no other place to wait in for the time."""
    if function.framework(reg):
        return (
            measuring.clocked(function, reg)
            or measuring.in_timer(function, reg, True)
            or measuring.for_measuring(function)
            or reads_clock(function)
        )
    return measuring.timed(function, reg) and not _stopwatch(function, reg)


def _stopwatch(function: FunctionFacts, reg: Reg) -> bool:
    """True in a method that keeps the time for others, which hot code calls: each step pays for it. To wait for one
    event, and ask it for the time, is what one should do there."""
    if method(function, reg) == "synchronize" and any(
        isinstance(made, p.Attr) and made.name == "elapsed_time" for made in function.code[reg : reg + _NEAR]
    ):
        waited = receiver(function, reg)
        if waited is not None and not isinstance(function.code[waited], p.Outer) and not called(function, reg):
            return False
    warmth = function.warmth(reg)
    of_class = function.file.placement.class_of(function.function) is not None
    return of_class and warmth.caller is not None and not function.loops(reg)


def _meant(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where somebody asked for it: an option to save memory, a bound on what is in flight, a copy to the host that
    has to be there."""
    around = function.function.regions[function.region(transfer.register)]
    test = function.code[around.test] if around.test is not None else None
    option = around.kind == "then" and isinstance(test, p.Load | p.Attr)
    return (
        (option and transfer.api.endswith("empty_cache"))
        or _queued(function, transfer.register)
        or measuring.guards_copy(function, transfer)
    )


def _beside(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the wait for one stream or event that the program made, of a framework where these have to be made by
    hand: whoever makes them overlaps copies with work, and waits for that where the host needs it."""
    waited = receiver(function, transfer.register)
    if method(function, transfer.register) != "synchronize" or waited is None:
        return False
    start = origin(function, waited)
    if isinstance(function.code[start], p.Call):
        return called(function, start).endswith(("Stream", "Event"))
    return True


def _read_anyway(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the same turn reads from the device: without the wait it would wait there."""
    around = function.loops(transfer.register)
    return any(
        one.direction is Direction.D2H and one.kind != SYNCHRONIZE and function.loops(one.register)[:1] == around[:1]
        for one in function.transfers
    )


def _queued(function: FunctionFacts, reg: Reg) -> bool:
    """True for the event of work that was queued earlier, out of a container: so much may be in flight, and no more."""
    waited = receiver(function, reg) if method(function, reg) in _WAITS else None
    made = function.code[reg]
    if function.framework(reg) and waited is None and isinstance(made, p.Call) and made.args:
        waited = made.args[0]  # `jax.block_until_ready(x)`
    if waited is None:
        return False
    start = origin(function, waited)
    made = function.code[start]
    if function.framework(reg):
        while isinstance(made, p.Unpack | p.Attr | p.Subscript):
            start = made.value if isinstance(made, p.Unpack) else made.object
            made = function.code[start]
        return method(function, start) in _TAKES
    if isinstance(made, p.Load):
        return any(made.slot in region.target_slots for region in function.function.regions)
    return isinstance(made, p.Next | p.Unpack) or method(function, start) in _TAKES


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Remove the statement, or wait on the device; only for a statement of its own."""
    reg = transfer.register
    if transfer.inside is not None or not alone(function, reg):
        return None
    name = called(function, reg)
    waited = receiver(function, reg) if not name and method(function, reg) == "synchronize" else None
    if name.endswith(".empty_cache") or measuring.needed_by_host(function, reg) or measuring.in_timer(function, reg):
        return None
    if name.startswith(("torch.", "accelerate.", "deepspeed.")) and name.endswith(".synchronize"):
        edit = rewriting.remove(function, reg)
        return Fix("remove it", Safety.DISPLAY, (edit,)) if edit is not None and edit.text != "pass" else None
    if waited is None or not function.has_text(waited):
        return None
    kind = _kind(function, waited)
    text = rewriting.operand(function, waited)
    if kind == "Event" and text:
        return Fix("make the stream wait, not the host", Safety.DISPLAY, (Edit(*function.span(reg), f"{text}.wait()"),))
    if kind == "Stream" and text:
        root = called(function, origin(function, waited)).rpartition(".")[0] or "torch.cuda"
        torch, imports = importing.torch_name(function, reg)
        if torch and root in ("torch.cuda", "torch.xpu"):
            line = f"{torch}{root.removeprefix('torch')}.current_stream().wait_stream({text})"
            edit = Edit(*function.span(reg), line)
            return Fix("make the stream wait, not the host", Safety.DISPLAY, (*imports, edit))
    if any(isinstance(function.code[r], p.Call) for r in function.expression(waited)) and not _getter(function, waited):
        return None  # what it is called on is taken from a queue, and has to be
    edit = rewriting.remove(function, reg)
    return Fix("remove it", Safety.DISPLAY, (edit,)) if edit is not None else None


def _kind(function: FunctionFacts, reg: Reg) -> str:
    """ "Stream" or "Event" of what this file makes by that class of torch; "" for others."""
    made = function.code[reg]
    if isinstance(made, p.Attr) and isinstance(function.code[made.object], p.Load):
        return _attribute(function, made.name)
    last = called(function, origin(function, reg))
    return last.rpartition(".")[2] if last in QUEUES else ""


def _attribute(function: FunctionFacts, name: str) -> str:
    """What the methods of the file bind an attribute to, where that is one class alone."""
    found = set()
    for other in function.file.functions:
        for made in other.code:
            if isinstance(made, p.SetAttr) and made.name == name:
                found.add(called(other, made.value))
    kind = found.pop() if len(found) == 1 else ""
    return kind.rpartition(".")[2] if kind in QUEUES else ""


def _getter(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call that only looks something up: `current_stream()`, a function without arguments."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or made.args or made.keywords:
        return False
    found = method(function, reg) == "current_stream" or called(function, reg).endswith("current_stream")
    return found or isinstance(function.code[made.function], p.Load | p.Outer)


RULE = Rule(
    code="TL306",
    name="explicit-synchronize",
    summary="`torch.cuda.synchronize()` and the like in hot code, away from timers",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()
        torch.cuda.synchronize()  # expect: TL306
        optimizer.step()
""",
            good="""\
import torch


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()
""",
        ),
    ),
    more_examples=beside_torch.examples("TL306"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "remove it: reading the result waits anyway; to measure time, wait once after the loop"),
        ("tensorflow", "remove it: reading the result waits anyway"),
        ("cupy", "remove it: reading the result waits anyway; to measure time, wait once after the loop"),
    ),
    doc=__doc__,
)
