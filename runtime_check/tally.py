"""How often each line, each arm of a branch and each function of a program's own files ran, counted while it runs.

`sys.monitoring` calls back for every line, conditional jump and call of the wanted files, and for nothing else (PEP
669). What is counted goes to one `Tally` at a time, which may be exchanged while the program runs, so that stretches of
a run are told apart. It needs Python 3.12.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

Rows = dict[int, tuple[int, int]]


class Tally:
    """The counts of a stretch of a run. `step` numbers the step that runs: whoever ends one raises it.

    Each row is [count, the last step it was counted in, the number of distinct steps].
    """

    __slots__ = ("calls", "jumps", "lines", "step")

    def __init__(self) -> None:
        self.step = 0
        self.lines: dict[tuple[int, int], list[int]] = {}
        self.calls: dict[int, list[int]] = {}
        self.jumps: dict[tuple[int, int, int], int] = {}


class Counter:
    """Counts in the files that `wanted(co_filename)` names, from `start` to `stop`, into `tally`.

    `branches` counts conditional jumps and turns of loops as well. Counts of threads that run a line at the same
    moment can lose one. `codes` are the code objects that ran, by their `id`, which the rows name them by.
    """

    def __init__(self, wanted: Callable[[str], bool], branches: bool = False) -> None:
        self.tally = Tally()
        self.codes: dict[int, CodeType] = {}
        self._wanted = wanted
        self._branches = branches
        self._files: dict[str, bool] = {}
        self._tool: int | None = None

    def start(self) -> bool:
        """Begin to count; False where other tools hold every number that is free to use."""
        monitoring: Any = vars(sys)["monitoring"]
        self._tool = next((number for number in (3, 4, 2, 1) if monitoring.get_tool(number) is None), None)
        if self._tool is None:
            return False
        events = monitoring.events
        monitoring.use_tool_id(self._tool, "transferlint lines")
        monitoring.register_callback(self._tool, events.PY_START, self._started(monitoring))
        monitoring.register_callback(self._tool, events.LINE, self._line())
        monitoring.register_callback(self._tool, events.BRANCH, self._jump())
        monitoring.set_events(self._tool, events.PY_START)
        return True

    def stop(self) -> None:
        """Count no more. Freeing the number alone would leave the events on, in 3.12 and 3.13."""
        if self._tool is None:
            return
        monitoring: Any = vars(sys)["monitoring"]
        tool, self._tool = self._tool, None
        events = monitoring.events
        monitoring.set_events(tool, events.NO_EVENTS)
        for code in list(self.codes.values()):
            monitoring.set_local_events(tool, code, events.NO_EVENTS)
        for event in (events.PY_START, events.LINE, events.BRANCH):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    def _started(self, monitoring: Any) -> Callable[[CodeType, int], object]:
        codes, files, tool = self.codes, self._files, self._tool
        local = monitoring.events.LINE | (monitoring.events.BRANCH if self._branches else 0)
        disable = monitoring.DISABLE

        def started(code: CodeType, _: int) -> object:
            key = id(code)
            if key not in codes:
                name = code.co_filename
                if name not in files:
                    files[name] = self._wanted(name)
                if not files[name]:
                    return disable
                codes[key] = code  # held, so that no other has its id
                monitoring.set_local_events(tool, code, local)
            tally = self.tally
            _count(tally.calls, key, tally.step)
            return None

        return started

    def _line(self) -> Callable[[CodeType, int], object]:
        def line(code: CodeType, number: int) -> object:
            tally = self.tally
            rows, key, step = tally.lines, (id(code), number), tally.step
            row = rows.get(key)
            if row is None:
                rows[key] = [1, step, 1]
                return None
            row[0] += 1
            if row[1] != step:
                row[1] = step
                row[2] += 1
            return None

        return line

    def _jump(self) -> Callable[[CodeType, int, int], object]:
        def jump(code: CodeType, offset: int, target: int) -> object:
            rows, key = self.tally.jumps, (id(code), offset, target)
            rows[key] = rows.get(key, 0) + 1
            return None

        return jump


def _count(rows: dict[int, list[int]], key: int, step: int) -> None:
    row = rows.get(key)
    if row is None:
        rows[key] = [1, step, 1]
        return
    row[0] += 1
    if row[1] != step:
        row[1] = step
        row[2] += 1


def by_line(tally: Tally, codes: Mapping[int, CodeType]) -> dict[str, Rows]:
    """By `co_filename` and line, how often it ran and in how many distinct steps. A statement of several lines comes
    back to its first for every call that it makes; that is counted once."""
    found: dict[str, Rows] = {}
    visits: dict[int, Mapping[int, int]] = {}
    for (key, number), (count, _, steps) in list(tally.lines.items()):
        code = codes[key]
        if key not in visits:
            visits[key] = visits_of(code)
        ran = -(-count // visits[key].get(number, 1))
        rows = found.setdefault(code.co_filename, {})
        before = rows.get(number, (0, 0))
        rows[number] = (max(before[0], ran), max(before[1], steps))
    return found


def visits_of(code: CodeType) -> dict[int, int]:
    """How often one pass through a line's statement comes to the line: the greatest number of its runs of instructions
    in one stretch without a jump."""
    made = list(dis.get_instructions(code))
    leaders = {*(one.offset for one in made if one.is_jump_target), *(entry.target for entry in _handlers(code))}
    jumps = {one.offset for one in made if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs}
    most: dict[int, int] = {}
    here: dict[int, int] = {}
    previous: int | None = None
    for start, end, number in code.co_lines():
        for offset in range(start, end, 2):
            if offset in leaders:
                here, previous = {}, None
            if number is not None and number != previous:
                here[number] = here.get(number, 0) + 1
                most[number] = max(most.get(number, 0), here[number])
            previous = number
            if offset in jumps:
                here = {}
    return most


def _handlers(code: CodeType) -> list[Any]:
    parse: Any = getattr(dis, "_parse_exception_table", None)
    return list(parse(code)) if parse is not None else []


def jumps_of(tally: Tally, codes: Mapping[int, CodeType]) -> Iterator[tuple[CodeType, int, str, int, int]]:
    """For each conditional jump that ran: its code, its offset, its kind, and how often each way it went.

    The kind says what was asked: "if" whether the expression at the instruction's position is true, "none" whether it
    is None, "for" whether there is a next element; the two numbers are yes and no.
    """
    counts: dict[tuple[int, int], dict[int, int]] = {}
    for (key, offset, target), count in list(tally.jumps.items()):
        counts.setdefault((key, offset), {})[target] = count
    names: dict[int, Mapping[int, tuple[str, int]]] = {}
    for (key, offset), ways in counts.items():
        code = codes[key]
        if key not in names:
            names[key] = {one.offset: (one.opname, _jumped_to(one)) for one in dis.get_instructions(code)}
        name, target = names[key].get(offset, ("", -1))
        asked = _ASKED.get(name)
        if asked is None:
            continue
        kind, when_jumped = asked
        jumped = ways.get(target, 0)
        stayed = sum(ways.values()) - jumped
        yes, no = (jumped, stayed) if when_jumped else (stayed, jumped)
        yield code, offset, kind, yes, no


def _jumped_to(instruction: dis.Instruction) -> int:
    value = instruction.argval
    return value if isinstance(value, int) else -1


_ASKED = {
    "POP_JUMP_IF_FALSE": ("if", False),
    "POP_JUMP_IF_TRUE": ("if", True),
    "POP_JUMP_IF_NONE": ("none", True),
    "POP_JUMP_IF_NOT_NONE": ("none", False),
    "FOR_ITER": ("for", False),
}
