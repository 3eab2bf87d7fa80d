"""`capturable(function)`: every line of a function that keeps a CUDA graph from being captured, not only the first."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from runtime_check import naming, obstacles, watching
from runtime_check.events import Frame
from runtime_check.records import SiteRecord
from transferlint.model import Site


@dataclasses.dataclass(frozen=True, slots=True)
class Obstacle:
    """A line at which a capture fails: `count` times `operation` made the host wait there. `why` says for what, and
    `instead` what to write; `text` is the source of the expression, `inside` the line below it where that is a
    library's ("" where it is not)."""

    path: str
    line: int
    text: str
    operation: str
    count: int
    why: str
    instead: str
    inside: str = ""

    def __str__(self) -> str:
        times = f" {self.count} times" if self.count > 1 else ""
        by = f" in {self.inside}" if self.inside else ""
        place = f"{naming.shown(self.path)}:{self.line}: {self.text}"
        return f"{place}\n    {self.operation}{times}{by}: {self.why}; {self.instead}"


@dataclasses.dataclass(frozen=True, slots=True)
class Capturability:
    """What `capturable` found, in the order of the call; true where a capture would go through. `error` is what the
    function raised, after which nothing more was seen."""

    obstacles: tuple[Obstacle, ...]
    error: Exception | None = None

    def __bool__(self) -> bool:
        return not self.obstacles and self.error is None

    def __str__(self) -> str:
        number = len({(one.path, one.line) for one in self.obstacles})
        waits = f"{number} line{'s' * (number != 1)} would make a capture fail"
        lines = [waits if number else "nothing waits", *map(str, self.obstacles)]
        if self.error is not None:
            lines.append(f"it ended early, at {_raised_at(self.error)}: {type(self.error).__name__}: {self.error}")
        return "\n".join(lines)


def capturable(function: Callable[..., object], *args: Any, **kwargs: Any) -> Capturability:
    """Call a function once as a capture of a CUDA graph would, and tell each line that would make the capture fail.

    On the simulated accelerator what the function writes is put back at the end, as a capture computes nothing, and
    torch believes that it captures. On a real one the function is run as it is: then call it with what may be changed.
    Warm it up before, as for a capture. Raises RuntimeError where there is no accelerator.
    """
    from runtime_check.hooks import device

    if not device.key():
        raise RuntimeError(
            "there is no accelerator to capture on; transferlint.runtime.simulate() simulates one, before tensors are "
            "made for it"
        )
    error: Exception | None = None
    with watching.watch() as run, _as_if_capturing(device.simulation()):
        try:
            function(*args, **kwargs)
        except Exception as raised:
            error = raised
    return Capturability(tuple(_obstacle(record) for record in run.records() if record.crossed), error)


@contextlib.contextmanager
def _as_if_capturing(simulation: Any) -> Iterator[None]:
    if simulation is None:
        yield
        return
    with simulation.captures.trying():
        yield


def _obstacle(record: SiteRecord) -> Obstacle:
    site = record.user or record.site
    why, instead = obstacles.of(record.operation, record.direction)
    inside = f"{naming.shown(record.site.path)}:{record.site.line}" if record.user is not None else ""
    below = next(iter(record.inside), inside)
    return Obstacle(site.path, site.line, _text(site), record.operation, record.count, why, instead, below)


def _text(site: Site) -> str:
    frame = Frame(site.path, site.line, "", site.column, site.end_line, site.end_column)
    return " ".join(naming.source(frame).split())


def _raised_at(error: Exception) -> str:
    """The line of the innermost frame outside torch and ours; of the innermost of all where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    hidden = tuple(os.path.join(os.path.dirname(path), "") for path in (str(sys.modules["torch"].__file__), __file__))
    own = [one for one in frames if not one.filename.startswith(hidden)]
    last = (own or frames)[-1]
    return f"{naming.shown(last.filename)}:{last.lineno}"
