"""Which of the expressions that findings stand on a program ran: the difference between "refuted" and "not reached".

Lines are watched, and where an expression may not run although its line does (`a and b`, `runtime_check.operands`), the
expression itself.

From Python 3.12 on, `sys.monitoring` says so: every code object is looked at once, when it first starts, and every
wanted line and expression reports once; after that nothing of it is left in the program's way (PEP 669: a callback that
returns DISABLE is not called again for that place). `sys.settrace`, all that Python 3.10 and 3.11 have, would call back
for every call of every function for as long as the program runs, and take the place of a debugger. There the files that
have findings, and no others, are compiled with a call before each statement that holds a wanted line, and before such
an expression; lines and columns stay as they are. A compiled function (`torch.compile`) keeps its graph, and its lines
are not counted.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

from runtime_check import marking, operands
from runtime_check.line_counts import LineCounts
from runtime_check.operands import Column, Span
from runtime_check.records import Executed
from transferlint.model import Site

MARK = "__transferlint_ran__"
EVALUATED = "__transferlint_evaluated__"
COUNT = "__transferlint_count__"
Wanted = Mapping[str, Mapping[int, int]]  # real path -> any line of a finding's site -> the line the site starts on
Note = Callable[[str, int], None]


class ExecutedLines:
    """Watches for the wanted lines and expressions: the sites of findings. With `counts`, the lines of its files are
    counted as well."""

    def __init__(self, sites: Iterable[Site], counts: LineCounts | None = None) -> None:
        wanted: dict[str, dict[int, int]] = {}
        self._sites: dict[str, list[Site]] = {}
        for site in sites:
            path = os.path.realpath(site.path)
            self._sites.setdefault(path, []).append(site)
            for number in range(site.line, max(site.line, site.end_line) + 1):
                wanted.setdefault(path, {}).setdefault(number, site.line)
        self._wanted: Wanted = wanted
        self._operands: dict[str, Mapping[Span, tuple[Column, ...]]] = {}  # of the files that were looked at
        self._evaluated: set[tuple[str, Span]] = set()
        self._counts = counts
        self._watched: Wanted = {}
        self._seen: set[tuple[str, int]] = set()
        self._stop: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Watch from here on: call it before the program's code is compiled."""
        monitored = sys.version_info >= (3, 12)
        if self._counts is not None and monitored:
            self._counts.start()
        if self._wanted or (self._counts is not None and not monitored):
            stop = (
                _monitor(self._wanted, self._note, self._spans, self._note_operand)
                if monitored
                else self._import_marked()
            )
            if stop is not None:
                self._stop, self._watched = stop, self._wanted

    def stop(self) -> None:
        """Stop watching; code that was compiled with calls keeps them."""
        self._stop()
        if self._counts is not None:
            self._counts.stop()

    def lines(self) -> dict[str, set[int]]:
        """The lines that ran so far, by real path: of each site, the line that it starts on. Files of which none ran
        are there too, so that "none" is told from "not watched". Any thread may ask."""
        found: dict[str, set[int]] = {path: set() for path in self._watched}
        for path, line in self._seen.copy():
            found.setdefault(path, set()).add(line)
        return found

    def executed(self) -> tuple[Executed, ...]:
        """What ran so far, as records. Any thread may ask."""
        return tuple(
            Executed(
                path,
                tuple(sorted(lines)),
                self._columns(path, False),
                self._columns(path, True),
                path in self._operands,
            )
            for path, lines in self.lines().items()
        )

    def _columns(self, path: str, ran: bool) -> tuple[Column, ...]:
        """Of the sites in expressions that may not run with their lines, where they start: all, or those that ran."""
        known = self._operands.get(path, {}).items()
        seen = self._evaluated.copy() if ran else set()
        return tuple(sorted(one for span, columns in known if not ran or (path, span) in seen for one in columns))

    def compile(self, source: bytes, path: str) -> CodeType:
        """The code of a source file as `compile` makes it, watched where that takes other code. Raises SyntaxError."""
        file = os.path.realpath(path)
        wanted = self._wanted.get(file, {})
        counted = self._counts is not None and self._counts.wants(path)
        code: Any = source
        if (wanted or counted) and sys.version_info < (3, 12):
            tree: Any = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            spans = self._operands[file] = operands.within(
                tree, operands.lines_of(source), self._sites.get(file, ()) if wanted else ()
            )
            tree = operands.marked(tree, {span: (EVALUATED, (path, *span)) for span in spans})
            held = {span[0] for span in spans}

            def calls(lines: range) -> Iterable[tuple[str, int]]:
                yield from ((MARK, line) for line in lines if line in wanted)
                if held.intersection(lines):
                    yield EVALUATED, 0  # of which nothing is noted: it has to be there for the expressions
                if counted:
                    yield COUNT, lines.start

            code = marking.marked(tree, path, calls)
        made: CodeType = compile(code, path, "exec", dont_inherit=True)
        return made

    def _note(self, path: str, line: int) -> None:
        self._seen.add((path, line))

    def _note_operand(self, path: str, span: Span) -> None:
        self._evaluated.add((path, span))

    def _spans(self, path: str) -> Mapping[Span, tuple[Column, ...]]:
        """Of a file that starts to run: its expressions of interest."""
        if path not in self._operands:
            try:
                with open(path, "rb") as file:
                    self._operands[path] = operands.deciding(file.read(), self._sites.get(path, ()))
            except OSError:
                self._operands[path] = {}
        return self._operands[path]

    def _import_marked(self) -> Callable[[], None]:
        setattr(builtins, MARK, _marker(self._wanted, self._note))
        setattr(builtins, EVALUATED, _evaluation(self._note_operand))
        files = frozenset(self._wanted)
        if self._counts is not None:
            setattr(builtins, COUNT, self._counts.counting())
            files |= self._counts.files()
        finder = marking.Finder(files, self.compile)
        sys.meta_path.insert(0, finder)
        return lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None


def _monitor(
    wanted: Wanted,
    note: Note,
    spans: Callable[[str], Mapping[Span, object]],
    note_operand: Callable[[str, Span], None],
) -> Callable[[], None] | None:
    """Watch by `sys.monitoring`; None where other tools hold every number that is free to use: nothing is watched."""
    monitoring: Any = vars(sys)["monitoring"]
    tool = next((number for number in (4, 3, 2, 1) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return None
    files: dict[str, Mapping[int, int]] = {}
    watched: list[CodeType] = []
    inside: dict[CodeType, Mapping[int, Span]] = {}  # by the offset of an instruction
    events = monitoring.events

    def started(code: CodeType, _: int) -> object:
        name = code.co_filename
        if name not in files:
            files[name] = wanted.get(os.path.realpath(name), {})
        if files[name]:
            watched.append(code)
            within = _instructions(code, spans(os.path.realpath(name)))
            if within:
                inside[code] = within
            monitoring.set_local_events(tool, code, events.LINE | (events.INSTRUCTION if within else 0))
        return monitoring.DISABLE

    def instruction(code: CodeType, offset: int) -> object:
        span = inside[code].get(offset) if code in inside else None
        if span is not None:
            note_operand(os.path.realpath(code.co_filename), span)
        return monitoring.DISABLE

    def line(code: CodeType, number: int) -> object:
        site = files[code.co_filename].get(number)
        if site is not None:
            note(os.path.realpath(code.co_filename), site)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "transferlint")
    monitoring.register_callback(tool, events.PY_START, started)
    monitoring.register_callback(tool, events.LINE, line)
    monitoring.register_callback(tool, events.INSTRUCTION, instruction)
    monitoring.set_events(tool, events.PY_START)

    def stop() -> None:  # freeing the number alone leaves the events on, in 3.12 and 3.13
        monitoring.set_events(tool, events.NO_EVENTS)
        for code in watched:
            monitoring.set_local_events(tool, code, events.NO_EVENTS)
        for event in (events.PY_START, events.LINE, events.INSTRUCTION):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    return stop


def _instructions(code: CodeType, spans: Mapping[Span, object]) -> Mapping[int, Span]:
    """The offsets of the instructions that belong to one of these expressions, of several to the innermost."""
    if not spans or sys.version_info < (3, 11):  # `co_positions` is new in 3.11
        return {}
    found: dict[int, Span] = {}
    innermost_first = sorted(spans, key=lambda span: (-span[0], -span[1], span[2], span[3]))
    for number, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if line is None or end_line is None or column is None or end_column is None:
            continue
        for span in innermost_first:
            if span[:2] <= (line, column) and (end_line, end_column) <= span[2:]:
                found[2 * number] = span
                break
    return found


def _evaluation(note: Callable[[str, Span], None]) -> Callable[..., None]:
    """What code calls before an expression that may not run with its line."""
    seen: set[tuple[object, ...]] = set()

    def evaluated(path: str, *span: int) -> None:
        if (path, *span) in seen or marking.compiling():
            return
        seen.add((path, *span))
        if len(span) == 4:
            note(os.path.realpath(path), (span[0], span[1], span[2], span[3]))

    return evaluated


def _marker(wanted: Wanted, note: Note) -> Callable[[str, int], None]:
    """What marked code calls. The first test is a constant to dynamo, which then leaves the call out of its graph."""
    seen: set[tuple[str, int]] = set()

    def ran(path: str, line: int) -> None:
        if (path, line) in seen or marking.compiling():
            return
        seen.add((path, line))
        file = os.path.realpath(path)
        site = wanted.get(file, {}).get(line)
        if site is not None:  # code that was marked for another watcher calls this one
            note(file, site)

    return ran
