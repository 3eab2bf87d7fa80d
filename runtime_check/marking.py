"""Code that tells which of its statements run, for Python versions without `sys.monitoring`: files are compiled with a
call before each statement of interest. Lines and columns stay as they are."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

BUILTINS = "(__builtins__ if type(__builtins__) is dict else __builtins__.__dict__)"  # needs no import
Calls = Callable[[range], Iterable[tuple[str, int]]]


def compiling() -> bool:
    torch = sys.modules.get("torch")
    compiler = getattr(torch, "compiler", None)  # absent while torch itself is being imported
    return compiler is not None and bool(compiler.is_compiling())


def marked(tree: ast.Module, path: str, calls: Calls) -> ast.Module:
    """The tree with calls before statements. `calls` gives the names of functions to call, and the lines to call them
    with, for a statement whose own lines (of one with a body, its header's) it is given; they get the path as well."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [part for one in block for part in _with_marks(one, path, calls)])
    return tree


def _with_marks(statement: ast.stmt, path: str, calls: Calls) -> Iterable[ast.stmt]:
    if not _must_be_first(statement):
        for name, line in calls(_own_lines(statement)):
            # Where the name is gone (in a finalizer at the interpreter's end, in a process that was sent the function
            # by value) the program must not notice; nor where an expression of the statement calls it.
            call = f"try: {name}({path!r}, {line})\nexcept NameError: {BUILTINS}[{name!r}] = lambda *_: None"
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


def _own_lines(statement: ast.stmt) -> range:
    """The lines of a statement without its body's."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    inner = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not inner:
        return range(first, (statement.end_lineno or first) + 1)
    start = inner[0].pattern.lineno if hasattr(inner[0], "pattern") else inner[0].lineno
    return range(first, max(start, first + 1))


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as the finders after it do; those of `files`, real paths, are then compiled by `compiled`."""

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
