"""What happened on each line of a package in each section of a workload: executions, branches, calls, crossings, and on
which side the operators worked that it started."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from typing import Any

from runtime_check import cost, tally
from runtime_check.events import Event, Frame
from transferlint.model import Direction

_HERE = os.sep + "site-packages" + os.sep


@dataclasses.dataclass
class Crossing:
    """The events of one operation at one place of a section. `steps` are distinct, `repeated` those events whose bytes
    were the same as at the same place the time before."""

    count: int = 0
    bytes: int = 0
    blocked: int = 0
    steps: int = 0
    repeated: int = 0
    last_step: int = -1
    last_call: int = 0
    calls: int = 0


class Section:
    """What is counted between two marks, and how many steps began."""

    def __init__(self) -> None:
        self.tally = tally.Tally()
        self.steps = 0
        self.crossings: dict[tuple[Any, ...], Crossing] = {}
        self.operators: dict[tuple[str, int], list[int]] = {}  # by line: on the device, on the host


class Counting:
    """Listens to the recorder and counts lines, for the top-level `modules` of a package."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._modules = frozenset(modules)
        self._paths: dict[str, str] = {}  # co_filename -> path within site-packages, "" where it is not the package's
        self._counter = tally.Counter(lambda name: bool(self.within(name)), branches=True)
        self._sections: dict[tuple[str, str, str], Section] = {}
        self._now = Section()
        self._cost = cost.default()
        self._last: dict[tuple[Any, ...], int] = {}
        self._leave: Callable[[], None] = lambda: None
        self.section("", "", "outside", False)

    def start(self) -> None:
        """Begin; torch has been imported and the simulated device started."""
        from runtime_check.hooks import dispatch

        if not self._counter.start():
            raise SystemExit("another tool holds sys.monitoring")
        self._leave = dispatch.watch(self._tell())

    def stop(self) -> None:
        """Count no more."""
        self._leave()
        self._counter.stop()

    def within(self, name: str) -> str:
        """The path within site-packages of a code's file name, "" where it is not the package's."""
        found = self._paths.get(name)
        if found is None:
            inside = os.path.abspath(name).rpartition(_HERE)[2] if _HERE in name else ""
            top = inside.partition(os.sep)[0].removesuffix(".py")
            found = self._paths[name] = inside if top in self._modules else ""
        return found

    def section(self, case: str, kind: str, phase: str, begins: bool) -> None:
        """What follows is counted there; see `marks.Listens`."""
        key = (case, kind, phase)
        if key not in self._sections:
            self._sections[key] = Section()
        self._now = self._sections[key]
        if begins:
            self._now.steps += 1
            self._now.tally.step += 1
        self._counter.tally = self._now.tally

    def __call__(self, event: Event) -> None:
        """An event of the recorder."""
        if not event.sync and event.direction not in (Direction.H2D, Direction.D2H):
            return
        at = next((frame for frame in event.frames if self.within(frame.path)), None)
        if at is None:
            return
        section = self._now
        via = "" if at is event.frames[0] else _top(event.frames[0])
        place = (self.within(at.path), at.line, at.column, at.end_line, at.end_column, at.function)
        key = (*place, event.direction.value, event.operation, event.sync, event.backward, via)
        one = section.crossings.get(key)
        if one is None:
            one = section.crossings[key] = Crossing()
        one.count += 1
        one.bytes += event.bytes
        one.blocked += self._cost.blocked(event)
        if not event.call or event.call != one.last_call:
            one.calls += 1
            one.last_call = event.call
        if one.last_step != section.tally.step:
            one.last_step = section.tally.step
            one.steps += 1
        one.repeated += self._repeats(key, event)

    def _repeats(self, key: tuple[Any, ...], event: Event) -> bool:
        memory = event.target if event.direction is Direction.D2H else event.source
        checksum = None if memory is None else memory.checksum
        if checksum is None:
            return False
        content = hash((checksum, event.bytes))
        same = self._last.get(key) == content
        self._last[key] = content
        return same

    def _tell(self) -> Callable[[Any, Any, Any], object]:
        import torch

        tensor, within = torch.Tensor, self.within

        def tell(_: Any, args: Any, kwargs: Any) -> None:
            on_device = _touches(tensor, args, kwargs)
            frame: Any = sys._getframe(1)
            while frame is not None:
                path = within(frame.f_code.co_filename)
                if path:
                    row = self._now.operators.setdefault((path, frame.f_lineno or 0), [0, 0])
                    row[0 if on_device else 1] += 1
                    break
                frame = frame.f_back

        return tell

    def result(self) -> dict[str, Any]:
        """Everything, as JSON takes it: `sections`, and by path the rows of each section."""
        files: dict[str, dict[str, Any]] = {}
        sections = []
        for number, ((case, kind, phase), section) in enumerate(self._sections.items()):
            sections.append({"case": case, "kind": kind, "phase": phase, "steps": section.steps})
            self._lines(files, number, section)
            self._branches(files, number, section)
            for (path, line), (device, host) in sorted(section.operators.items()):
                _of(files, path)["operators"].append([number, line, device, host])
            for key, one in section.crossings.items():
                path, *rest = key
                numbers = one.count, one.bytes, one.blocked, one.steps, one.repeated, one.calls
                _of(files, path)["crossings"].append([number, *rest, *numbers])
        return {"sections": sections, "files": files}

    def _lines(self, files: dict[str, dict[str, Any]], number: int, section: Section) -> None:
        codes = self._counter.codes
        for name, rows in tally.by_line(section.tally, codes).items():
            found = _of(files, self.within(name))["lines"]
            found += [[number, line, count, steps] for line, (count, steps) in sorted(rows.items())]
        for key, (count, _, steps) in section.tally.calls.items():
            code = codes[key]
            row = [number, code.co_firstlineno, code.co_qualname, count, steps]
            _of(files, self.within(code.co_filename))["calls"].append(row)

    def _branches(self, files: dict[str, dict[str, Any]], number: int, section: Section) -> None:
        positions: dict[int, list[Any]] = {}
        for code, offset, kind, yes, no in tally.jumps_of(section.tally, self._counter.codes):
            if id(code) not in positions:
                positions[id(code)] = list(code.co_positions())
            line, end_line, column, end_column = positions[id(code)][offset // 2]
            if line is not None:
                row = [number, line, (column or 0) + 1, end_line or line, (end_column or 0) + 1, kind, yes, no]
                _of(files, self.within(code.co_filename))["branches"].append(row)


def _of(files: dict[str, dict[str, Any]], path: str) -> dict[str, Any]:
    if path not in files:
        files[path] = {"lines": [], "calls": [], "branches": [], "operators": [], "crossings": []}
    return files[path]


def _touches(tensor: Any, args: Any, kwargs: Any) -> bool:
    """Whether an operator has a tensor (of torch's class `tensor`) on the device, or makes one there."""
    for value in args:
        parts = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(one, tensor) and not one.is_cpu for one in parts):
            return True
    return bool(kwargs) and getattr(kwargs.get("device"), "type", "cpu") != "cpu"


def _top(frame: Frame) -> str:
    inside = frame.path.rpartition(_HERE)[2] if _HERE in frame.path else os.path.basename(frame.path)
    return inside.partition(os.sep)[0].removesuffix(".py")
