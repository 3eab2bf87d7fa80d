"""The host waits for the device because the source says so.

What it does
------------
Reports `torch.cuda.synchronize()`, `torch.accelerator.synchronize()`, `Stream.synchronize()`, `Event.synchronize()` and
`torch.cuda.empty_cache()` in hot code, unless a timer is read next to it.

Why
---
Work is queued ahead of the device so that it never idles; a synchronize throws the lead away. `empty_cache` makes the
next allocations ask the driver, which synchronises too.

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
Next to a timer, at the end of a run, behind an interval, before host memory of a non-blocking copy is read.

Fix safety
----------
No automatic fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import SYNCHRONIZE
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import brief, clusters, hot, others

_TIMERS = re.compile(r"^(perf_counter|time|perf_counter_ns|monotonic|elapsed_time|default_timer|process_time|time_ns)$")
_NEAR = 40
_BARRIERS = ("barrier", "wait_for_everyone")  # processes wait for each other: another matter


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Explicit waits in hot code away from timers."""
    found = ((f, t) for f, t in hot(facts, SYNCHRONIZE) if not f.warmth(t.register).weak and not _timed(f, t.register))
    for function, group in clusters(found):
        first = group[0].register
        yield function.finding(
            first,
            f"`{brief(function.text(first))}` makes the host wait for the device {function.warmth(first).level.words}",
            "remove it; order streams with `wait_stream` or `wait_event`",
            others(function, group),
            Confidence.LIKELY,
        )


def _timed(function: FunctionFacts, reg: Reg) -> bool:
    """True where a clock is read within a few expressions."""
    for near in function.code[max(0, reg - _NEAR) : reg + _NEAR]:
        if isinstance(near, p.Attr | p.Outer) and _TIMERS.match(near.name):
            return True
    return False


RULE = Rule(
    code="TL306",
    name="explicit-synchronize",
    summary="`torch.cuda.synchronize()` and the like in hot code, away from timers",
    category="hidden-sync",
    default=True,
    fix_safety=None,
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
    detect=detect,
    doc=__doc__,
)
