"""The functions of a trace found again in the source that lies here.

A trace names a function by file, first line and name. Its files are those of another machine: a relative path is below
one of that machine's import paths, and stands at the end of the local one; of an absolute path the longest common end
counts. Either way the local file has to have a function of that name at that line, or it is another version.
"""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runtime_check.traces.kineto import FRAME
from transferlint.model import Site

_SKIPPED = frozenset("site-packages dist-packages node_modules __pycache__".split())
_INSTALLED = ("site-packages", "dist-packages")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNNAMED = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",  # these four run in functions of their own, before Python 3.12 all of them
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.comprehension,
)
_TESTS = (ast.If, ast.While, ast.IfExp, ast.Assert)
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
    """An expression: its site, and whether it may run several times in one call of its function."""

    site: Site
    repeats: bool


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
        if isinstance(node, _FUNCTIONS):
            first = min((one.lineno for one in node.decorator_list), default=node.lineno)
            made.append(_function(path, node.name, node, lines, first, node.end_lineno or node.lineno, node.lineno))
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
    for one, kind, repeats in _in_body(node):
        place = Place(_site(path, one, lines), repeats)
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


_Evaluated = Iterator[tuple[ast.expr, str, bool]]


def _in_body(node: ast.AST) -> _Evaluated:
    """What a function evaluates itself, in order: expressions, with "" for calls and else what they are asked for, and
    whether they may run several times in one call of the function."""
    if isinstance(node, ast.Lambda):
        yield from _evaluated(node.body, False)
    elif isinstance(node, (*_FUNCTIONS, ast.Module)):
        for part in node.body:
            yield from _evaluated(part, False)
    else:  # a comprehension
        yield from _evaluated(node, True)


def _evaluated(node: ast.AST, repeats: bool) -> _Evaluated:
    """Calls, subscripts and truth tests in the order of evaluation, operands before what takes them. Of nested
    functions and classes there is only what their definition evaluates."""
    inside = repeats or isinstance(node, _LOOPS)
    for child in _operands(node):
        yield from _evaluated(child, inside)
    if isinstance(node, ast.Call):
        yield node, "", repeats
    elif isinstance(node, ast.Subscript):
        yield node, "subscript", repeats
    for test in _tests(node):
        yield from ((one, "truth", inside) for one in _tested(test))


def _tests(node: ast.AST) -> Iterable[ast.expr]:
    """The expressions whose truth a node asks."""
    if isinstance(node, _TESTS):
        return (node.test,)
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return (node.operand,)
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.match_case) and node.guard is not None:
        return (node.guard,)
    return ()


def _operands(node: ast.AST) -> Iterable[ast.AST]:
    """What is evaluated within a node, in order."""
    if isinstance(node, _FUNCTIONS):
        return [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, ast.Assign):
        return [node.value, *node.targets]
    return ast.iter_child_nodes(node)


def _tested(test: ast.expr) -> Iterable[ast.expr]:
    """The expression whose truth is asked: not one of whose parts it is asked instead, nor what is a bool anyway."""
    if isinstance(test, (ast.BoolOp, ast.Constant)) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        return ()
    if isinstance(test, ast.Compare) and all(isinstance(one, (ast.Is, ast.IsNot)) for one in test.ops):
        return ()
    return (test,)


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
