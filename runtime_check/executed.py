"""Which of the lines that findings stand on a program ran: the difference between "refuted" and "not reached".

From Python 3.12 on, `sys.monitoring` says so: every code object is looked at once, when it first starts, and every
wanted line reports once; after that nothing of it is left in the program's way (PEP 669: a callback that returns
DISABLE is not called again for that place). `sys.settrace`, all that Python 3.10 and 3.11 have, would call back for
every call of every function for as long as the program runs, and take the place of a debugger. There the files that
have findings, and no others, are compiled with a call before each statement that holds a wanted line; lines and
columns stay as they are. A compiled function (`torch.compile`) keeps its graph, and its lines are not counted.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

MARK = "__transferlint_ran__"
Wanted = Mapping[str, Mapping[int, int]]  # real path -> any line of a finding's site -> the line the site starts on
Note = Callable[[str, int], None]


class ExecutedLines:
    """Watches for the wanted lines: `sites` are (path, line, end line) of findings, 1-based and inclusive."""

    def __init__(self, sites: Iterable[tuple[str, int, int]]) -> None:
        wanted: dict[str, dict[int, int]] = {}
        for file, line, end in sites:
            for number in range(line, max(line, end) + 1):
                wanted.setdefault(os.path.realpath(file), {}).setdefault(number, line)
        self._wanted: Wanted = wanted
        self._watched: Wanted = {}
        self._seen: set[tuple[str, int]] = set()
        self._stop: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Watch from here on: call it before the program's code is compiled."""
        if self._wanted:
            stop = _monitor(self._wanted, self._note) if sys.version_info >= (3, 12) else self._import_marked()
            if stop is not None:
                self._stop, self._watched = stop, self._wanted

    def stop(self) -> None:
        """Stop watching; code that was compiled with calls keeps them."""
        self._stop()

    def lines(self) -> dict[str, set[int]]:
        """The lines that ran so far, by real path: of each site, the line that it starts on. Files of which none ran
        are there too, so that "none" is told from "not watched". Any thread may ask."""
        found: dict[str, set[int]] = {path: set() for path in self._watched}
        for path, line in self._seen.copy():
            found.setdefault(path, set()).add(line)
        return found

    def compile(self, source: bytes, path: str) -> CodeType:
        """The code of a source file as `compile` makes it, watched where that takes other code. Raises SyntaxError."""
        wanted = self._wanted.get(os.path.realpath(path))
        code: Any = source
        if wanted and sys.version_info < (3, 12):
            tree: Any = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            code = _marked(tree, path, wanted)
        made: CodeType = compile(code, path, "exec", dont_inherit=True)
        return made

    def _note(self, path: str, line: int) -> None:
        self._seen.add((path, line))

    def _import_marked(self) -> Callable[[], None]:
        setattr(builtins, MARK, _marker(self._wanted, self._note))
        finder = _Finder(frozenset(self._wanted), self.compile)
        sys.meta_path.insert(0, finder)
        return lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None


def _monitor(wanted: Wanted, note: Note) -> Callable[[], None] | None:
    """Watch by `sys.monitoring`; None where other tools hold every number that is free to use: nothing is watched."""
    monitoring: Any = vars(sys)["monitoring"]
    tool = next((number for number in (4, 3, 2, 1) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return None
    files: dict[str, Mapping[int, int]] = {}
    watched: list[CodeType] = []
    events = monitoring.events

    def started(code: CodeType, _: int) -> object:
        name = code.co_filename
        if name not in files:
            files[name] = wanted.get(os.path.realpath(name), {})
        if files[name]:
            watched.append(code)
            monitoring.set_local_events(tool, code, events.LINE)
        return monitoring.DISABLE

    def line(code: CodeType, number: int) -> object:
        site = files[code.co_filename].get(number)
        if site is not None:
            note(os.path.realpath(code.co_filename), site)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "transferlint")
    monitoring.register_callback(tool, events.PY_START, started)
    monitoring.register_callback(tool, events.LINE, line)
    monitoring.set_events(tool, events.PY_START)

    def stop() -> None:  # freeing the number alone leaves the events on, in 3.12 and 3.13
        monitoring.set_events(tool, events.NO_EVENTS)
        for code in watched:
            monitoring.set_local_events(tool, code, events.NO_EVENTS)
        for event in (events.PY_START, events.LINE):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    return stop


def _marker(wanted: Wanted, note: Note) -> Callable[[str, int], None]:
    """What marked code calls. The first test is a constant to dynamo, which then leaves the call out of its graph."""
    seen: set[tuple[str, int]] = set()

    def ran(path: str, line: int) -> None:
        if (path, line) in seen or _compiling():
            return
        seen.add((path, line))
        file = os.path.realpath(path)
        note(file, wanted[file][line])

    return ran


def _compiling() -> bool:
    torch = sys.modules.get("torch")
    compiler = getattr(torch, "compiler", None)  # absent while torch itself is being imported
    return compiler is not None and bool(compiler.is_compiling())


def _marked(tree: ast.Module, path: str, wanted: Mapping[int, int]) -> ast.Module:
    """The tree with a call before each statement whose own lines (the header of one with a body) hold a wanted one."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [part for one in block for part in _with_marks(one, path, wanted)])
    return tree


def _with_marks(statement: ast.stmt, path: str, wanted: Mapping[int, int]) -> Iterable[ast.stmt]:
    for line in _own_lines(statement):
        if line in wanted and not _must_be_first(statement):
            # Where the name is gone (in a finalizer at the interpreter's end, in a process that was sent the function
            # by value) the program must not notice.
            call = f"try: {MARK}({path!r}, {line})\nexcept NameError: pass"
            mark = ast.parse(call).body[0]
            for node in ast.walk(mark):
                if isinstance(node, (ast.stmt, ast.expr, ast.excepthandler)):
                    ast.copy_location(node, statement)
            yield mark
    yield statement


def _must_be_first(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or an import from `__future__`."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_lines(statement: ast.stmt) -> Iterable[int]:
    """The lines of a statement without its body's."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    inner = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not inner:
        return range(first, (statement.end_lineno or first) + 1)
    start = inner[0].pattern.lineno if hasattr(inner[0], "pattern") else inner[0].lineno
    return range(first, max(start, first + 1))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules as the finders after it do; those of the wanted files are then compiled by `compiled`."""

    def __init__(self, files: frozenset[str], compiled: Callable[[bytes, str], CodeType]) -> None:
        self._files = files
        self._compiled = compiled
        # Most imports are of other files: a look at the name alone is enough to leave them be.
        self._names = frozenset(
            Path(file).parent.name if Path(file).stem == "__init__" else Path(file).stem for file in files
        )

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.rpartition(".")[2] not in self._names:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(fullname, path, target)
            if found is not None:
                self._watch(found)
                return found
        return None

    def _watch(self, spec: importlib.machinery.ModuleSpec) -> None:
        loader: Any = spec.loader
        origin = spec.origin
        if (
            isinstance(loader, importlib.machinery.SourceFileLoader)
            and origin
            and os.path.realpath(origin) in self._files
        ):
            vars(loader)["get_code"] = lambda _: self._compiled(loader.get_data(origin), origin)
