"""From Python's own `ast` to a frozen `Program`: the same that `lower` and `freeze` make of the LibCST tree of a text.

About a tenth of the work of LibCST's parser alone. That the two agree, instruction by instruction and offset by offset,
is tested (`make equal TREE=...`).
"""

from __future__ import annotations

import array
import ast
from typing import Any

from transferlint.syntax.builder import Table
from transferlint.syntax.deep import with_deep_stack
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.comprehensions import COMPREHENSIONS
from transferlint.syntax.from_ast.expressions import EXPRESSIONS, unknown
from transferlint.syntax.from_ast.functions import lambda_, without_docstring
from transferlint.syntax.from_ast.places import INEXACT, Part, Places
from transferlint.syntax.from_ast.statements import STATEMENTS, nothing
from transferlint.syntax.portable import Offsets
from transferlint.syntax.program import Function, Program

_EXPRESSIONS = Table({**EXPRESSIONS, **COMPREHENSIONS, ast.Lambda: lambda_}, unknown)
_STATEMENTS = Table(STATEMENTS, nothing)


def lower(tree: ast.Module, places: Places, path: str) -> Program:
    """The program of a tree whose nodes stand at `places`, not frozen; `path` is only recorded. Raises nothing."""
    try:
        return _lower(tree, places, path)
    except RecursionError:
        return with_deep_stack(lambda: _lower(tree, places, path))


def _lower(tree: ast.Module, places: Places, path: str) -> Program:
    program = Program(path, [Function(0, "module", "<module>", "<module>", -1, tree)])
    builder = Builder(program, program.functions[0], _STATEMENTS, _EXPRESSIONS, {}, places)
    builder.run(without_docstring(tree.body))
    builder.finish()
    return program


def lower_function(node: Any, places: Places, before: list[Function], owner: Function) -> list[Function]:
    """The functions of a definition, not frozen; `before` are those that come before it in its program, and `owner`,
    which its decorators and defaults are added to, stands for the one of them that it stands in. Raises nothing."""
    program = Program("", [owner if one.index == owner.index else one for one in before])
    builder = Builder(program, owner, _STATEMENTS, _EXPRESSIONS, {}, places)
    builder.run([node])
    return program.functions[len(before) :]


def freeze(program: Program, places: Places) -> array.array[int]:
    """Put offsets in the place of nodes; what `portable.parenthesised` gives for the program."""
    spans = [places.raws(function.nodes) for function in program.functions]
    for function, found in zip(program.functions, spans, strict=True):
        places.closers.update(
            [span[1] - 1 for node, span in zip(function.nodes, found, strict=True) if span and type(node) is ast.Call]
        )
    parentheses = array.array("i")
    for function, found in zip(program.functions, spans, strict=True):
        _freeze(function, found, places, parentheses)
    return parentheses


def _freeze(function: Function, spans: list[Any], places: Places, parentheses: array.array[int]) -> None:
    wraps = places.wraps()
    for reg, node in enumerate(function.nodes):
        kind = type(node)
        if kind is Part:
            spans[reg] = node.find(places, node.node)
        elif kind in INEXACT:
            spans[reg] = inner = places.exact(node, spans[reg])
            if isinstance(node, ast.expr):
                outer = places.outer(node)
                if outer != inner:
                    parentheses.extend((*inner, *outer))
        elif spans[reg] in wraps and isinstance(node, ast.expr):
            parentheses.extend((*spans[reg], *places.outer(node)))
    function.nodes = Offsets.of(spans)
    for region in function.regions:
        region.node = places.of(region.node)
    function.node = places.of(function.node)
