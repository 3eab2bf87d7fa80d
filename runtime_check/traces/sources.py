"""The functions of a trace found again in the source that lies here.

A trace names a function by file, first line and name. Its files are those of another machine: a relative path is below
one of that machine's import paths, and stands at the end of the local one; of an absolute path the longest common end
counts. Either way the local file has to have a function of that name at that line, or it is another version.
"""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from runtime_check.traces.evaluated import FUNCTIONS, in_body
from runtime_check.traces.kineto import FRAME
from transferlint.model import Site

_SKIPPED = frozenset("site-packages dist-packages node_modules __pycache__".split())
_INSTALLED = ("site-packages", "dist-packages")
_UNNAMED = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",  # these four run in functions of their own, before Python 3.12 all of them
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
# What Python's own syntax calls, by the operator that torch runs for it directly below the function: a truth test
# (`Tensor.__bool__` is `aten::is_nonzero`), a number made of a tensor or an index taken from it, an element.
_BY_OPERATOR = {
    "aten::is_nonzero": ("truth",),
    "aten::item": ("number", "subscript"),
    "aten::index": ("subscript",),
    "aten::index_put_": ("subscript",),
}
# Types of Python's that ask an argument for a number; functions show up in a trace under their names.
_NUMBERS = frozenset("float int complex bool range slice bytes bytearray".split())


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """An expression: its site, whether it may run several times in one call of its function, and, where it runs each
    time that what is around it does, which stretch of straight code it belongs to: (0, 0, 0) for the function's own,
    the lines of the innermost loop and a number for a loop's body, and None for what is conditional. Where a body may
    go on with its next turn half-way, the stretches before and behind that have other numbers."""

    site: Site
    repeats: bool
    stretch: tuple[int, int, int] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of a local file, or its module. `first` and `last` are its lines, decorators included; `calls` are
    the calls in it by the name that is called, in the order in which they are evaluated; `kinds` are the truth tests,
    conversions and subscripts. What nested functions do is theirs."""

    path: str
    name: str
    first: int
    last: int
    begins: int
    calls: dict[str, tuple[Place, ...]]
    kinds: dict[str, tuple[Place, ...]]

    @property
    def site(self) -> Site:
        """Where it begins."""
        return Site(self.path, self.begins, 0, self.begins, 0)

    @property
    def span(self) -> Site:
        """All its lines."""
        return Site(self.path, self.first, 0, self.last, 0)

    def candidates(self, callee: str, operator: str) -> tuple[Place, ...]:
        """The expressions that can have made a call of `callee`, or where nothing was called by name (""), the
        operator `operator`."""
        if callee:
            return self.calls.get(callee, ())
        return tuple(place for kind in _BY_OPERATOR.get(operator, ()) for place in self.kinds.get(kind, ()))


class Sources:
    """The Python files below some folders, and those that are named."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._by_name: dict[str, list[tuple[str, ...]]] = {}
        for path in _files(roots):
            parts = tuple(path.split("/"))
            self._by_name.setdefault(parts[-1], []).append(parts)
        self._parsed: dict[str, tuple[Function, ...]] = {}
        self._found: dict[str, Function | None] = {}
        self.doubtful: dict[str, str] = {}  # files of the trace that were not taken, and why, in one line each

    def function(self, name: str) -> Function | None:
        """The local function that a trace calls "path/train.py(12): step"; None where it is none of them."""
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def _look_up(self, name: str) -> Function | None:
        frame = FRAME.fullmatch(name)
        if frame is None:
            return None
        path = frame["path"].replace("\\", "/")
        line, function = int(frame["line"]), frame["name"]
        files = self._files_like(path)
        fitting = _closest([one for file in files for one in self._functions(file) if _is(one, line, function)], line)
        if len({one.path for one in fitting}) > 1:
            self.doubtful[path] = f"{path}: may be any of {', '.join(sorted({one.path for one in fitting}))}: not taken"
            return None
        if not fitting and files:
            there = f"no {function} at line {line}"
            self.doubtful.setdefault(path, f"{path}: {files[0]} has {there}: another version than the trace's")
        return fitting[0] if len(fitting) == 1 else None

    def _files_like(self, path: str) -> list[str]:
        """The local files whose paths have the longest end in common with a path of another machine."""
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        absolute = path.startswith("/") or path[1:2] == ":"
        if not parts or any(part in _INSTALLED for part in parts):
            return []
        lengths = {"/".join(local): _common_end(parts, local) for local in self._by_name.get(parts[-1], ())}
        longest = max(lengths.values(), default=0)
        if not longest or (not absolute and longest < len(parts)):
            return []
        return sorted(local for local, length in lengths.items() if length == longest)

    def _functions(self, path: str) -> tuple[Function, ...]:
        if path not in self._parsed:
            self._parsed[path] = functions(path)
        return self._parsed[path]


def functions(path: str) -> tuple[Function, ...]:
    """The functions of a file, and the module itself; none where it cannot be parsed."""
    try:
        data = Path(path).read_bytes()
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    lines = data.splitlines()
    module = _function(path, "<module>", tree, lines, 1, max(len(lines), 1), 1)
    made = [module]
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            first = min((one.lineno for one in node.decorator_list), default=node.lineno)
            made.append(_function(path, node.name, node, lines, first, node.end_lineno or node.lineno, node.lineno))
        elif isinstance(node, ast.ClassDef):  # whose body is a function of its own
            made.append(
                _function(path, node.name, node, lines, node.lineno, node.end_lineno or node.lineno, node.lineno)
            )
        elif type(node) in _UNNAMED and isinstance(node, ast.expr):
            last = node.end_lineno or node.lineno
            made.append(_function(path, _UNNAMED[type(node)], node, lines, node.lineno, last, node.lineno))
    return tuple(made)


def _closest(found: list[Function], line: int) -> list[Function]:
    """Those that begin at the line, if any do; of others that hold it the innermost of each file."""
    exact = [one for one in found if line in (one.first, one.begins)]
    if exact or not found:
        return exact
    least = min(one.last - one.first for one in found)
    return [one for one in found if one.last - one.first == least]


def _is(function: Function, line: int, name: str) -> bool:
    """The line is the function's first, or of one that was running when the profiler started the line it was at. A
    module begins in line 0 of a trace (Python 3.11) or in line 1."""
    return function.name == name and (name == "<module>" or function.first <= line <= function.last)


def _function(path: str, name: str, node: ast.AST, lines: list[bytes], first: int, last: int, begins: int) -> Function:
    calls: dict[str, list[Place]] = {}
    kinds: dict[str, list[Place]] = {}
    for one, kind, where in in_body(node):
        place = Place(_site(path, one, lines), where.repeats, where.stretch)
        if kind:
            kinds.setdefault(kind, []).append(place)
        elif isinstance(one, ast.Call):
            called = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            calls.setdefault(called, []).append(place)
            if called in _NUMBERS and isinstance(one.func, ast.Name):
                kinds.setdefault("truth" if called == "bool" else "number", []).append(place)
    return Function(
        path,
        name,
        first,
        last,
        begins,
        {key: tuple(value) for key, value in calls.items()},
        {key: tuple(value) for key, value in kinds.items()},
    )


def _site(path: str, node: ast.expr, lines: list[bytes]) -> Site:
    line, end_line = node.lineno, node.end_lineno or node.lineno
    end = _column(lines, end_line, node.end_col_offset or 0)
    return Site(path, line, _column(lines, line, node.col_offset), end_line, end)


def _column(lines: list[bytes], line: int, offset: int) -> int:
    """A 1-based column in characters, from an offset in UTF-8 bytes."""
    return len(lines[line - 1][:offset].decode("utf-8", "replace")) + 1 if line <= len(lines) else offset + 1


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        length += 1
    return length


def _files(roots: Sequence[Path]) -> Iterable[str]:
    """Real paths, each once; environments, installed packages and hidden folders are left out."""
    seen = set()
    for root in roots:
        if root.is_file():
            seen.add(os.path.realpath(root))
            continue
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(one for one in folders if _is_ours(os.path.join(folder, one)))
            seen.update(os.path.realpath(os.path.join(folder, one)) for one in files if one.endswith(".py"))
    return sorted(seen)


def _is_ours(folder: str) -> bool:
    name = os.path.basename(folder)
    return not (name in _SKIPPED or name.startswith(".") or os.path.exists(os.path.join(folder, "pyvenv.cfg")))
