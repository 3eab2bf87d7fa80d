"""From a LibCST tree to a `Program`: one walk by node type, without visitors or metadata providers."""

from __future__ import annotations

import warnings

import libcst as cst

from transferlint.syntax import collector
from transferlint.syntax.builder import Builder, Table
from transferlint.syntax.comprehensions import COMPREHENSIONS
from transferlint.syntax.deep import with_deep_stack
from transferlint.syntax.expressions import EXPRESSIONS, unknown
from transferlint.syntax.functions import lambda_, without_docstring
from transferlint.syntax.literals import LITERALS
from transferlint.syntax.program import Function, Program
from transferlint.syntax.statements import STATEMENTS, nothing

_EXPRESSIONS = Table({**EXPRESSIONS, **LITERALS, **COMPREHENSIONS, cst.Lambda: lambda_}, unknown)
_STATEMENTS = Table(STATEMENTS, nothing, cst.SimpleStatementLine)


def lower(tree: cst.Module, path: str) -> Program:
    """The program that a file's tree stands for; `path` is only recorded.

    Raises nothing on any tree that LibCST's parser makes, however deeply it nests. Takes time linear in the size of
    the tree and keeps references to its nodes.
    """
    try:
        return _lower(tree, path)
    except RecursionError:
        return with_deep_stack(lambda: _lower(tree, path))


def _lower(tree: cst.Module, path: str) -> Program:
    program = Program(path, [Function(0, "module", "<module>", "<module>", -1, tree)])
    builder = Builder(program, program.functions[0], _STATEMENTS, _EXPRESSIONS, {})
    with collector.paused(), warnings.catch_warnings():
        # Python warns of odd escapes in string literals whenever it evaluates them.
        warnings.simplefilter("ignore")
        builder.run(without_docstring(tree))
    builder.finish()
    return program
